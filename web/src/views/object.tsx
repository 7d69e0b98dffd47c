// One object: its attributes, where it is, its history, and what differs between two moments of it.
import { useState } from "preact/hooks";
import { useData } from "../api";
import { compare } from "../diff";
import { fromLocalInput, inventoryQuery, refParameters, toLocalInput, without } from "../filters";
import { count, moment, qualified, valueText } from "../format";
import { type Query, go, href, usePlace } from "../router";
import type { InventorySummary, Item, Listing, Meta, RowVersion } from "../types";
import { Ago, Empty, ErrorNotice, Facts, Loading, Notice, PageHead } from "../ui";

function Value({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one !== "object")) {
    return <ul>{value.map((one, index) => <li key={index}>{valueText(one)}</li>)}</ul>;
  }
  if (typeof value === "object" && value !== null) {
    const text = JSON.stringify(value);
    return text.length > 60 ? <pre class="value">{JSON.stringify(value, null, 2)}</pre> : <code>{text}</code>;
  }
  return <span class="value-text">{valueText(value)}</span>;
}

function Attributes({ item, query }: { item: Item; query: Query }) {
  const entries = Object.entries(item.attributes ?? {});
  if (entries.length === 0) return <p class="muted">It has no attributes.</p>;
  return (
    <table class="plain attributes">
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td><Value value={value} /></td>
            <td class="actions">
              <a class="quiet" title={`Only rows with this ${name}`} aria-label={`Only rows with this ${name}`}
                href={href("inventory", { ...without(query, "open", "in", "ref", "cluster", "from", "to", "place"), [`attr.${name}`]: valueText(value) })}>
                filter
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** `items`: the rows of one object; it may be in several inventories. */
export function ObjectFacts({ items, query }: { items: Item[]; query: Query }) {
  const item = items[0]!;
  const api = [item.group, item.version].filter(Boolean).join("/");
  return (
    <>
      <Facts
        facts={[
          ["Kind", item.kind && <>{item.kind} <span class="muted">{api}</span></>],
          ["Namespace", item.namespace && <a href={href("inventory", { namespace: item.namespace })}>{item.namespace}</a>],
          ["Cluster", item.cluster && <a href={href("inventory", { cluster: item.cluster })}>{item.cluster}</a>],
          ["UID", item.uid && <code>{item.uid}</code>],
        ]}
      />
      <h3>Attributes</h3>
      <Attributes item={item} query={query} />
      <h3>Where it is</h3>
      <ul class="places">
        {items.map((one, index) => (
          <li key={index}>
            {one.inventory && (
              <div>
                Inventory{" "}
                <a href={href("inventory", { cluster: one.cluster ?? "", ...inventoryQuery(namespaceOf(one), one.inventory) })}>
                  {qualified(one.inventoryNamespace, one.inventory)}
                </a>
              </div>
            )}
            {one.targetName && (
              <div>
                Target <a href={href("inventory", { target: one.targetName })}>{qualified(one.targetNamespace, one.targetName)}</a>
              </div>
            )}
            {one.exportedAt && <div class="muted">Written <Ago at={one.exportedAt} /></div>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The version that stood at a moment; before the first one there is none. */
export function versionAt(versions: RowVersion[], at: string): RowVersion | undefined {
  const wanted = Date.parse(at);
  return versions.find((one) => Date.parse(one.validFrom) <= wanted && (one.validTo === null || wanted < Date.parse(one.validTo)));
}

const kBegan: Record<string, string> = { appeared: "Appeared", changed: "Changed" };

/** Rows in databases have "cluster" there when a cluster inventory wrote them. */
const namespaceOf = (one: Item) => (one.inventoryNamespace === "cluster" ? undefined : one.inventoryNamespace);

const placeOf = (one: RowVersion) => [one.cluster, one.inventoryNamespace, one.inventory].filter(Boolean).join(" / ");

function MomentInput({ label, at, onPick }: { label: string; at: string; onPick: (at: string) => void }) {
  return (
    <label class="moment">
      {label}
      <input type="datetime-local" step="1" value={toLocalInput(at)} onChange={(event) => onPick(fromLocalInput(event.currentTarget.value))} />
    </label>
  );
}

function DiffTable({ before, after }: { before: RowVersion | undefined; after: RowVersion | undefined }) {
  const [all, setAll] = useState(false);
  const lines = compare(before?.item.attributes, after?.item.attributes);
  const different = lines.filter((line) => line.kind !== "same");
  const shown = all ? lines : different;
  return (
    <>
      <div class="row-line">
        <strong>{different.length === 0 ? "No attribute differs" : `${count(different.length, "attribute")} ${different.length === 1 ? "differs" : "differ"}`}</strong>
        <label class="check"><input type="checkbox" checked={all} onChange={() => setAll(!all)} /> Show what is the same too</label>
      </div>
      {shown.length > 0 && (
        <table class="plain diff">
          <thead><tr><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
          <tbody>
            {shown.map((line) => (
              <tr key={line.path} class={`diff-${line.kind}`}>
                <th scope="row">{line.path}</th>
                <td>{line.kind === "added" ? <span class="muted">not there</span> : <span class="diff-before">{line.before}</span>}</td>
                <td>{line.kind === "removed" ? <span class="muted">not there</span> : <span class="diff-after">{line.after}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function History({ versions, query }: { versions: RowVersion[]; query: Query }) {
  const places = [...new Set(versions.map(placeOf))];
  const place = query.place && places.includes(query.place) ? query.place : places[0]!;
  const own = versions.filter((one) => placeOf(one) === place); // oldest first
  const newest = own[own.length - 1]!;
  const to = query.to ?? newest.validFrom;
  const from = query.from ?? (own[own.length - 2] ?? newest).validFrom;
  const before = versionAt(own, from);
  const after = versionAt(own, to);
  const pick = (change: Query) => go("object", { ...query, ...change }, true);
  return (
    <div class="history">
      <section aria-label="Versions">
        {places.length > 1 && (
          <label class="row-line">Inventory{" "}
            <select value={place} onChange={(event) => pick({ place: event.currentTarget.value, from: "", to: "" })}>
              {places.map((one) => <option key={one}>{one}</option>)}
            </select>
          </label>
        )}
        <table class="plain versions">
          <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">Since</th><th scope="col">What</th></tr></thead>
          <tbody>
            {[...own].reverse().map((one) => (
              <tr key={one.validFrom} class={one === before || one === after ? "picked" : ""}>
                <td><input type="radio" name="from" aria-label={`Compare from ${moment(one.validFrom)}`} checked={one === before} onChange={() => pick({ from: one.validFrom })} /></td>
                <td><input type="radio" name="to" aria-label={`Compare to ${moment(one.validFrom)}`} checked={one === after} onChange={() => pick({ to: one.validFrom })} /></td>
                <td>{moment(one.validFrom)}</td>
                <td>
                  {kBegan[one.began] ?? one.began}
                  {one.ended === "went" && <span class="muted">, went {moment(one.validTo)}</span>}
                  {one.validTo === null && <span class="muted">, stands</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section aria-label="Difference">
        <div class="row-line">
          <MomentInput label="From" at={from} onPick={(at) => pick({ from: at })} />
          <MomentInput label="To" at={to} onPick={(at) => pick({ to: at })} />
        </div>
        {!before && <p class="muted">At {moment(from)} it was not there.</p>}
        {!after && <p class="muted">At {moment(to)} it was not there.</p>}
        <DiffTable before={before} after={after} />
      </section>
    </div>
  );
}

export function ObjectView({ meta }: { meta: Meta | undefined }) {
  const { query } = usePlace();
  const reference = refParameters(query.ref ?? "");
  const found = useData<InventorySummary>(query.ref ? "/v1alpha1/inventory" : null, { ...reference, cluster: query.cluster, at: query.at, limit: 50 }, 15_000);
  const history = useData<Listing<RowVersion>>(
    query.ref && meta?.abilities.history ? "/v1alpha1/history" : null, { ...reference, cluster: query.cluster }, 30_000);
  const item = found.data?.items[0] ?? history.data?.items[history.data.items.length - 1]?.item;
  if (!query.ref) return <Empty title="No object is chosen"><a href={href("inventory")}>Choose one in the inventory.</a></Empty>;
  return (
    <div class="page">
      <p class="crumbs"><a href={href("inventory")}>Inventory</a> / {item ? [item.kind, item.namespace].filter(Boolean).join(" in ") : "object"}</p>
      <PageHead title={item?.name ?? "Object"} />
      {found.error && <ErrorNotice error={found.error} retry={found.reload} />}
      {!found.data && found.loading && <Loading what="the object" />}
      {found.data && found.data.items.length === 0 && (
        <Notice tone="warning" title={query.at ? `It was not there at ${moment(query.at)}` : "It is not in the inventory any more"}>
          {history.data && history.data.items.length > 0 ? "Below is what is remembered of it." : "Nothing is remembered of it."}
        </Notice>
      )}
      <div class="columns">
        {found.data && found.data.items.length > 0 && <section class="card" aria-label="Object"><ObjectFacts items={found.data.items} query={{}} /></section>}
        <section class="card grow" aria-label="History">
          <h2>History</h2>
          {meta && !meta.abilities.history && (
            <p class="muted">This store keeps only the present. A SQLite or PostgreSQL sink with history keeps earlier states, and <code>kollect serve</code> shows them here.</p>
          )}
          {history.error && <ErrorNotice error={history.error} retry={history.reload} />}
          {history.data && (history.data.items.length > 0 ? <History versions={history.data.items} query={query} /> : <p class="muted">Nothing is remembered.</p>)}
        </section>
      </div>
    </div>
  );
}
