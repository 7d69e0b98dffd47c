// Which rows the table shows: filters stand in the address of the page, and go to the server under the same names.
import type { Parameters } from "./api";
import type { Query } from "./router";
import type { Item } from "./types";

/** Filters with one value, in the order in which their chips stand. */
export const kFilters: [string, string][] = [
  ["cluster", "Cluster"],
  ["inventoryNamespace", "Inventory namespace"],
  ["inventory", "Inventory"],
  ["clusterInventory", "Cluster inventory"],
  ["namespace", "Namespace"],
  ["kind", "Kind"],
  ["name", "Name"],
  ["target", "Target"],
  ["group", "API group"],
  ["version", "API version"],
  ["uid", "UID"],
];
const kNames = new Set(kFilters.map(([name]) => name));

export interface ActiveFilter {
  name: string; // in the address
  label: string;
  value: string;
}

export const isFilter = (name: string) => kNames.has(name) || name.startsWith("attr.");

/** What stands as chips: everything but the search text. */
export function activeFilters(query: Query): ActiveFilter[] {
  const plain = kFilters.filter(([name]) => query[name]).map(([name, label]) => ({ name, label, value: query[name]! }));
  const attributes = Object.keys(query)
    .filter((name) => name.startsWith("attr."))
    .sort()
    .map((name) => ({ name, label: name.slice(5), value: query[name]! }));
  return [...plain, ...attributes];
}

export function without(query: Query, ...names: string[]): Query {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));
}

/** Search and filters alone: what opened, sorts and groups is left out. */
export function onlyFilters(query: Query): Query {
  return Object.fromEntries(Object.entries(query).filter(([name]) => isFilter(name) || name === "q" || name === "at"));
}

/** The rows of an inventory; one without a namespace is a cluster inventory. */
export const inventoryQuery = (namespace: string | undefined, name: string): Query =>
  namespace ? { inventoryNamespace: namespace, inventory: name } : { clusterInventory: name };

/** The route of the API that lists rows: cluster inventories have one of their own, which takes the same filters. */
export const rowsPath = (query: Query): string =>
  query.clusterInventory ? `/v1alpha1/clusterinventory/${encodeURIComponent(query.clusterInventory)}` : "/v1alpha1/inventory";

/**
 * Parameters of the API. The operator knows an inventory by `namespace` and `inventory` together; in a database the
 * namespace of an inventory has a name of its own.
 */
export function rowParameters(query: Query, store: string): Parameters {
  const out: Parameters = { ...onlyFilters(without(query, "clusterInventory")) };
  if (store === "operator" && query.inventory) {
    out.namespace = query.inventoryNamespace ?? query.namespace;
    delete out.inventoryNamespace;
  }
  return out;
}

/** The same for pages of rows. Who searches by typing waits for rows, not until all that match have been counted. */
export const pageParameters = (query: Query, store: string): Parameters => ({ ...rowParameters(query, store), total: query.q ? "bounded" : undefined });

/** One object in an address: its uid, or, for rows of manifests that have none, what it is called. */
export function objectRef(item: Item): string {
  return item.uid || `~${[item.group ?? "", item.kind ?? "", item.namespace ?? "", item.name ?? ""].join("/")}`;
}

export function refParameters(ref: string): Parameters {
  if (!ref.startsWith("~")) return { uid: ref };
  const [group, kind, namespace, ...name] = ref.slice(1).split("/");
  return { group, kind, namespace, name: name.join("/") };
}

/** A datetime-local input and RFC 3339. */
export function toLocalInput(moment: string): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function fromLocalInput(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : `${at.toISOString().slice(0, 19)}Z`;
}
