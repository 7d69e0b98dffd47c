// Small pieces that every view is made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import { ago, isStale, moment } from "./format";
import { go, usePlace } from "./router";
import { type Health, kHealthWords } from "./words";

export function Badge({ health }: { health: Health }) {
  return <span class={`badge badge-${health}`}>{kHealthWords[health]}</span>;
}

/** A moment as its age; the exact time on hover. Redraws itself. */
export function Ago({ at, warn = false }: { at: string | undefined | null; warn?: boolean }) {
  const [, draw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => draw((n) => n + 1), 10_000);
    return () => clearInterval(timer);
  }, []);
  const stale = warn && isStale(at);
  return (
    <time class={stale ? "ago stale" : "ago"} dateTime={at ?? ""} title={at ? moment(at) : "no export is known"}>
      {ago(at)}
    </time>
  );
}

/** Text with `code` marks of Markdown. */
export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

export function Notice({ tone, title, children, action }: {
  tone: "error" | "warning" | "info";
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class={`notice notice-${tone}`} role={tone === "error" ? "alert" : "status"}>
      <div class="notice-text">
        <strong>{title}</strong>
        {children && <div>{children}</div>}
      </div>
      {action && <div class="notice-action">{action}</div>}
    </div>
  );
}

interface Advice {
  title: string;
  todo: string;
  tone?: "info";
}

/** What a failure is called, and what to do about it. The server's own words are shown beside it. */
export function advice(error: ApiError): Advice {
  switch (error.reason) {
    case "NoObjects":
      return { title: "Not in a database", tone: "info", todo: "Targets, sinks and their conditions live in the cluster. Open the console of the operator there." };
    case "NoHistory":
      return { title: "No history", tone: "info", todo: "The store keeps only the present. A SQLite or PostgreSQL sink with history enabled keeps earlier states." };
    case "NoFleet":
      return { title: "No fleet API", tone: "info", todo: "Start the server with --fleet-url and --fleet-token-file to see clusters and components here." };
  }
  switch (error.status) {
    case 0:
      return { title: "The server does not answer", todo: "What you see is the last that came. Check the network and whether the server runs; it is asked again by itself." };
    case 401:
      return { title: "No valid token", todo: "Paste a token that is still good, or sign in again." };
    case 403:
      return { title: "Your token may not see this", todo: "Name a namespace that you may read, or ask for the right to list kollectinventories." };
    case 404:
      return { title: "There is no such thing", todo: "It may have been deleted or renamed. Go back and choose again." };
    case 400:
      return { title: "The server does not take this filter", todo: "Correct or remove the filter that is named." };
    case 429:
      return { title: "Too many requests", todo: "Wait a few seconds; then it is asked again." };
    case 503:
      return {
        title: "The store is not there for the moment",
        todo: error.retryAfter
          ? `It is asked again by itself. The server says: in ${error.retryAfter} s.`
          : "It is asked again by itself. If it stays, look at the database, or at which replica of the operator leads.",
      };
  }
  return { title: "The server failed", todo: "Try again. If it stays, the log of the server says why." };
}

/** For who may list in single namespaces only: the API wants to be told which. */
function NamespaceForm() {
  const { page, query } = usePlace();
  const [name, setName] = useState("");
  return (
    <form
      class="row-line"
      onSubmit={(event) => {
        event.preventDefault();
        if (name) go(page, { ...query, namespace: name });
      }}
    >
      <label>Namespace <input type="text" value={name} onInput={(event) => setName(event.currentTarget.value.trim())} /></label>
      <button type="submit" disabled={!name}>Show it</button>
    </form>
  );
}

export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  const { title, todo, tone } = advice(error);
  return (
    <Notice tone={tone ?? "error"} title={title} action={retry && !tone && <button type="button" onClick={retry}>Try again</button>}>
      <p>{todo}</p>
      {error.status === 403 && <NamespaceForm />}
      {error.message && <p class="said">{error.status > 0 && <code>{error.status} {error.reason}</code>} {error.message}</p>}
    </Notice>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return <div class="loading" role="status">Reading {what}…</div>;
}

/** A value that can be taken out of the list of filters. */
export function Chip({ label, value, onRemove }: { label: string; value: string; onRemove: () => void }) {
  return (
    <span class="chip">
      <span class="chip-label">{label}</span> <span class="chip-value">{value}</span>
      <button type="button" class="chip-remove" aria-label={`Remove filter ${label} ${value}`} onClick={onRemove}>×</button>
    </span>
  );
}

/** Text that is told to `onInput` once the typing pauses. */
export function SearchBox({ value, label, placeholder, onInput, delay = 200 }: {
  value: string;
  label: string;
  placeholder: string;
  onInput: (text: string) => void;
  delay?: number;
}) {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => {
    // Changed from outside: a link, the back button.
    if (value !== told.current) {
      told.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  function tell(next: string): void {
    clearTimeout(timer.current);
    told.current = next;
    onInput(next);
  }
  return (
    <input
      type="search"
      class="search"
      data-search
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onInput={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => tell(next.trim()), delay);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") tell(text.trim());
        if (event.key === "Escape" && text) {
          event.stopPropagation();
          setText("");
          tell("");
        }
      }}
    />
  );
}

/** Beside a list, about one thing of it. Escape closes it. */
export function Drawer({ title, subtitle, onClose, children }: {
  title: string;
  subtitle?: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
}) {
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) onClose();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [onClose]);
  return (
    <aside class="drawer" aria-label={title}>
      <header class="drawer-head">
        <div class="drawer-title">
          <h2>{title}</h2>
          {subtitle && <div class="muted">{subtitle}</div>}
        </div>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>×</button>
      </header>
      <div class="drawer-body" tabIndex={0} role="region" aria-label={`Details of ${title}`}>{children}</div>
    </aside>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}
