import assert from "node:assert/strict";
import { test } from "node:test";
import { compare } from "../src/diff";
import { activeFilters, fromLocalInput, inventoryQuery, objectRef, refParameters, rowParameters, rowsPath, toLocalInput, without } from "../src/filters";
import { ago, attributesText, cellText, count, countAtLeast, duration, isStale, valueText } from "../src/format";
import { href, readPlace } from "../src/router";
import { EventParser } from "../src/stream";
import { toYaml } from "../src/yaml";

test("ages", () => {
  const now = Date.parse("2026-11-29T12:00:00Z");
  assert.equal(ago("2026-11-29T11:59:18Z", now), "42 s ago");
  assert.equal(ago("2026-11-29T11:59:58Z", now), "just now");
  assert.equal(ago("2026-11-17T12:00:00Z", now), "12 d ago");
  assert.equal(ago("2026-11-29T14:00:00Z", now), "in 2 h");
  assert.equal(ago(null, now), "never");
  assert.equal(ago("nonsense", now), "never");
  assert.equal(duration(119_000), "1 min");
  assert.equal(isStale("2026-11-29T10:59:59Z", now), true);
  assert.equal(isStale("2026-11-29T11:00:01Z", now), false);
  assert.equal(isStale(undefined, now), false);
});

test("counts and values", () => {
  assert.equal(count(1, "row"), "1 row");
  assert.equal(count(100_000, "row"), "100,000 rows");
  assert.equal(count(2, "inventory", "inventories"), "2 inventories");
  assert.equal(countAtLeast(2000, "rows"), "2,000+ rows");
  assert.equal(valueText({ a: [1] }), '{"a":[1]}');
  assert.equal(cellText(["a", 1, true]), "a, 1, true");
  assert.equal(cellText([{ a: 1 }]), '[{"a":1}]');
  assert.equal(cellText(null), "");
  assert.equal(attributesText({ a: 1, b: "x" }), "a: 1 · b: x");
});

test("an address keeps the filters and leaves out what is empty", () => {
  const query = { kind: "Deployment", "attr.version": "1 & 2", q: "" };
  const address = href("inventory", query);
  assert.equal(address, "inventory?attr.version=1+%26+2&kind=Deployment");
  const [path, search] = address.split("?");
  assert.deepEqual(readPlace(`/prefix/ui/${path}`, `?${search}`), { page: "inventory", query: { kind: "Deployment", "attr.version": "1 & 2" } });
  assert.equal(href(""), "./");
  assert.deepEqual(readPlace("/ui/", ""), { page: "", query: {} });
});

test("filters stand as chips in their order, attributes last", () => {
  const query = { "attr.b": "2", kind: "Pod", cluster: "c", "attr.a": "1", sort: "name", q: "x" };
  assert.deepEqual(activeFilters(query).map((one) => `${one.label}=${one.value}`), ["Cluster=c", "Kind=Pod", "a=1", "b=2"]);
  assert.deepEqual(without(query, "attr.a", "q", "sort"), { "attr.b": "2", kind: "Pod", cluster: "c" });
});

test("the operator and databases name an inventory in different ways", () => {
  const query = { inventoryNamespace: "shop", inventory: "apps", kind: "Pod", open: "u", by: "kind" };
  assert.deepEqual(rowParameters(query, "sqlite"), { inventoryNamespace: "shop", inventory: "apps", kind: "Pod" });
  assert.deepEqual(rowParameters(query, "operator"), { namespace: "shop", inventory: "apps", kind: "Pod" });
});

test("cluster inventories have a route of their own", () => {
  assert.deepEqual(inventoryQuery("shop", "apps"), { inventoryNamespace: "shop", inventory: "apps" });
  for (const namespace of ["", undefined]) assert.deepEqual(inventoryQuery(namespace, "all"), { clusterInventory: "all" });
  const query = { ...inventoryQuery("", "all/of it"), kind: "Pod", namespace: "shop" };
  assert.equal(rowsPath(query), "/v1alpha1/clusterinventory/all%2Fof%20it");
  assert.equal(rowsPath({ kind: "Pod" }), "/v1alpha1/inventory");
  for (const store of ["operator", "sqlite"]) assert.deepEqual(rowParameters(query, store), { kind: "Pod", namespace: "shop" });
  assert.deepEqual(activeFilters(query).map((one) => one.label), ["Cluster inventory", "Namespace", "Kind"]);
});

test("an object without a uid is found by its names", () => {
  const item = { uid: "", group: "apps", kind: "Deployment", namespace: "shop", name: "a" };
  assert.deepEqual(refParameters(objectRef(item)), { group: "apps", kind: "Deployment", namespace: "shop", name: "a" });
  assert.deepEqual(refParameters(objectRef({ uid: "u-1" })), { uid: "u-1" });
});

test("a moment goes through its input unchanged", () => {
  assert.equal(fromLocalInput(toLocalInput("2026-11-29T12:34:56Z")), "2026-11-29T12:34:56Z");
  assert.equal(fromLocalInput(""), "");
  assert.equal(toLocalInput("never"), "");
});

test("differences of two states", () => {
  const lines = compare({ a: 1, b: { c: "x", d: [1] }, gone: null }, { a: 1, b: { c: "y", d: [1] }, made: true });
  assert.deepEqual(lines.map((one) => `${one.path} ${one.kind}`), ["a same", "b.c changed", "b.d same", "gone removed", "made added"]);
  assert.deepEqual(compare(undefined, { a: {} }).map((one) => one.after), ["{}"]);
});

test("events arrive in pieces", () => {
  const parser = new EventParser();
  const found = [];
  for (const piece of [": beat\n\nid: 7", "-1\nevent: inventory\r\ndata: {\"a\"", ":1}\ndata: 2\n", "\n", "data: x\n\nretry: 5\n\n"]) found.push(...parser.feed(piece));
  assert.deepEqual(found, [{ event: "inventory", data: '{"a":1}\n2', id: "7-1" }, { event: "message", data: "x", id: "7-1" }]);
});

test("YAML for people", () => {
  assert.equal(
    toYaml({ a: { b: [{ c: 1, d: ["x"] }, []], e: {} }, t: "true", v: "1.0", s: "two words", l: "a\nb\n", z: null, "k:": "$.a[*]" }),
    ["a:", "  b:", "  - c: 1", "    d:", "    - x", "  - []", "  e: {}", 't: "true"', 'v: "1.0"', "s: two words", "l: |", "  a", "  b", "z: null", '"k:": "$.a[*]"'].join("\n"),
  );
});
