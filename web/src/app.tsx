// The frame: navigation, the token, the theme, keys that work everywhere.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiError, refused, setToken, token, useData } from "./api";
import { setServerTime } from "./format";
import { go, href, usePlace } from "./router";
import { useStore } from "./store";
import { type Theme, setTheme, theme } from "./theme";
import type { Meta } from "./types";
import { Empty, ErrorNotice, Loading } from "./ui";
import { FleetView } from "./views/fleet";
import { InventoryView } from "./views/inventory";
import { ObjectView } from "./views/object";
import { ObjectsView } from "./views/objects";
import { OverviewView } from "./views/overview";

const kPages: [string, string, string][] = [
  // page, title, key behind "g"
  ["", "Overview", "o"],
  ["inventory", "Inventory", "i"],
  ["targets", "Targets", "t"],
  ["inventories", "Inventories", "n"],
  ["sinks", "Sinks", "s"],
  ["profiles", "Profiles", "p"],
  ["scopes", "Scopes", "c"],
  ["fleet", "Fleet", "f"],
];

const kStores: Record<Meta["store"], string> = { operator: "Operator", sqlite: "SQLite", postgres: "PostgreSQL" };

function View({ page, meta }: { page: string; meta: Meta | undefined }) {
  switch (page) {
    case "":
      return <OverviewView meta={meta} />;
    case "inventory":
      return meta ? <InventoryView meta={meta} /> : <Loading what="the inventory" />;
    case "object":
      return <ObjectView meta={meta} />;
    case "targets":
    case "inventories":
    case "profiles":
    case "scopes":
    case "sinks":
      return <ObjectsView key={page} page={page} meta={meta} />;
    case "fleet":
      return meta ? <FleetView meta={meta} /> : <Loading what="the fleet" />;
    default:
      return <div class="page"><Empty title="There is no such page"><a href={href("")}>To the overview</a></Empty></div>;
  }
}

function TokenGate({ error }: { error: ApiError }) {
  const [text, setText] = useState("");
  const held = useStore(token);
  return (
    <div class="page gate">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) setToken(text.trim());
        }}
      >
        <h1>{held ? "Your token is not taken" : "A token is needed"}</h1>
        <p>
          {held
            ? "It has run out, or it is not for this server. Paste another one."
            : "This server answers only who shows a token. Paste yours; it is kept until this tab is closed and sent to this server alone."}
        </p>
        <label>
          Token
          <input type="password" autoComplete="off" spellcheck={false} autoFocus value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="row-line">
          <button type="submit" class="primary" disabled={!text.trim()}>Continue</button>
          <button type="button" onClick={() => setToken(null)}>Try without</button>
        </div>
        <p class="muted">
          In a cluster: <code>kubectl create token NAME -n NAMESPACE</code> of a service account that may list <code>kollectinventories</code>. Of{" "}
          <code>kollect serve</code>: a line of its token file.
        </p>
        {error.message && <p class="said"><code>{error.status} {error.reason}</code> {error.message}</p>}
      </form>
    </div>
  );
}

const kThemes: [Theme, string][] = [["auto", "Theme: auto"], ["light", "Theme: light"], ["dark", "Theme: dark"]];

const kKeys: [string, string][] = [
  ["/", "search"],
  ["↑ ↓ Page Home End", "move in a table"],
  ["Enter", "open the row"],
  ["Escape", "close, or clear the search"],
  ["g then o i t n s p c f", "overview, inventory, targets, inventories, sinks, profiles, scopes, fleet"],
  ["?", "this help"],
];

function Help({ onClose }: { onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} class="help" aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <dl class="keys">{kKeys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <form method="dialog"><button type="submit" class="primary">Close</button></form>
    </dialog>
  );
}

const typing = (target: EventTarget | null) => target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);

/** Keys of the whole page. Those of tables, menus and drawers are theirs. */
function useKeys(onHelp: () => void): void {
  useEffect(() => {
    let leader = false;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (typing(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        else if (event.key === "ArrowDown" && (event.target as HTMLElement).dataset.search !== undefined) {
          event.preventDefault();
          document.querySelector<HTMLElement>("[data-table]")?.focus();
        }
        return;
      }
      if (leader) {
        leader = false;
        const page = kPages.find(([, , key]) => key === event.key);
        if (page) go(page[0]);
      } else if (event.key === "g") leader = true;
      else if (event.key === "?") onHelp();
      else if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("[data-search]");
        if (!search) return;
        event.preventDefault();
        search.focus();
        search.select();
      } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target === document.body) {
        document.querySelector<HTMLElement>("[data-table]")?.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function useTitle(page: string): void {
  useEffect(() => {
    const title = kPages.find(([name]) => name === page)?.[1] ?? "Object";
    document.title = `${title} · kollect`;
  }, [page]);
}

export function App() {
  const { page } = usePlace();
  const error = useStore(refused);
  const held = useStore(token);
  const chosen = useStore(theme);
  const meta = useData<Meta>("/v1alpha1/meta", {}, 60_000);
  const [help, setHelp] = useState(false);
  useEffect(() => {
    if (meta.data) setServerTime(meta.data.now);
  }, [meta.data]);
  useKeys(() => setHelp(true));
  useTitle(page);
  const pages = kPages.filter(([name]) => {
    if (!meta.data) return true;
    if (name === "fleet") return meta.data.abilities.fleet || page === "fleet";
    return meta.data.abilities.objects || ["", "inventory", "inventories", page].includes(name);
  });
  const access = meta.data?.access;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <header class="top">
        <a class="brand" href={href("")}><span class="brand-mark" aria-hidden="true" />kollect</a>
        <nav aria-label="Pages">
          {pages.map(([name, title]) => (
            <a key={name} href={href(name)} aria-current={page === name || (name === "inventory" && page === "object") ? "page" : undefined}>{title}</a>
          ))}
        </nav>
        <span class="spring" />
        {meta.data && <span class="store" title={`kollect ${meta.data.version}`}>{kStores[meta.data.store] ?? meta.data.store}</span>}
        {access?.namespaces && <span class="store" title={`Your token sees: ${access.namespaces.join(", ")}`}>{access.namespaces.length === 1 ? access.namespaces[0] : `${access.namespaces.length} namespaces`}</span>}
        <select class="theme" aria-label="Colours" value={chosen} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
          {kThemes.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
        </select>
        {held && <button type="button" class="quiet" onClick={() => setToken(null)}>Forget token</button>}
        <button type="button" class="icon-button" aria-label="Keys and help" title="Keys (?)" onClick={() => setHelp(true)}>?</button>
      </header>
      <main id="main" tabIndex={-1}>
        {error ? <TokenGate error={error} /> : (
          <>
            {meta.error && !meta.data && meta.error.status !== 401 && <div class="page"><ErrorNotice error={meta.error} retry={meta.reload} /></div>}
            {(meta.data || !meta.error) && <View page={page} meta={meta.data} />}
          </>
        )}
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}
