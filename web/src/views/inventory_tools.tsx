// Above the inventory table: filters, columns, groups, time travel, files.
import { useEffect, useState } from "preact/hooks";
import { download, get, useData } from "../api";
import { chooseColumns, fieldsOf, kColumns } from "../columns";
import { activeFilters, fromLocalInput, onlyFilters, pageParameters, rowParameters, toLocalInput, without } from "../filters";
import { number, serverNow } from "../format";
import { Menu } from "../menu";
import { type Query, go } from "../router";
import type { Groups, InventorySummary } from "../types";
import { Chip, SearchBox } from "../ui";

export interface ToolProps {
  query: Query;
  store: string;
  history: boolean;
  columns: string[];
}

/** Filters change what is listed; the row that is open is closed. */
function filter(query: Query, change: Query, replace = false): void {
  go("inventory", { ...without(query, "open", "in"), ...change }, replace);
}

/** A text with suggestions: the values that are there under the other filters, with their counts. */
function Facet({ name, label, by, query, store }: { name: string; label: string; by: string; query: Query; store: string }) {
  const [asked, setAsked] = useState(false);
  const [text, setText] = useState("");
  const others = rowParameters(without(query, name), store);
  const groups = useData<Groups>(asked && !query.clusterInventory ? "/v1alpha1/groups" : null, { ...others, by, limit: 300 });
  const list = `values-${name}`;
  function take(value: string): void {
    const wanted = value.trim();
    setText("");
    if (wanted) filter(query, { [name]: wanted });
  }
  return (
    <span class="facet">
      <input
        type="text"
        aria-label={`Filter by ${label.toLowerCase()}`}
        placeholder={label}
        list={list}
        value={text}
        onFocus={() => setAsked(true)}
        onInput={(event) => {
          const value = event.currentTarget.value;
          setText(value);
          // A choice from the list comes as input without a key.
          const chosen = !(event as InputEvent).inputType || (event as InputEvent).inputType === "insertReplacementText";
          if (chosen && groups.data?.items.some((group) => group.values[0] === value)) take(value);
        }}
        onKeyDown={(event) => event.key === "Enter" && take(text)}
        onBlur={() => take(text)}
      />
      <datalist id={list}>
        {groups.data?.items.filter((group) => group.values[0]).map((group) => (
          <option key={group.values[0]} value={group.values[0]}>{number(group.rows)}</option>
        ))}
      </datalist>
    </span>
  );
}

function AttributeFilter({ query, store }: { query: Query; store: string }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const known = useAttributeNames(query, store, true);
  const values = useData<Groups>(known.includes(name) ? "/v1alpha1/groups" : null, {
    ...rowParameters(query, store), by: `attributes.${name}`, limit: 100,
  });
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name && value) filter(query, { [`attr.${name}`]: value });
      }}
    >
      <label>Attribute<input type="text" list="attribute-names" value={name} onInput={(event) => setName(event.currentTarget.value.trim())} /></label>
      <datalist id="attribute-names">{known.map((one) => <option key={one} value={one} />)}</datalist>
      <label>is<input type="text" list="attribute-values" value={value} onInput={(event) => setValue(event.currentTarget.value)} /></label>
      <datalist id="attribute-values">
        {values.data?.items.filter((group) => group.values[0]).map((group) => <option key={group.values[0]} value={group.values[0]}>{number(group.rows)}</option>)}
      </datalist>
      <button type="submit" class="primary" disabled={!name || !value}>Add filter</button>
    </form>
  );
}

/** Names of attributes that rows under these filters have: two rows of each kind are looked at. */
function useAttributeNames(query: Query, store: string, asked: boolean): string[] {
  const [names, setNames] = useState<string[]>([]);
  const key = JSON.stringify(onlyFilters(query));
  useEffect(() => {
    if (!asked) return;
    const abort = new AbortController();
    async function look(): Promise<void> {
      const parameters = rowParameters(query, store);
      const kinds = await get<Groups>("/v1alpha1/groups", { ...parameters, by: "kind", limit: 25 }, abort.signal);
      const found = new Set<string>();
      await Promise.all(kinds.items.map(async (kind) => {
        const rows = await get<InventorySummary>("/v1alpha1/inventory", { ...pageParameters(query, store), kind: kind.values[0] ?? "", limit: 2 }, abort.signal);
        for (const item of rows.items) for (const name of Object.keys(item.attributes ?? {})) found.add(name);
      }));
      setNames([...found].sort());
    }
    look().catch(() => undefined); // suggestions only: the table itself tells what is wrong
    return () => abort.abort();
  }, [key, asked, store]);
  return names;
}

function ColumnsPanel({ columns, query, store }: ToolProps) {
  const known = useAttributeNames(query, store, true);
  const [typed, setTyped] = useState("");
  const attributes = [...new Set([...known, ...columns.filter((id) => id.startsWith("attr:")).map((id) => id.slice(5))])].sort();
  const toggle = (id: string) => {
    const next = columns.includes(id) ? columns.filter((one) => one !== id) : [...columns, id];
    if (next.length > 0) chooseColumns(next);
  };
  const box = (id: string, title: string) => (
    <label class="check" key={id}>
      <input type="checkbox" checked={columns.includes(id)} onChange={() => toggle(id)} /> {title}
    </label>
  );
  return (
    <>
      <div class="menu-columns">
        <fieldset><legend>Columns</legend>{kColumns.map((column) => box(column.id, column.title))}</fieldset>
        <fieldset>
          <legend>Attributes</legend>
          {attributes.map((name) => box(`attr:${name}`, name))}
          {attributes.length === 0 && <p class="muted">No row has attributes.</p>}
        </fieldset>
      </div>
      <form
        class="menu-row"
        onSubmit={(event) => {
          event.preventDefault();
          const id = `attr:${typed.trim()}`;
          if (typed.trim() && !columns.includes(id)) toggle(id);
          setTyped("");
        }}
      >
        <input type="text" aria-label="Attribute by name" placeholder="Another attribute" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button type="submit">Add</button>
        <button type="button" onClick={() => chooseColumns(null)}>Reset</button>
      </form>
    </>
  );
}

function FilesPanel({ query, store, columns, close }: ToolProps & { close: () => void }) {
  const [failed, setFailed] = useState("");
  const parameters = { ...rowParameters(query, store), sort: query.sort };
  const file = (label: string, format: string, fields?: string) => (
    <button
      type="button"
      class="menu-item"
      onClick={() => {
        setFailed("");
        download("/v1alpha1/export", { ...parameters, format, fields }, `inventory.${format}`).then(close, (error: Error) => setFailed(error.message));
      }}
    >
      {label}
    </button>
  );
  return (
    <>
      {file("CSV, these columns", "csv", fieldsOf(columns))}
      {file("CSV, everything", "csv")}
      {file("JSON", "json")}
      {file("NDJSON, a line per row", "ndjson")}
      <p class="muted menu-note">All rows of the present filter, not only those in sight.</p>
      {failed && <p class="menu-note error-text" role="alert">{failed}</p>}
    </>
  );
}

function TimePanel({ query, close }: { query: Query; close: () => void }) {
  const [text, setText] = useState(query.at ? toLocalInput(query.at) : "");
  const travel = (at: string) => {
    close();
    filter(query, { at });
  };
  const back = (hours: number) => new Date(serverNow() - hours * 3_600_000).toISOString().slice(0, 19) + "Z";
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        const at = fromLocalInput(text);
        if (at) travel(at);
      }}
    >
      <label>The rows as they were at<input type="datetime-local" step="1" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <div class="menu-row">
        <button type="button" onClick={() => travel(back(1))}>An hour ago</button>
        <button type="button" onClick={() => travel(back(24))}>Yesterday</button>
        <button type="button" onClick={() => travel(back(168))}>A week ago</button>
      </div>
      <div class="menu-row">
        <button type="submit" class="primary" disabled={!text}>Go there</button>
        {query.at && <button type="button" onClick={() => travel("")}>Back to now</button>}
      </div>
    </form>
  );
}

const kGroupable: [string, string][] = [
  ["kind", "Kind"], ["namespace", "Namespace"], ["cluster", "Cluster"], ["targetName", "Target"], ["inventory", "Inventory"], ["version", "API version"],
];

function GroupSelect({ query, columns }: ToolProps) {
  const attributes = columns.filter((id) => id.startsWith("attr:")).map((id) => id.slice(5));
  const current = query.by ?? "";
  const listed = kGroupable.some(([name]) => name === current) || attributes.some((name) => `attributes.${name}` === current);
  return (
    <select aria-label="Group by" value={current} onChange={(event) => go("inventory", { ...query, by: event.currentTarget.value })}>
      <option value="">No groups</option>
      {kGroupable.map(([name, title]) => <option key={name} value={name}>By {title.toLowerCase()}</option>)}
      {attributes.map((name) => <option key={name} value={`attributes.${name}`}>By attribute {name}</option>)}
      {current && !listed && <option value={current}>By {current}</option>}
    </select>
  );
}

/** What is done with the table as a whole; beside its title. */
export function InventoryActions(props: ToolProps) {
  // The API lists a cluster inventory, but neither counts its groups nor makes files of it.
  const ofCluster = props.query.clusterInventory !== undefined;
  return (
    <div class="actions-row">
      {!ofCluster && <GroupSelect {...props} />}
      {props.history && <Menu label="Time" title="Time travel">{(close) => <TimePanel query={props.query} close={close} />}</Menu>}
      <Menu label="Columns" title="Choose columns" wide>{() => <ColumnsPanel {...props} />}</Menu>
      {!ofCluster && <Menu label="Export" title="Export rows">{(close) => <FilesPanel {...props} close={close} />}</Menu>}
    </div>
  );
}

export function InventoryTools({ query, store }: ToolProps) {
  const active = activeFilters(query);
  return (
    <div class="tools">
      <div class="tools-row">
        <SearchBox value={query.q ?? ""} label="Search rows" placeholder="Search names, kinds, values…" onInput={(q) => filter(query, { q }, true)} />
        {store !== "operator" && <Facet name="cluster" label="Cluster" by="cluster" query={query} store={store} />}
        <Facet name="namespace" label="Namespace" by="namespace" query={query} store={store} />
        <Facet name="kind" label="Kind" by="kind" query={query} store={store} />
        <Facet name="target" label="Target" by="targetName" query={query} store={store} />
        <Facet name="name" label="Name" by="name" query={query} store={store} />
        <Menu label="Attribute" title="Filter by an attribute" side="left">{() => <AttributeFilter query={query} store={store} />}</Menu>
      </div>
      {active.length > 0 && (
        <div class="chips" aria-label="Filters" role="group">
          {active.map((one) => (
            <Chip key={one.name} label={one.label} value={one.value} onRemove={() => go("inventory", without(query, one.name, "open", "in"))} />
          ))}
          <button type="button" class="link" onClick={() => go("inventory", without(query, "q", "open", "in", ...active.map((one) => one.name)))}>Clear all</button>
        </div>
      )}
    </div>
  );
}

