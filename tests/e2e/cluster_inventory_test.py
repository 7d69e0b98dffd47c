#!/usr/bin/env python3
"""KollectClusterInventory in a running operator, on the sandbox: which rows it has, what it says, what stops it. A1 to A10 are the cases of
the selection table; targets `images` (tier=prod) and `scan` (zone=east) collect Deployments, `nodes` collects Nodes."""
import json
import time

import cluster_kinds_test as kinds
import harness
import operator_test as op
from sandbox import Sandbox

API = kinds.API
ROLLUPS = API + "kollectclusterinventories"
TARGETS = kinds.TARGETS
SCOPES = API + "kollectclusterscopes"
HOME = API + "namespaces/kollect-system/"
LONG_AGO = "2020-01-01T00:00:00Z"


def target(name, rollup, selector, profile="apps"):
    made = kinds.ours("KollectClusterTarget", name, profileRef={"namespace": "ops", "name": profile}, namespaceSelector={"matchLabels": selector})
    made["metadata"]["labels"] = {"rollup": rollup}
    return made


def manifests():
    made = [kinds.namespace(name, *maps) for name, maps in kinds.NAMESPACES.items()] + [kinds.deployment(*one) for one in kinds.DEPLOYMENTS]
    made += [kinds.namespace("kollect-system", {}, {}), kinds.node("n1"), kinds.node("n2", **{"kollect.dev/watch": "disabled"}), kinds.node("n3")]
    name = [{"name": "n", "path": "$.metadata.name"}]
    made += [kinds.ours("KollectProfile", "apps", "ops", targetGVK=kinds.DEPLOYMENT, attributes=name),
             kinds.ours("KollectProfile", "nodes", "ops", targetGVK={"version": "v1", "kind": "Node"}, attributes=name),
             target("images", "a", {"tier": "prod"}), target("scan", "a", {"zone": "east"}), target("nodes", "b", {"tier": "prod"}, "nodes")]
    for ns in ("kollect-system", "ops"):
        made.append(kinds.ours("KollectDatabaseSink", "file", ns, type="sqlite", cluster="c", sqlite={"path": f"{ns}.db"}))
    return "".join(map(document, made))


def rollup(name, **spec):
    return kinds.ours("KollectClusterInventory", name, **{"databaseSinkRefs": [{"name": "file"}], **spec})


def document(one):
    return "---\n" + json.dumps(one) + "\n"


class Rollups(op.Scenario):
    FLAGS = ("--export-start-spread", "0s")

    def start(self, *flags, without=(), more=""):
        self.sandbox = Sandbox(self.folder, manifests() + more, *flags, without=without)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.operator("--sqlite-dir", str(self.folder), *self.FLAGS)

    def rollup(self, name="all", **spec):
        self.sandbox.call("POST", ROLLUPS, rollup(name, **spec))

    def spec(self, name="all", **spec):
        self.sandbox.patch(f"{ROLLUPS}/{name}", spec=spec)

    def counted(self, rows, name="all"):
        """Rows that are not exported are counted when it is looked at."""

        def count():
            self.sandbox.patch(f"{ROLLUPS}/{name}", metadata={"annotations": {"kollect.dev/requestedAt": str(time.monotonic_ns())}})
            return self.status(name).get("itemCount")

        op.until(f"{rows} rows", lambda: count() == rows)

    def status(self, name="all"):
        return self.sandbox.call("GET", f"{ROLLUPS}/{name}").get("status", {})

    def conditions(self, name="all"):
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in self.status(name).get("conditions", [])}

    def message(self, kind, name="all"):
        return "".join(c["message"] for c in self.status(name).get("conditions", []) if c["type"] == kind)

    def degraded(self, reason, name="all"):
        op.until(f"Degraded/{reason}", lambda: self.conditions(name).get("Degraded") == f"True/{reason}")
        now = self.conditions(name)
        self.assertNotIn("Ready", now)
        self.assertNotIn("ExportSucceeded", now)
        self.assertEqual(now["Synced"], f"False/{reason}")

    def rows(self, name="all", home="kollect-system"):
        """As the table of the cases writes them: targetNamespace/targetName: object."""
        found = harness.sqlite_rows(self.folder / f"{home}.db",
                                    "SELECT target_namespace || '/' || target_name || ': ' || CASE namespace WHEN '' THEN name ELSE namespace || '/' || name END "
                                    f"FROM inventory_rows WHERE inventory_namespace = 'cluster' AND inventory_name = '{name}' AND cluster = 'c' "
                                    "ORDER BY target_namespace, target_name, namespace, name")
        return None if found is None else [row for row, in found]

    def expect(self, name, *rows, home="kollect-system"):
        op.until(f"{name}: {rows}", lambda: self.rows(name, home) == list(rows))

    def shards(self, name="all"):
        return [(s["namespace"], s["itemCount"], s["targetCount"]) for s in self.status(name).get("namespaceShards", [])]

    def events(self):
        items = self.sandbox.call("GET", "/api/v1/events")["items"]
        return {(e["type"], e["reason"]) for e in items if e["involvedObject"]["kind"] == "KollectClusterInventory"}


class Composition(Rollups):
    def test_rows_of_the_table(self):
        # The sandbox keeps the age of what it begins with.
        old = [rollup("a8", targetRefs=["scan"], namespaces=["corvus"]), rollup("a9", targetRefs=["images"], namespaces=["nowhere"])]
        for one in old:
            one["metadata"]["creationTimestamp"] = LONG_AGO
        self.start(more="".join(map(document, old)))
        images, scan, nodes = "atlas/images: atlas/api", "atlas/scan: atlas/api", ("/nodes: n1", "/nodes: n3")
        two = ["atlas", "boreas"]
        self.rollup("a1", targetRefs=["images", "scan"], namespaces=two)
        self.rollup("a2", targetRefs=["images", "scan"], namespaces=two, dedupe="byResourceUID")
        self.rollup("a3", targetSelector={"matchLabels": {"rollup": "a"}}, namespaceSelector={"matchLabels": {"zone": "west"}})
        self.rollup("a4", targetRefs=["images"], targetSelector={"matchLabels": {"rollup": "b"}}, namespaces=["atlas"])
        self.rollup("a5", namespaces=["atlas"])
        self.rollup("a6", targetRefs=["nodes"], namespaces=["atlas"])
        self.rollup("a7", targetRefs=["images", "ghost"], namespaces=["atlas"])
        self.expect("a1", images, scan, "boreas/scan: boreas/api")
        self.expect("a2", scan, "boreas/scan: boreas/api")
        self.expect("a3", "corvus/images: corvus/pin")
        self.expect("a4", images)
        self.expect("a5", *nodes, images, scan)
        self.expect("a6", *nodes)
        self.expect("a7", images)
        op.until("shards of a1", lambda: self.shards("a1") == [("atlas", 2, 2), ("boreas", 1, 1)])
        op.until("shards of a2", lambda: self.shards("a2") == [("atlas", 1, 2), ("boreas", 1, 1)])
        op.until("shards of a5", lambda: self.shards("a5") == [("", 2, 1), ("atlas", 2, 2)])
        op.until("a3 is ready", lambda: self.conditions("a3").get("Ready") == "True/Exported")
        status = self.status("a3")
        self.assertEqual((status["targetCount"], status["itemCount"], status["namespaceShardCount"]), (1, 1, 1))
        self.assertRegex(status["namespaceShards"][0]["checksum"], "^set:[0-9a-f]{32}$")
        self.assertEqual(self.conditions("a3")["ExportSucceeded"], "True/Exported")
        entry, = status["sinkExports"]
        self.assertEqual((entry["name"], entry["namespace"]), ("database/file", "kollect-system"))
        self.assertTrue(entry["lastChecksum"].startswith("set:"))
        op.until("ghost is named", lambda: "ghost" in self.message("Ready", "a7"))
        op.until("an event names it", lambda: ("Warning", "TargetNotFound") in self.events())
        op.until("events of exports", lambda: ("Normal", "ExportSucceeded") in self.events())
        self.rollup("young", targetRefs=["images"], namespaces=["nowhere"])
        self.degraded("NoTargets", "a8")
        self.degraded("NoTargets", "a9")
        self.assertIn(("Warning", "NoTargets"), self.events())
        self.assertEqual(self.status("young"), {})
        self.assertEqual((self.rows("a8"), self.rows("a9")), ([], []))

    def test_changes_are_followed(self):
        self.start()
        self.rollup(targetRefs=["images"])
        atlas, corvus = "atlas/images: atlas/api", "corvus/images: corvus/pin"
        self.expect("all", atlas, corvus)
        # Rows come, change and go.
        deployments = "/apis/apps/v1/namespaces/atlas/deployments"
        self.sandbox.call("POST", deployments, kinds.deployment("atlas", "new", {}))
        self.expect("all", atlas, "atlas/images: atlas/new", corvus)
        self.sandbox.call("DELETE", deployments + "/new")
        self.expect("all", atlas, corvus)
        # A namespace comes, and its row with it; the status never says that it was not exported before.
        op.until("Ready", lambda: self.conditions().get("Ready") == "True/Exported")
        self.sandbox.call("POST", "/api/v1/namespaces", kinds.namespace("eos", {"tier": "prod"}, {}))
        self.sandbox.call("POST", "/apis/apps/v1/namespaces/eos/deployments", kinds.deployment("eos", "api", {}))
        self.expect("all", atlas, corvus, "eos/images: eos/api")
        # Labels of namespaces choose.
        self.spec(namespaceSelector={"matchLabels": {"zone": "west"}})
        self.expect("all", corvus)
        self.sandbox.patch("/api/v1/namespaces/eos", metadata={"labels": {"zone": "west"}})
        self.expect("all", corvus, "eos/images: eos/api")
        self.spec(namespaceSelector=None, targetRefs=["images", "scan"], dedupe="byResourceUID")
        self.expect("all", "atlas/scan: atlas/api", "boreas/scan: boreas/api", corvus, "eos/images: eos/api")
        # A target that goes takes its rows with it, and the other one's come out.
        self.sandbox.ask("DELETE", f"{TARGETS}/scan")
        self.expect("all", atlas, corvus, "eos/images: eos/api")
        self.spec(suspend=True)
        self.degraded("Suspended")
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/eos/deployments/api")
        self.counted(2)
        self.assertEqual(len(self.rows()), 3)
        self.spec(suspend=False)
        self.expect("all", atlas, corvus)

    def test_without_sinks_it_is_rolled_up(self):
        self.start()
        self.rollup(databaseSinkRefs=[], targetRefs=["images"])
        op.until("RolledUp", lambda: self.conditions() == {"Ready": "True/RolledUp", "Synced": "True/RolledUp", "SinkReachable": "True/NoSinksConfigured"})
        self.assertEqual(self.shards(), [("atlas", 1, 1), ("corvus", 1, 1)])


class Stops(Rollups):
    def test_a_target_that_is_not_ready(self):
        self.start()
        self.rollup(targetRefs=["images", "scan"], namespaces=["atlas", "boreas"])
        three = ("atlas/images: atlas/api", "atlas/scan: atlas/api", "boreas/scan: boreas/api")
        self.expect("all", *three)
        self.sandbox.patch(f"{TARGETS}/scan", spec={"profileRef": {"name": "none"}})  # A10
        self.degraded("TargetDegraded")
        self.assertIn("scan", self.message("Degraded"))
        self.assertIn(("Warning", "TargetDegraded"), self.events())
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/atlas/deployments/api")
        self.counted(0)
        self.assertEqual(self.rows(), list(three))
        # One that takes no part holds nobody up.
        self.rollup("other", targetRefs=["scan", "images"], namespaceSelector={"matchLabels": {"zone": "west"}})
        self.sandbox.patch(f"{TARGETS}/scan", spec={"profileRef": {"name": "apps"}})
        self.expect("all", "boreas/scan: boreas/api")
        op.until("Ready", lambda: self.conditions().get("Ready") == "True/Exported")

    def test_scopes(self):
        self.start()
        self.rollup(targetRefs=["images"], exportMinInterval="0s")
        both = ("atlas/images: atlas/api", "corvus/images: corvus/pin")
        self.expect("all", *both)
        self.sandbox.call("POST", SCOPES, kinds.ours("KollectClusterScope", "limits", allowedStaticRefNamespaces=["ops"]))
        self.degraded("SinkNamespaceDenied")
        self.assertIn("kollect-system", self.message("Degraded"))
        # X-21: nothing leaves, whatever the interval.
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/atlas/deployments/api")
        self.counted(1)
        self.assertEqual(self.rows(), list(both))
        self.sandbox.patch(SCOPES + "/limits", spec={"allowedStaticRefNamespaces": ["ops", "kollect-system"], "databaseSinkRefs": ["other"]})
        self.degraded("ScopeSinkDenied")
        self.spec(profileRef={"namespace": "atlas", "name": "p"})
        self.degraded("SinkNamespaceDenied")
        self.assertIn("atlas/p", self.message("Degraded"))
        self.assertLessEqual({("Warning", "SinkNamespaceDenied"), ("Warning", "ScopeSinkDenied")}, self.events())
        self.assertEqual(self.rows(), list(both))
        # X-32: the larger of both floors lifts every interval.
        self.sandbox.call("POST", HOME + "kollectscopes", kinds.ours("KollectScope", "floor", "kollect-system", minExportInterval="90s"))
        self.sandbox.patch(SCOPES + "/limits", spec={"databaseSinkRefs": None, "allowedStaticRefNamespaces": None, "minExportInterval": "1m"})
        self.expect("all", "corvus/images: corvus/pin")

        def interval():
            self.counted(1)
            entries = self.status().get("sinkExports", [])
            return entries[0]["conditions"][0]["message"] if entries else ""

        op.until("the floor of the namespace", lambda: "every 1m30s" in interval())
        self.sandbox.patch(SCOPES + "/limits", spec={"minExportInterval": "2m"})
        op.until("the floor of the cluster", lambda: "every 2m0s" in interval())

    def test_scopes_that_cannot_be_read(self):
        self.start(without=("KollectClusterScope",))
        self.rollup(targetRefs=["images"])
        # Its target is stopped by the same.
        self.degraded("TargetDegraded")
        op.until("ScopeLookupFailed", lambda: kinds.ClusterTargets.stands(self)[1] == "True/ScopeLookupFailed")

    def test_a_scope_of_the_sinks_namespace_that_cannot_be_read(self):
        self.start(without=("KollectScope",))
        self.rollup(targetRefs=["images"])
        self.degraded("ScopeLookupFailed")
        self.assertEqual(self.rows() or [], [])

    def test_sinks(self):
        self.start()
        self.rollup(databaseSinkRefs=[{"name": "file"}, {"name": "none"}], targetRefs=["images"])
        both = ("atlas/images: atlas/api", "corvus/images: corvus/pin")
        self.expect("all", *both)
        op.until("one of two", lambda: self.conditions().get("Ready") == "True/PartiallySynced")
        self.assertEqual(self.conditions()["ExportSucceeded"], "True/PartiallySynced")
        self.assertEqual(self.conditions()["SinkReachable"], "False/SinkNotFound")
        # Another namespace is another sink; what was written to the first is removed.
        self.spec(databaseSinkRefs=[{"name": "file", "namespace": "ops"}])
        self.expect("all", *both, home="ops")
        self.expect("all")
        op.until("said so", lambda: [e["namespace"] for e in self.status()["sinkExports"]] == ["ops"])
        self.spec(databaseSinkRefs=[{"name": "file"}], sinkNamespace="nowhere")
        self.degraded("SinkNotFound")
        self.assertEqual(self.conditions()["SinkReachable"], "False/SinkNotFound")
        self.sandbox.call("POST", "/api/v1/namespaces", kinds.namespace("nowhere", {}, {}))
        self.sandbox.call("POST", API + "namespaces/nowhere/kollectdatabasesinks",
                          kinds.ours("KollectDatabaseSink", "file", "nowhere", type="sqlite", cluster="c", sqlite={"path": "nowhere.db"}))
        self.expect("all", *both, home="nowhere")
        # A file that cannot be written, for a passing reason and for one that stays.
        sink = API + "namespaces/nowhere/kollectdatabasesinks/file"
        self.sandbox.patch(sink, spec={"connectionTest": False, "sqlite": {"path": "../outside.db"}})
        op.until("ExportTerminal", lambda: self.conditions().get("Degraded") == "True/ExportTerminal")
        self.sandbox.patch(sink + "/status", status={"conditions": [
            {"type": "ConnectionVerified", "status": "False", "reason": "ConnectionTestFailed", "message": "no route", "lastTransitionTime": LONG_AGO}]})
        self.degraded("SinkUnreachable")

    def test_no_kind_of_sink_can_be_read(self):
        self.start(without=("KollectSnapshotSink", "KollectDatabaseSink", "KollectEventSink"))
        self.rollup(targetRefs=["images"])
        self.degraded("ExportUnavailable")

    def test_one_kind_of_sink_cannot_be_read(self):
        self.start(without=("KollectDatabaseSink",))
        self.rollup(targetRefs=["images"])
        self.degraded("SinkLookupFailed")


class Watched(Rollups):
    FLAGS = ("--watch-namespaces", "ops,atlas")

    def test_a_sink_where_the_operator_does_not_read(self):
        self.start()
        self.rollup(targetRefs=["images"], sinkNamespace="ops")
        self.expect("all", "atlas/images: atlas/api", home="ops")
        self.spec(sinkNamespace="kollect-system")
        self.degraded("SinkForbidden")


class Deletion(Rollups):
    def gone(self, name="all"):
        self.sandbox.ask("DELETE", f"{ROLLUPS}/{name}")
        op.until(f"{name} is gone", lambda: self.sandbox.ask("GET", f"{ROLLUPS}/{name}")[0] == 404)

    def test_takes_its_rows_with_it(self):
        self.start()
        for name in ("all", "kept", "orphan"):
            self.rollup(name, targetRefs=["images"], databaseSinkRefs=[{"name": "file", "namespace": "ops" if name == "orphan" else "kollect-system"}])
        self.sandbox.patch(f"{ROLLUPS}/kept", metadata={"annotations": {"kollect.dev/deletion-policy": "retain"}})
        both = ("atlas/images: atlas/api", "corvus/images: corvus/pin")
        self.expect("all", *both)
        self.expect("kept", *both)
        self.expect("orphan", *both, home="ops")
        self.assertEqual(self.sandbox.call("GET", f"{ROLLUPS}/all")["metadata"]["finalizers"], ["kollect.dev/cluster-inventory-cleanup"])
        self.spec(suspend=True)  # cleaned up all the same
        self.gone()
        self.assertEqual(self.rows(), [])
        self.gone("kept")
        self.assertEqual(self.rows("kept"), list(both))
        # Without its sink nothing can be cleaned, and nothing hangs.
        self.sandbox.call("DELETE", API + "namespaces/ops/kollectdatabasesinks/file")
        self.degraded("SinkNotFound", "orphan")
        self.gone("orphan")
        self.assertIn(("Warning", "SinkNotFound"), self.events())

    def test_what_cannot_be_cleaned_up_is_said(self):
        self.start()
        self.rollup(targetRefs=["images"])
        self.expect("all", "atlas/images: atlas/api", "corvus/images: corvus/pin")
        self.sandbox.patch(HOME + "kollectdatabasesinks/file", spec={"connectionTest": False, "sqlite": {"path": "../outside.db"}})
        op.until("ExportTerminal", lambda: self.conditions().get("Degraded") == "True/ExportTerminal")
        self.sandbox.ask("DELETE", f"{ROLLUPS}/all")
        op.until("CleanupTerminal", lambda: self.conditions().get("Degraded") == "True/CleanupTerminal")
        self.assertIn("kollect.dev/cluster-inventory-cleanup", self.message("Degraded"))
        self.assertIn(("Warning", "CleanupTerminal"), self.events())

    def test_a_namespace_called_cluster(self):
        self.start(more=document(kinds.namespace("cluster", {}, {})) + document(kinds.ours("KollectInventory", "all", "cluster")))
        self.rollup(targetRefs=["images"])
        self.degraded("NameConflict")
        self.rollup("other", targetRefs=["images"])
        self.expect("other", "atlas/images: atlas/api", "corvus/images: corvus/pin")
        self.gone()


if __name__ == "__main__":
    harness.main()
