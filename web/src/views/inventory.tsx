// The inventory: every row of the store in one table, filtered by the server, read page by page, kept live.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, type Parameters, address, get, token, useData } from "../api";
import { chosenColumns, columnsOf, defaultColumns, fieldsOf } from "../columns";
import { objectRef, onlyFilters, pageParameters, refParameters, rowParameters, rowsPath, without } from "../filters";
import { ago, count, countAtLeast, moment, number } from "../format";
import { RowPages } from "../pages";
import { type Query, go, href, usePlace } from "../router";
import { useStore } from "../store";
import { type StreamState, follow } from "../stream";
import { Table } from "../table";
import type { ExportStatus, Groups, InventorySummary, Item, Meta } from "../types";
import { Ago, Drawer, Empty, ErrorNotice, Loading, Notice } from "../ui";
import { InventoryActions, InventoryTools } from "./inventory_tools";
import { ObjectFacts } from "./object";

const kPollEvery = 10_000;

/** Counts up whenever the rows may have changed: by the stream of the server, or by time where there is none. */
function useLive(parameters: Parameters, on: boolean): { state: StreamState | "paused"; tick: number } {
  const [tick, setTick] = useState(0);
  const [state, setState] = useState<StreamState>("connecting");
  const held = useStore(token);
  const url = address("/v1alpha1/inventory/watch", { ...parameters, limit: 1 });
  useEffect(() => {
    if (!on) return;
    let first = true;
    return follow(
      url,
      (event) => {
        // A frame comes also as the default event; and the first one tells what the table has read by itself.
        if (event.event !== "inventory") return;
        if (!first) setTick((n) => n + 1);
        first = false;
      },
      (next) => {
        setState(next);
        if (next === "waiting") first = false; // on the next connection something may have been missed
      },
    );
  }, [url, on, held]);
  useEffect(() => {
    if (!on || state !== "waiting") return;
    const timer = setInterval(() => document.visibilityState === "visible" && setTick((n) => n + 1), kPollEvery);
    return () => clearInterval(timer);
  }, [on, state]);
  return { state: on ? state : "paused", tick };
}

interface Rows {
  pages: RowPages<Item>;
  summary: InventorySummary | undefined;
  error: ApiError | undefined;
}

/** The rows of a request, anew for each other request. */
function useRows(path: string, parameters: Parameters, tick: number): Rows {
  const [, draw] = useState(0);
  const key = JSON.stringify([path, parameters]);
  const held = useStore(token);
  const state = useRef<{ summary?: InventorySummary; error?: ApiError | undefined }>({});
  const pages = useMemo(() => {
    state.current = {};
    return new RowPages<Item>({
      async fetch(offset, limit, signal) {
        const answer = await get<InventorySummary>(path, { ...parameters, offset, limit }, signal);
        state.current = { summary: answer };
        return { items: answer.items, total: answer.pagination?.total ?? answer.items.length, atLeast: answer.pagination?.atLeast };
      },
      onChange: () => draw((n) => n + 1),
      onError(error) {
        state.current.error = error instanceof ApiError ? error : new ApiError(0, "Unreadable", String(error));
        draw((n) => n + 1);
      },
    });
  }, [key, held]);
  useEffect(() => {
    pages.want(0, 30);
    return () => pages.end();
  }, [pages]);
  useEffect(() => {
    if (tick > 0) pages.refresh();
  }, [tick]);
  // A page that failed is asked for again: the table stands where it stood.
  const error = state.current.error;
  useEffect(() => {
    if (!error || ![0, 429, 503].includes(error.status)) return;
    const timer = setTimeout(() => pages.refresh(), 5_000);
    return () => clearTimeout(timer);
  }, [error, pages]);
  return { pages, summary: state.current.summary, error };
}

const kLiveWords: Record<StreamState | "paused", [string, string]> = {
  live: ["Live", "Changes appear by themselves. Click to pause."],
  connecting: ["Connecting", "The stream of changes is being opened."],
  waiting: ["Every 10 s", "The stream of changes is not there; the rows are asked for again every ten seconds."],
  paused: ["Paused", "Rows stay as they were read. Click to follow changes."],
};

const kExportTone: Record<ExportStatus["status"], string> = { ok: "ready", degraded: "degraded", unknown: "unknown", debounced: "ready" };

function ExportChips({ exports }: { exports: ExportStatus[] }) {
  return (
    <div class="chips" role="group" aria-label="Exports of this inventory">
      <span class="muted">Exports</span>
      {exports.map((one) => (
        <a key={one.sinkName} class={`badge badge-${kExportTone[one.status]}`} href={href("sinks", { open: one.sinkName })} title={one.message ?? ""}>
          {one.sinkName} {one.status === "debounced" ? "up to date" : one.status}{one.lastExportTime ? `, ${ago(one.lastExportTime)}` : ""}
        </a>
      ))}
    </div>
  );
}

function GroupsPanel({ query, parameters, tick }: { query: Query; parameters: Parameters; tick: number }) {
  const by = query.by!;
  const groups = useData<Groups>("/v1alpha1/groups", { ...parameters, sort: undefined, by, limit: 500 });
  useEffect(() => {
    if (tick > 0) groups.reload();
  }, [tick]);
  const filter = by.startsWith("attributes.") ? `attr.${by.slice(11)}` : by === "targetName" ? "target" : by;
  const most = groups.data?.items[0]?.rows ?? 1;
  return (
    <section class="groups" aria-label="Groups">
      <h2>
        By {by.replace(/^attributes\./, "").replace("targetName", "target")}
        {groups.data && <span class="muted"> {count(groups.data.items.length, "group")}</span>}
      </h2>
      {!groups.data && groups.loading && <Loading what="groups" />}
      {groups.error && <ErrorNotice error={groups.error} retry={groups.reload} />}
      <ul>
        {groups.data?.items.map((group) => {
          const value = group.values[0] ?? "";
          const chosen = query[filter] === value && value !== "";
          return (
            <li key={value}>
              <a
                class={chosen ? "group chosen" : "group"}
                aria-current={chosen ? "true" : undefined}
                href={href("inventory", chosen ? without(query, filter) : value ? { ...query, [filter]: value } : query)}
              >
                <span class="group-bar" style={{ width: `${Math.max(1, (group.rows / most) * 100)}%` }} />
                <span class="group-name">{value || "(none)"}</span>
                <span class="group-rows">{number(group.rows)}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function OpenObject({ reference, cluster, at, onClose, query }: { reference: string; cluster: string; at: string | undefined; onClose: () => void; query: Query }) {
  const found = useData<InventorySummary>("/v1alpha1/inventory", { ...refParameters(reference), cluster, at, limit: 50 });
  const item = found.data?.items[0];
  const title = item?.name ?? "Object";
  return (
    <Drawer
      title={title}
      subtitle={item && [item.kind, item.namespace].filter(Boolean).join(" in ")}
      onClose={onClose}
    >
      {found.error && <ErrorNotice error={found.error} retry={found.reload} />}
      {!found.data && found.loading && <Loading what="the object" />}
      {found.data && !item && <Empty title="It is gone">No row of this object is in the store{at ? " at that moment" : " any more"}.</Empty>}
      {item && <ObjectFacts items={found.data!.items} query={query} />}
      {item && <p><a class="button" href={href("object", { ref: reference, cluster, at: at ?? "" })}>Open page with history</a></p>}
    </Drawer>
  );
}

function RowCount({ pages }: { pages: RowPages<Item> }) {
  if (!pages.known) return <span class="count" role="status">…</span>;
  if (!pages.atLeast) return <span class="count" role="status">{count(pages.total, "row")}</span>;
  return <span class="count" role="status" title="Very many rows match. They are not all counted; more come as you scroll on.">{countAtLeast(pages.total, "rows")}</span>;
}

function emptyText(query: Query, access: Meta["access"] | undefined) {
  if (Object.keys(onlyFilters(query)).length > 0) {
    return <Empty title="No row matches">Remove a filter, or search for less.</Empty>;
  }
  return (
    <Empty title="The inventory is empty">
      {access?.namespaces ? "Your token sees only some namespaces, and none of them has rows yet." : "As soon as a target has been collected its rows are here."}
    </Empty>
  );
}

export function InventoryView({ meta }: { meta: Meta | undefined }) {
  const { query } = usePlace();
  const store = meta?.store ?? "operator";
  const ids = useStore(chosenColumns) ?? defaultColumns(meta);
  const columns = useMemo(() => columnsOf(ids), [ids.join()]);
  const filters = rowParameters(query, store);
  const paged = pageParameters(query, store);
  const parameters: Parameters = { ...paged, sort: query.sort, fields: fieldsOf(ids) };
  const [following, setFollowing] = useState(true);
  const { state: live, tick } = useLive(paged, following && !query.at);
  const { pages, summary, error } = useRows(rowsPath(query), parameters, tick);
  const chips = useData<InventorySummary>(
    (query.inventory || query.clusterInventory) && store === "operator" ? rowsPath(query) : null,
    { ...filters, limit: 1 }, 15_000);
  const [cursor, setCursor] = useState(-1);
  useEffect(() => setCursor(-1), [pages]);

  const open = useCallback((index: number) => {
    const row = pages.row(index);
    if (row) go("inventory", { ...query, open: objectRef(row), in: row.cluster ?? "" }, query.open !== undefined);
  }, [pages, query]);
  const move = (index: number) => {
    setCursor(index);
    if (query.open) open(index); // the drawer follows the arrows
  };
  const close = useCallback(() => {
    go("inventory", without(query, "open", "in"));
    document.querySelector<HTMLElement>("[data-table]")?.focus();
  }, [query]);

  const tools = { query, store, history: meta?.abilities.history ?? false, columns: ids };
  const [word, hint] = kLiveWords[live];
  return (
    <div class="page page-full">
      <div class="page-head">
        <h1>Inventory</h1>
        <RowCount pages={pages} />
        <span class="spring" />
        {summary?.updatedAt && !query.at && <span class="muted">Changed <Ago at={summary.updatedAt} warn={store !== "operator"} /></span>}
        {!query.at && (
          <button type="button" class={`live live-${live}`} title={hint} aria-pressed={following} onClick={() => setFollowing(!following)}>
            <span class="dot" aria-hidden="true" /> {word}
          </button>
        )}
        <InventoryActions {...tools} />
      </div>
      <InventoryTools {...tools} />
      {chips.data?.exportStatus && chips.data.exportStatus.length > 0 && <ExportChips exports={chips.data.exportStatus} />}
      {query.at && (
        <Notice
          tone="info"
          title={`As it was at ${moment(query.at)}`}
          action={<a class="button" href={href("inventory", without(query, "at"))}>Back to now</a>}
        />
      )}
      {error && error.status !== 401 && <ErrorNotice error={error} retry={() => pages.refresh()} />}
      <div class="split">
        {query.by && !query.clusterInventory && <GroupsPanel query={query} parameters={filters} tick={tick} />}
        <Table
          label="Inventory rows"
          columns={columns}
          total={pages.total}
          row={(index) => pages.row(index)}
          onSight={(first, last) => pages.want(first, last)}
          {...(query.sort ? { sort: query.sort } : {})}
          onSort={(sort) => go("inventory", { ...query, sort })}
          rowClass={(row) => (query.open === objectRef(row) && (query.in ?? "") === (row.cluster ?? "") ? "row-open" : "")}
          cursor={cursor}
          onCursor={move}
          onOpen={open}
          empty={pages.known ? emptyText(query, meta?.access) : error ? null : <Loading what="rows" />}
        />
        {query.open && <OpenObject reference={query.open} cluster={query.in ?? ""} at={query.at} onClose={close} query={query} />}
      </div>
    </div>
  );
}
