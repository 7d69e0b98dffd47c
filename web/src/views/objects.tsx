// Lists of our own kinds: targets, inventories, profiles, scopes, sinks. Worst first, with a drawer.
import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { ApiError, useData } from "../api";
import { inventoryQuery } from "../filters";
import { count, number, qualified } from "../format";
import { type Query, go, href, usePlace } from "../router";
import { type Column, Table } from "../table";
import type { Condition, InventoryPlace, Listing, Meta, ResourceStatus, SinkExport } from "../types";
import { Ago, Badge, Empty, ErrorNotice, Loading, PageHead, SearchBox } from "../ui";
import { health, kHealthOrder } from "../words";
import { Conditions, ObjectDrawer, mainWords, objectKey, objectName } from "./conditions";

const kEvery = 15_000;
const kLimit = 5000;

interface Kinds {
  page: string;
  title: string;
  /** Path below /v1alpha1/status and the kind of what it lists, where the answer does not say. */
  lists: [string, string][];
  hasStatus: boolean;
  columns: Column<ResourceStatus>[];
  detail?(object: ResourceStatus): ComponentChildren;
  empty: string;
}

const state = (kind: string): Column<ResourceStatus> => ({
  id: "state", title: "State", width: 152, cell: (one) => <Badge health={health(one).health} />, text: (one) => mainWords(one, kind),
});
const kKind: Column<ResourceStatus> = { id: "kind", title: "Kind", width: 140, cell: (one) => one.kind?.replace(/^Kollect/, "") };
const kNamespace: Column<ResourceStatus> = { id: "namespace", title: "Namespace", width: 124, grow: 1, cell: (one) => one.namespace };
const kName: Column<ResourceStatus> = { id: "name", title: "Name", width: 140, grow: 1.5, cell: (one) => <strong class="name">{one.name}</strong> };
const kRows: Column<ResourceStatus> = {
  id: "rows", title: "Rows", width: 90, numeric: true, cell: (one) => (one.itemCount === undefined ? "" : number(one.itemCount)),
};
const words = (kind: string): Column<ResourceStatus> => ({
  id: "words", title: "What it says", width: 200, grow: 4, cell: (one) => mainWords(one, kind), text: (one) => mainWords(one, kind),
});
const member = (id: string, title: string, text: (one: ResourceStatus) => string): Column<ResourceStatus> => ({
  id, title, width: 140, grow: 1.5, cell: text, text,
});

const text = (value: unknown): string => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

function gvk(spec: ResourceStatus["spec"]): string {
  const target = spec?.targetGVK as { group?: string; version?: string; kind?: string } | undefined;
  return target ? `${target.kind ?? ""} ${[target.group, target.version].filter(Boolean).join("/")}` : "";
}

const kExportStates: Record<string, Condition["status"]> = { ok: "True", degraded: "False", debounced: "False" };

/** The entry of a sink, as the condition `Synced` that it was made from. */
function exportCondition(one: SinkExport): Condition {
  return {
    type: "Synced",
    status: kExportStates[one.status ?? ""] ?? "Unknown",
    ...(one.reason && { reason: one.reason }),
    ...(one.message && { message: one.message }),
    ...(one.lastExportTime && { lastTransitionTime: one.lastExportTime }),
  };
}

function SinkExports({ exports }: { exports: SinkExport[] }) {
  return (
    <>
      <h3>Exports</h3>
      <ul class="exports">
        {exports.map((one) => (
          <li key={one.sink}>
            <p class="row-line">
              <a href={href("sinks", { open: one.sink })}><strong>{one.sink}</strong></a>
              {one.type && <span class="muted">{one.type}</span>}
              {one.itemCount !== undefined && <span class="muted">{count(one.itemCount, "row")}</span>}
              {!!one.consecutiveFailures && <span class="error-text">{count(one.consecutiveFailures, "failure")} in a row</span>}
            </p>
            <Conditions kind="KollectInventory" conditions={[exportCondition(one)]} />
          </li>
        ))}
      </ul>
    </>
  );
}

const rowsLink = (query: Query, label: string) => <p><a class="button" href={href("inventory", query)}>{label}</a></p>;

const kTargets: Kinds = {
  page: "targets", title: "Targets", hasStatus: true,
  lists: [["targets", "KollectTarget"], ["clustertargets", "KollectClusterTarget"]],
  columns: [state("KollectTarget"), kNamespace, kName, words("KollectTarget"), kRows, kKind,
    member("profile", "Profile", (one) => text((one.spec?.profileRef as { name?: string } | undefined)?.name ?? one.spec?.profileRef))],
  detail: (one) => rowsLink({ target: one.name, namespace: one.namespace ?? "" }, "See its rows"),
  empty: "A target says which objects a profile reads. Make one, and it is here.",
};

const kInventories: Kinds = {
  page: "inventories", title: "Inventories", hasStatus: true,
  lists: [["inventories", "KollectInventory"], ["clusterinventories", "KollectClusterInventory"]],
  columns: [state("KollectInventory"), kNamespace, kName, words("KollectInventory"), kRows,
    { id: "exported", title: "Exported", width: 110, cell: (one) => one.lastExportTime && <Ago at={one.lastExportTime} warn /> }, kKind],
  detail: (one) => (
    <>
      {one.sinkExports && one.sinkExports.length > 0 && <SinkExports exports={one.sinkExports} />}
      {rowsLink(inventoryQuery(one.namespace, one.name), "See its rows")}
    </>
  ),
  empty: "An inventory joins the rows of targets and names the sinks that they go to.",
};

const kProfiles: Kinds = {
  page: "profiles", title: "Profiles", hasStatus: false, lists: [["profiles", "KollectProfile"]],
  columns: [kNamespace, kName, member("kind", "Reads", (one) => gvk(one.spec)),
    member("attributes", "Attributes", (one) => ((one.spec?.attributes ?? []) as { name?: string }[]).map((attribute) => attribute.name).join(", "))],
  empty: "A profile says which fields of a kind become attributes.",
};

const kScopes: Kinds = {
  page: "scopes", title: "Scopes", hasStatus: false, lists: [["scopes", "KollectScope"]],
  columns: [kKind, kNamespace, kName, member("spec", "Allows", (one) => Object.entries(one.spec ?? {}).map(([name, value]) => `${name}: ${text(value)}`).join(" · "))],
  empty: "Without scopes every kind may be collected and every sink used.",
};

const kSinks: Kinds = {
  page: "sinks", title: "Sinks", hasStatus: true, lists: [["sinks", "KollectSnapshotSink"]],
  columns: [state("KollectSnapshotSink"), kNamespace, kName, words("KollectSnapshotSink"), member("type", "Type", (one) => text(one.spec?.type)),
    member("used", "Used by", (one) => (one.usedBy ?? []).join(", ")), kKind],
  detail: (one) => (
    <>
      <h3>Used by</h3>
      {one.usedBy && one.usedBy.length > 0
        ? <ul class="plain-list">{one.usedBy.map((name) => <li key={name}><a href={href("inventories", { q: name.split("/").pop()! })}>{name}</a></li>)}</ul>
        : <p class="muted">No inventory refers to it.</p>}
      <SinkUses sink={one} />
    </>
  ),
  empty: "A sink is where rows go: Git, a database, an object store, a stream.",
};

/** What the inventories say of a sink: the last export of each. */
function SinkUses({ sink }: { sink: ResourceStatus }) {
  const namespaced = useData<Listing<ResourceStatus>>("/v1alpha1/status/inventories", { limit: kLimit }, kEvery);
  const wide = useData<Listing<ResourceStatus>>("/v1alpha1/status/clusterinventories", { limit: kLimit }, kEvery);
  const used = new Set(sink.usedBy ?? []);
  const lines = [...(namespaced.data?.items ?? []), ...(wide.data?.items ?? [])].flatMap((inventory) =>
    (inventory.sinkExports ?? [])
      .filter((one) => one.sink.split("/").pop() === sink.name && (used.has(inventory.name) || used.has(objectName(inventory))))
      .map((one) => ({ inventory, one })));
  if (lines.length === 0) return null;
  return (
    <>
      <h3>Last exports</h3>
      <table class="plain">
        <thead><tr><th scope="col">Inventory</th><th scope="col">Result</th><th scope="col" class="numeric">Rows</th><th scope="col">When</th></tr></thead>
        <tbody>
          {lines.map(({ inventory, one }) => (
            <tr key={`${objectName(inventory)} ${one.sink}`}>
              <td>{objectName(inventory)}</td>
              <td title={one.message}>{one.reason ?? one.status}</td>
              <td class="numeric">{one.itemCount !== undefined && number(one.itemCount)}</td>
              <td><Ago at={one.lastExportTime} warn /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const kAll: Record<string, Kinds> = { targets: kTargets, inventories: kInventories, profiles: kProfiles, scopes: kScopes, sinks: kSinks };

function worstFirst(a: ResourceStatus, b: ResourceStatus): number {
  return kHealthOrder.indexOf(health(a).health) - kHealthOrder.indexOf(health(b).health) || objectName(a).localeCompare(objectName(b));
}

function useObjects(kinds: Kinds, namespace: string | undefined): { objects: ResourceStatus[] | undefined; error: ApiError | undefined; reload: () => void } {
  const first = useData<Listing<ResourceStatus>>(`/v1alpha1/status/${kinds.lists[0]![0]}`, { limit: kLimit, namespace }, kEvery);
  const second = useData<Listing<ResourceStatus>>(kinds.lists[1] && !namespace ? `/v1alpha1/status/${kinds.lists[1][0]}` : null, { limit: kLimit }, kEvery);
  const objects = useMemo(() => {
    if (!first.data) return undefined;
    const named = (list: Listing<ResourceStatus> | undefined, index: number) =>
      (list?.items ?? []).map((one) => ({ ...one, kind: one.kind ?? kinds.lists[index]![1] }));
    const all = [...named(first.data, 0), ...named(second.data, 1)];
    return kinds.hasStatus ? all.sort(worstFirst) : all.sort((a, b) => objectName(a).localeCompare(objectName(b)));
  }, [first.data, second.data, kinds]);
  return {
    objects,
    error: first.error ?? second.error,
    reload: () => {
      first.reload();
      second.reload();
    },
  };
}

/** `open` is KIND/NAMESPACE/NAME, or, of sinks, FAMILY/NAME or NAME as exports say it. */
function findOpen(objects: ResourceStatus[], open: string | undefined, kind: string): ResourceStatus | undefined {
  if (!open) return undefined;
  const name = open.split("/").pop();
  return objects.find((one) => objectKey(one, kind) === open) ?? (open.split("/").length < 3 ? objects.find((one) => one.name === name) : undefined);
}

const kShow: [string, string][] = [["", "All"], ["problems", "Only problems"]];

export function ObjectsView({ page, meta }: { page: string; meta: Meta | undefined }) {
  const kinds = kAll[page]!;
  const { query } = usePlace();
  const { objects, error, reload } = useObjects(kinds, query.namespace);
  const [cursor, setCursor] = useState(-1);
  const kind = kinds.lists[0]![1];
  const q = (query.q ?? "").toLowerCase();
  const shown = useMemo(() => (objects ?? []).filter((one) => {
    if (query.namespace && one.namespace !== query.namespace) return false;
    if (query.show === "problems" && !["degraded", "attention"].includes(health(one).health)) return false;
    return !q || `${one.kind} ${objectName(one)} ${mainWords(one, kind)}`.toLowerCase().includes(q);
  }), [objects, q, query.namespace, query.show, kind]);
  const open = findOpen(objects ?? [], query.open, kind);
  const close = useCallback(() => {
    const { open: _, ...rest } = query;
    go(page, rest);
    document.querySelector<HTMLElement>("[data-table]")?.focus();
  }, [query, page]);
  const show = (index: number) => shown[index] && go(page, { ...query, open: objectKey(shown[index], kind) }, query.open !== undefined);
  const namespaces = [...new Set((objects ?? []).map((one) => one.namespace).filter(Boolean).concat(query.namespace ? [query.namespace] : []))].sort();

  if (error?.reason === "NoObjects" && page === "inventories") return <StoredInventories meta={meta} />;
  return (
    <div class="page page-full">
      <PageHead title={kinds.title}>
        <span class="count" role="status">{objects ? (shown.length === objects.length ? number(objects.length) : `${number(shown.length)} of ${number(objects.length)}`) : ""}</span>
      </PageHead>
      {error && error.status !== 401 && <ErrorNotice error={error} retry={reload} />}
      {error?.reason !== "NoObjects" && (
        <>
          <div class="tools"><div class="tools-row">
            <SearchBox value={query.q ?? ""} label={`Search ${kinds.title.toLowerCase()}`} placeholder="Search names and messages…" delay={80} onInput={(text) => go(page, { ...query, q: text }, true)} />
            {(namespaces.length > 1 || query.namespace) && (
              <select aria-label="Namespace" value={query.namespace ?? ""} onChange={(event) => go(page, { ...query, namespace: event.currentTarget.value })}>
                <option value="">All namespaces</option>
                {namespaces.map((one) => <option key={one} value={one}>{one}</option>)}
              </select>
            )}
            {kinds.hasStatus && (
              <select aria-label="Show" value={query.show ?? ""} onChange={(event) => go(page, { ...query, show: event.currentTarget.value })}>
                {kShow.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
              </select>
            )}
          </div></div>
          <div class="split">
            <Table
              label={kinds.title}
              columns={kinds.columns}
              total={shown.length}
              row={(index) => shown[index]}
              rowClass={(row) => (open && objectKey(row, kind) === objectKey(open, kind) ? "row-open" : "")}
              cursor={cursor}
              onCursor={(index) => {
                setCursor(index);
                if (query.open) show(index);
              }}
              onOpen={show}
              empty={objects ? (objects.length > 0 ? <Empty title="None matches">Search for less, or show all.</Empty> : <Empty title={`No ${kinds.title.toLowerCase()}`}>{kinds.empty}</Empty>) : error ? null : <Loading what={kinds.title.toLowerCase()} />}
            />
            {open && <ObjectDrawer object={open} kind={kind} onClose={close}>{kinds.detail?.(open)}</ObjectDrawer>}
          </div>
        </>
      )}
    </div>
  );
}

const kStored: Column<InventoryPlace>[] = [
  { id: "cluster", title: "Cluster", width: 130, grow: 1, cell: (one) => one.cluster },
  { id: "namespace", title: "Namespace", width: 130, grow: 1, cell: (one) => one.namespace },
  { id: "name", title: "Name", width: 180, grow: 2, cell: (one) => <strong class="name">{one.name}</strong> },
  { id: "rows", title: "Rows", width: 100, numeric: true, cell: (one) => number(one.rows) },
  { id: "exported", title: "Exported", width: 120, cell: (one) => <Ago at={one.exportedAt} warn /> },
  { id: "generation", title: "Generation", width: 100, numeric: true, cell: (one) => one.generation },
  { id: "checksum", title: "Checksum", width: 180, grow: 2, cell: (one) => <code>{one.checksum}</code>, text: (one) => one.checksum },
];

/** Inventories as a database knows them: no conditions, but what was exported, and when. */
function StoredInventories({ meta }: { meta: Meta | undefined }) {
  const { query } = usePlace();
  const inventories = useData<Listing<InventoryPlace>>("/v1alpha1/inventories", {}, kEvery);
  const [cursor, setCursor] = useState(-1);
  const q = (query.q ?? "").toLowerCase();
  const shown = (inventories.data?.items ?? []).filter((one) => `${one.cluster} ${qualified(one.namespace, one.name)}`.toLowerCase().includes(q));
  const open = (index: number) => {
    const one = shown[index];
    if (one) go("inventory", { cluster: one.cluster, ...inventoryQuery(one.namespace, one.name) });
  };
  return (
    <div class="page page-full">
      <PageHead title="Inventories">
        <span class="count" role="status">{inventories.data && number(shown.length)}</span>
        <span class="muted">as the {meta?.store === "postgres" ? "PostgreSQL database" : "SQLite file"} has them</span>
      </PageHead>
      {inventories.error && inventories.error.status !== 401 && <ErrorNotice error={inventories.error} retry={inventories.reload} />}
      <div class="tools"><div class="tools-row">
        <SearchBox value={query.q ?? ""} label="Search inventories" placeholder="Search clusters and names…" delay={80} onInput={(text) => go("inventories", { ...query, q: text }, true)} />
      </div></div>
      <div class="split">
        <Table label="Inventories" columns={kStored} total={shown.length} row={(index) => shown[index]} cursor={cursor} onCursor={setCursor} onOpen={open}
          empty={inventories.data ? <Empty title="No inventories">Nothing has been exported to this store yet.</Empty> : <Loading what="inventories" />} />
      </div>
    </div>
  );
}
