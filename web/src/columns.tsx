// Columns of the inventory table, and which of them this browser shows.
import { Ago } from "./ui";
import { attributesText, cellText, qualified } from "./format";
import { Store, remembered } from "./store";
import type { Column } from "./table";
import type { Item, Meta } from "./types";

const plain = (id: string, title: string, width: number, text: (item: Item) => string, more: Partial<Column<Item>> = {}): Column<Item> => ({
  id, title, width, cell: text, text, ...more,
});

export const kColumns: Column<Item>[] = [
  plain("cluster", "Cluster", 110, (item) => item.cluster ?? "", { grow: 1, sort: "cluster" }),
  plain("namespace", "Namespace", 120, (item) => item.namespace ?? "", { grow: 1, sort: "namespace" }),
  plain("kind", "Kind", 110, (item) => item.kind ?? "", { grow: 1, sort: "kind" }),
  {
    id: "name", title: "Name", width: 180, grow: 2, sort: "name", text: (item) => item.name ?? "",
    cell: (item) => <strong class="name">{item.name}</strong>,
  },
  plain("target", "Target", 130, (item) => qualified(item.targetNamespace, item.targetName ?? ""), { grow: 1, sort: "targetName" }),
  plain("inventory", "Inventory", 130, (item) => qualified(item.inventoryNamespace, item.inventory ?? ""), { grow: 1, sort: "inventory" }),
  plain("group", "API group", 110, (item) => item.group ?? "", { grow: 1, sort: "group" }),
  plain("version", "API version", 90, (item) => item.version ?? "", { sort: "version" }),
  plain("uid", "UID", 290, (item) => item.uid),
  plain("attributes", "Attributes", 260, (item) => attributesText(item.attributes), { grow: 4 }),
  // Of a row it is the pass in which it last changed: an old one is no sign of an old store.
  { id: "exportedAt", title: "Written", width: 110, sort: "exportedAt", cell: (item) => <Ago at={item.exportedAt} />, text: (item) => item.exportedAt ?? "" },
];

/** Members of an item that a column needs; the server sends no others. */
const kMembers: Record<string, string[]> = {
  target: ["targetNamespace", "targetName"],
  inventory: ["inventoryNamespace", "inventory"],
};

export const attributeColumn = (name: string): Column<Item> =>
  plain(`attr:${name}`, name, 130, (item) => cellText(item.attributes?.[name]), { grow: 1, sort: `attributes.${name}` });

/** Where there is room for two or three columns they begin with what a row is about. */
const kNarrow = 700;

export function defaultColumns(meta: Meta | undefined): string[] {
  const store = meta !== undefined && meta.store !== "operator";
  if (innerWidth < kNarrow) return ["name", "namespace", "kind", store ? "cluster" : "target", "attributes"];
  return store ? ["cluster", "namespace", "kind", "name", "attributes", "exportedAt"] : ["namespace", "kind", "name", "target", "attributes"];
}

const kept = remembered(() => localStorage, "kollect.columns");

function readChosen(): string[] | null {
  try {
    const list: unknown = JSON.parse(kept.get() ?? "null");
    return Array.isArray(list) && list.length > 0 && list.every((one) => typeof one === "string") ? list : null;
  } catch {
    return null;
  }
}

/** null: nobody has chosen yet. */
export const chosenColumns = new Store<string[] | null>(typeof localStorage === "undefined" ? null : readChosen());

export function chooseColumns(ids: string[] | null): void {
  kept.set(ids && JSON.stringify(ids));
  chosenColumns.set(ids);
}

export function columnsOf(ids: string[]): Column<Item>[] {
  return ids.flatMap((id) => {
    if (id.startsWith("attr:")) return [attributeColumn(id.slice(5))];
    const found = kColumns.find((column) => column.id === id);
    return found ? [found] : [];
  });
}

/** Value of the parameter `fields`. What tells objects apart is always read. */
export function fieldsOf(ids: string[]): string {
  const members = new Set(["uid", "cluster", "group", "kind", "namespace", "name"]);
  for (const id of ids) {
    if (id.startsWith("attr:")) members.add(`attributes.${id.slice(5)}`);
    else for (const member of kMembers[id] ?? [id]) members.add(member);
  }
  if (members.has("attributes")) for (const member of [...members]) if (member.startsWith("attributes.")) members.delete(member);
  return [...members].join(",");
}
