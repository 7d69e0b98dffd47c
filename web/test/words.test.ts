import assert from "node:assert/strict";
import { test } from "node:test";
import conditions from "kollect:conditions";
import { DriftIndex, type FleetCluster, type Finding, progressOf, spreadOf, wantedVersion } from "../src/fleet";
import type { Condition } from "../src/types";
import { explain, health, pageKind, typeMeaning } from "../src/words";

test("the tables of docs/conditions.md are read whole", () => {
  assert.ok(conditions.reasons.length >= 45, `${conditions.reasons.length} reasons`);
  for (const [reason, where, means] of conditions.reasons) {
    assert.match(reason, /^[A-Z][A-Za-z]+$/);
    assert.ok(where && means, reason);
  }
  assert.match(typeMeaning("SinkReachable")!, /every sink/);
});

test("a reason with several meanings is explained where it stands", () => {
  assert.match(explain("KollectTarget", "Ready", "True", "Collecting")!.means, /changes are followed/);
  assert.match(explain("KollectTarget", "Ready", "Unknown", "Collecting")!.means, /on their way/);
  assert.match(explain("KollectInventory", "Synced", "False", "PartiallySynced")!.means, /no fault/);
  assert.equal(explain("KollectInventory", "Synced", "False", "Debounced")!.todo, "");
  assert.match(explain("KollectDatabaseSink", "Degraded", "True", "ConnectionTestFailed")!.todo, /Follow the message/);
  assert.equal(explain("KollectTarget", "Ready", "True", "Invented"), undefined);
  assert.equal(pageKind("KollectSnapshotSink"), "Sinks");
});

const object = (...conditions: [string, Condition["status"], string?][]) => ({
  name: "x", namespace: "n", conditions: conditions.map(([type, status, reason]) => ({ type, status, ...(reason && { reason }) })),
});

test("one word for an object", () => {
  const word = (...list: [string, Condition["status"], string?][]) => health(object(...list)).health;
  assert.equal(word(["Ready", "True"], ["Synced", "True"]), "ready");
  assert.equal(word(["Degraded", "True"], ["Synced", "True"]), "degraded");
  assert.equal(word(["Ready", "True"], ["Synced", "False", "PartiallySynced"]), "ready");
  assert.equal(word(["Synced", "False", "Progressing"]), "degraded");
  assert.equal(word(["Ready", "True"], ["SinkReachable", "False"]), "attention");
  assert.equal(word(["Ready", "Unknown", "Collecting"]), "syncing");
  assert.equal(word(["ConnectionVerified", "True"]), "ready");
  assert.equal(word(["ConnectionVerified", "True"], ["TLSInsecure", "True"]), "attention");
  assert.equal(word(), "unknown");
  assert.equal(health({ ...object(["ConnectionVerified", "True"]), generation: 1 }).health, "ready");
  assert.equal(health({ ...object(["Ready", "True"]), generation: 2, observedGeneration: 1 }).health, "syncing");
});

const entry = (id: string, tag: string, version: string) => ({
  id, component_path: id, component_version: version, cluster_env_enabled: false, oci_url: "oci://r", oci_tag: tag, depends_on: [],
});
const cluster = (id: string, components: { id: string; enabled?: boolean; oci_tag?: string }[]): FleetCluster => ({
  id, cluster_name: id, cluster_dns: `${id}.test`, environment: "dev", namespaces: [{ id: "team" }], rolebindings: [], patches: {},
  platform_components: components.map((one) => ({ enabled: true, ...one })),
});
const finding = (of: string, kind: string, id: string | null): Finding => ({
  cluster: of, environment: null, finding: kind, family: id && "platform_components", id, object: null, field: null, expected: null, observed: null,
  message: null, since: null, seen: null,
});

test("versions that clusters get", () => {
  assert.equal(wantedVersion({ id: "a", enabled: true, oci_tag: "v2" }, entry("a", "v1", "1")), "v2");
  assert.equal(wantedVersion({ id: "a", enabled: true }, entry("a", "v1", "1")), "v1");
  assert.equal(wantedVersion({ id: "a", enabled: true }, entry("a", "latest", "1.0")), "1.0");
  const clusters = [cluster("x", [{ id: "a" }]), cluster("y", [{ id: "a", oci_tag: "v2" }]), cluster("z", [{ id: "a" }, { id: "b", enabled: false }])];
  const drift = new DriftIndex([finding("x", "missing", "a"), finding("x", "differs", "a")]);
  const spreads = spreadOf(clusters, new Map([["a", entry("a", "v1", "1")]]), drift);
  assert.deepEqual(spreads, [
    { id: "a", total: 3, disabled: 0, drifting: 1, versions: [["v1", 2], ["v2", 1]] },
    { id: "b", total: 0, disabled: 1, drifting: 0, versions: [] },
  ]);
});

test("a rollout is followed where nothing that it changed drifts", () => {
  const clusters = [cluster("x", [{ id: "a" }]), cluster("y", [{ id: "a" }]), cluster("z", [{ id: "a" }]), cluster("other", [])];
  const changes = [{ path: ["platform_components", "a", "oci_tag"] }];
  const rollout = {
    id: "r", at: "", by: "",
    members: ["x", "y", "z", "deleted"].map((id) => ({ family: "clusters", id, action: "changed" as const, changes })),
  };
  const drift = new DriftIndex([finding("x", "differs", "a"), finding("y", "missing", "b"), finding("z", "stale", null)]);
  assert.deepEqual(progressOf(rollout, clusters, drift), { clusters: ["x", "y", "z"], done: ["y"], waiting: ["x"], unseen: ["z"] });
  const upgrade = { id: "r", at: "", by: "", members: [{ family: "platform_components", id: "a", action: "changed" as const }] };
  assert.deepEqual(progressOf(upgrade, clusters, drift).clusters, ["x", "y", "z"]);
});
