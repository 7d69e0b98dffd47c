#!/usr/bin/env python3
"""Reasons of conditions that no other test brings about, on the sandbox; docs/conditions.md tells of all, tests/cases/conditions/reasons.tsv
names a test for each. Also: whatever is deleted goes."""
import pathlib
import shutil
import subprocess
import tempfile
import time

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

API = "/apis/kollect.dev/v1alpha1/"
CLUSTER = ("kollectclustertargets", "kollectclusterinventories", "kollectclusterscopes")
MAPS = {"name": "v", "path": "$.data.v", "optional": True}
NOWHERE = "postgresql://u:p@127.0.0.1:1/d"  # nobody listens there
PLURALS = {"target": "kollecttargets", "inventory": "kollectinventories", "ctarget": "kollectclustertargets",
           "cinventory": "kollectclusterinventories", "database": "kollectdatabasesinks", "snapshot": "kollectsnapshotsinks"}


def place(kind, ns, name):
    plural = PLURALS.get(kind, kind)
    return API + (f"{plural}/{name}" if plural in CLUSTER else f"namespaces/{ns}/{plural}/{name}")


def team(ns, *sinks, **inventory):
    """A namespace with a profile and a target of its ConfigMaps, one of which has the data v, sinks, and an inventory that refers to them."""
    return (m.namespace(ns) + m.document("ConfigMap", ns, "a", api="v1", data={"v": "x" * 400}) + m.profile(ns, "maps", "ConfigMap", MAPS)
            + m.target(ns, "maps", "maps", includedNamespaces=[ns]) + "".join(sinks) + m.inventory(ns, **inventory))


def postgres(ns, dsn=NOWHERE, name="pg", **spec):
    return m.postgres_sink(ns, dsn, "rows", name, connectionTest=False, **spec)


def cluster_target(name, ns, profile="maps", **spec):
    return m.document("KollectClusterTarget", None, name, {"profileRef": {"namespace": ns, "name": profile}, "includedNamespaces": [ns], **spec})


def rollup(name, ns, *names, family="database", **spec):
    return m.document("KollectClusterInventory", None, name,
                      {"targetRefs": ["maps"], "sinkNamespace": ns, f"{family}SinkRefs": [{"name": one} for one in names], **spec})


class Conditions(op.Scenario):
    def begin(self, manifests, *flags, access=(), faults=(), without=(), program=harness.KOLLECT, generate=()):
        self.sandbox = Sandbox(pathlib.Path(self.folder), manifests, *generate, without=without)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.access(*access)
        self.faults(*faults)
        self.operator("--sqlite-dir", str(self.folder), "--export-start-spread", "0s", *flags, program=program)

    def access(self, *denied):
        """Nobody may list or watch these, (resource, namespaces) each."""
        self.sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": [
            {"effect": "deny", "verbs": ["list", "watch"], "resources": [resource], "namespaces": list(namespaces)} for resource, namespaces in denied]})

    def faults(self, *rules):
        self.sandbox.call("PUT", "/sandbox/faults", {"seed": 1, "rules": [{"id": str(i), **rule} for i, rule in enumerate(rules)]})

    def told(self, kind, ns, name):
        """Its conditions; those of an inventory's exports as sink:Synced."""
        status = self.sandbox.call("GET", place(kind, ns, name)).get("status", {})
        told = {c["type"]: f"{c['status']}/{c['reason']}" for c in status.get("conditions", [])}
        for entry in status.get("sinkExports", []):
            told.update({f"{entry['name']}:{c['type']}": f"{c['status']}/{c['reason']}" for c in entry.get("conditions", [])})
        return told

    def expect(self, kind, ns, name, *told):
        """Each "Type=Status/Reason"; types that are not named do not matter, "-Type" may not be there."""
        wanted = dict(one.split("=") for one in told if "=" in one)
        absent = {one[1:] for one in told if one.startswith("-")}

        def fits():
            now = self.told(kind, ns, name)
            return wanted.items() <= now.items() and not absent & now.keys()

        try:
            op.until(f"{kind} {ns}/{name}: {told}", fits)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.told(kind, ns, name)}") from None

    def stopped_by(self, kind, ns, name, reason):
        self.expect(kind, ns, name, f"Degraded=True/{reason}", "-Ready")

    def message(self, kind, ns, name, condition="Degraded"):
        return next(c["message"] for c in self.sandbox.call("GET", place(kind, ns, name))["status"]["conditions"] if c["type"] == condition)

    def looked_at(self, *one):
        self.sandbox.patch(place(*one), metadata={"annotations": {"kollect.dev/requestedAt": str(time.monotonic_ns())}})
        return self.told(*one)

    def gone(self, kind, ns, name):
        self.sandbox.ask("DELETE", place(kind, ns, name))
        op.until(f"{kind} {ns}/{name} is gone", lambda: self.sandbox.ask("GET", place(kind, ns, name))[0] == 404)


class Reasons(Conditions):
    def test_of_targets(self):
        wrong = m.profile("fine", "wrong", "ConfigMap", {"name": "v", "path": "cel:int(object.data.v)"})
        self.begin(
            team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"]) + team("bare") + wrong
            + m.target("fine", "unnamed", "") + m.target("fine", "lost", "nowhere") + m.target("fine", "wrong", "wrong", includedNamespaces=["fine"])
            + m.profile("fine", "odd", "Oddity") + m.target("fine", "odd", "odd")
            + cluster_target("maps", "fine") + cluster_target("wrong", "fine", "wrong") + cluster_target("odd", "fine", "odd"))
        self.expect("target", "fine", "maps", "Ready=True/Collecting", "Synced=True/Collecting", "SinkReachable=True/SinksReachable", "-Degraded")
        self.expect("target", "bare", "maps", "Ready=True/Collecting", "SinkReachable=True/NoSinksInNamespace")
        self.expect("ctarget", "", "maps", "Ready=True/Collecting", "Synced=True/Collecting", "-SinkReachable")
        self.stopped_by("target", "fine", "unnamed", "MissingProfileRef")
        self.stopped_by("target", "fine", "lost", "ProfileNotFound")
        for kind in ("target", "ctarget"):
            self.stopped_by(kind, "fine", "wrong", "ExtractionFailed")
            self.assertIn("1 object gave no row", self.message(kind, "fine", "wrong"))
            self.stopped_by(kind, "fine", "odd", "InformerRegistrationFailed")
        self.sandbox.patch(place("target", "fine", "maps"), spec={"suspend": True})
        self.stopped_by("target", "fine", "maps", "Suspended")

    def test_of_inventories(self):
        folder = pathlib.Path(self.folder)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "rows.git")], check=True)
        git = m.document("KollectSnapshotSink", "large", "git", {"type": "git", "endpoint": f"file://{folder}/rows.git"})
        self.begin(
            team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"], exportMinInterval="0s") + team("bare")
            + team("half", m.sqlite_sink("half", "half.db"), postgres("half"), databaseSinkRefs=["file", "pg"])
            + team("large", git, snapshotSinkRefs=["git"]) + rollup("large", "large", "git", family="snapshot")
            + team("many", m.sqlite_sink("many", "many.db"), databaseSinkRefs=["file"]) + m.target("many", "all", "maps", includedNamespaces=["load-0000"])
            + cluster_target("maps", "fine")
            + rollup("fine", "fine", "file", exportMinInterval="0s") + rollup("half", "half", "file", "pg")
            + m.document("KollectClusterInventory", None, "odd", {"targetSelector": {"matchExpressions": [{"key": "a", "operator": "Sometimes"}]}}),
            "--max-export-bytes", "700", "--allow-local-sinks", generate=("--generate", "ConfigMap=1800", "--namespaces", "1"))
        self.expect("inventory", "fine", "all", "Ready=True/Exported", "Synced=True/Exported", "SinkReachable=True/ExportSucceeded")
        self.expect("cinventory", "", "fine", "Ready=True/Exported", "Synced=True/Exported", "ExportSucceeded=True/Exported",
                    "SinkReachable=True/ExportSucceeded")
        for kind, ns, name in (("inventory", "fine", "all"), ("cinventory", "", "fine")):
            self.expect(kind, ns, name, "database/file:Synced=True/Exported")
        self.expect("inventory", "bare", "all", "Ready=True/NoExport", "Synced=True/NoExport", "SinkReachable=True/NoSinksConfigured")
        for kind, ns, name in (("inventory", "half", "all"), ("cinventory", "", "half")):
            self.expect(kind, ns, name, "Ready=True/PartiallySynced", "Synced=False/PartiallySynced", "SinkReachable=False/ExportFailed",
                        "database/pg:Synced=False/ExportFailed")
            op.until(f"{kind} has nothing new", lambda one=(kind, ns, name): self.looked_at(*one).get("database/file:Synced") == "False/Debounced")
        for kind, ns, name in (("inventory", "large", "all"), ("cinventory", "", "large")):
            self.expect(kind, ns, name, "Degraded=True/PayloadTooLarge", "Synced=False/PayloadTooLarge", "SinkReachable=False/ExportTerminal", "-Ready")
        self.stopped_by("cinventory", "", "odd", "InformerRegistrationFailed")
        self.expect("inventory", "many", "all", "ExportShardWarning=True/ApproachingExportCap")
        self.sandbox.patch(place("target", "many", "all"), spec={"suspend": True})
        self.expect("inventory", "many", "all", "-ExportShardWarning")

    def test_of_sinks(self):
        """The same reasons on targets, inventories and cluster inventories that use the sink."""
        keyless = m.document("KollectDatabaseSink", "keyless", "pg",
                             {"type": "postgres", "connectionTest": False, "postgres": {"databaseRef": {"name": "none"}, "table": "t"}})
        odd = m.document("KollectDatabaseSink", "odd", "pg", {"type": "sqlite", "sqlite": {"path": "o.db"}, "exportMinInterval": "soon"})
        down = m.document("KollectDatabaseSink", "down", "pg", {"type": "sqlite", "sqlite": {"path": "../o.db"}})
        outside = m.document("KollectDatabaseSink", "outside", "pg", {"type": "sqlite", "connectionTest": False, "sqlite": {"path": "../o.db"}})
        reasons = {"lost": "SinkNotFound", "keyless": "SecretResolveFailed", "odd": "SinkLookupFailed", "down": "SinkUnreachable"}
        self.begin(
            team("lost", databaseSinkRefs=["pg"]) + team("keyless", keyless, databaseSinkRefs=["pg"]) + team("odd", odd, databaseSinkRefs=["pg"])
            + team("down", down, databaseSinkRefs=["pg"]) + team("outside", outside, databaseSinkRefs=["pg"])
            + team("dead", postgres("dead"), databaseSinkRefs=["pg"])
            + cluster_target("maps", "lost") + "".join(rollup(ns, ns, "pg") for ns in (*reasons, "outside", "dead")))
        for ns, reason in reasons.items():
            self.expect("target", ns, "maps", f"Degraded=True/{reason}", f"SinkReachable=False/{reason}", "-Ready", "-Synced")
            for kind, name in (("inventory", "all"), ("cinventory", ns)):
                self.expect(kind, ns, name, f"Degraded=True/{reason}", f"Synced=False/{reason}", f"SinkReachable=False/{reason}",
                            "database/pg:Synced=False/ExportFailed", "-Ready")
        for ns, reason, reachable in (("outside", "ExportTerminal", "ExportTerminal"), ("dead", "Progressing", "ExportFailed")):
            for kind, name in (("inventory", "all"), ("cinventory", ns)):
                self.expect(kind, ns, name, f"Degraded=True/{reason}", f"Synced=False/{reason}", f"SinkReachable=False/{reachable}", "-Ready")

    def test_of_probes(self):
        folder = pathlib.Path(self.folder)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "rows.git")], check=True)
        kinds = {"KollectSnapshotSink": {"type": "git", "endpoint": f"file://{folder}/rows.git"},
                 "KollectDatabaseSink": {"type": "sqlite", "sqlite": {"path": "p.db"}},
                 "KollectEventSink": {"type": "kafka", "kafka": {"brokers": ["b:9092"], "topic": "t"}}}
        self.begin(m.namespace("ops") + "".join(
            m.document(kind, "ops", "plain", {**spec, "tls": {"insecureSkipVerify": True}}) + m.document(kind, "ops", "keyless", {**spec, "secretRef": {"name": "none"}})
            for kind, spec in kinds.items()), "--allow-local-sinks")
        for kind in kinds:
            self.expect(kind.lower() + "s", "ops", "keyless", "ConnectionVerified=False/SecretResolveFailed", "Degraded=True/SecretResolveFailed", "-TLSInsecure")
        for kind in ("kollectsnapshotsinks", "kollectdatabasesinks"):
            self.expect(kind, "ops", "plain", "ConnectionVerified=True/ConnectionOK", "TLSInsecure=True/InsecureSkipVerify", "-Degraded")
        self.expect("kollecteventsinks", "ops", "plain", "ConnectionVerified=False/ConnectionTestFailed", "Degraded=True/ConnectionTestFailed", "-TLSInsecure")
        shutil.rmtree(folder / "rows.git")
        self.sandbox.patch(place("snapshot", "ops", "plain"), metadata={"annotations": {"kollect.dev/requestedAt": "2026-02-03T04:05:06Z"}})
        self.expect("snapshot", "ops", "plain", "ConnectionVerified=False/ConnectionTestFailed", "Degraded=True/ConnectionTestFailed")

    def test_while_the_first_list_is_on_its_way(self):
        self.begin(team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"]) + cluster_target("maps", "fine")
                   + rollup("all", "fine", "file"), faults=[{"do": "error", "code": 503, "verbs": ["list", "watch"], "resources": ["configmaps"]}])
        for one in (("target", "fine", "maps"), ("inventory", "fine", "all"), ("cinventory", "", "all")):
            self.expect(*one, "Ready=Unknown/Collecting", "SinkReachable=True/SinksReachable", "-Degraded")
        self.expect("ctarget", "", "maps", "Ready=Unknown/Collecting", "-Degraded")
        self.faults()
        for kind, ns, name in (("inventory", "fine", "all"), ("cinventory", "", "all")):
            self.expect(kind, ns, name, "Ready=True/Exported")


    def test_kinds_of_ours_that_cannot_be_listed(self):
        for without, told in (("KollectTarget", {"inventory": "targets"}), ("KollectClusterTarget", {"cinventory": "cluster targets"}),
                              ("KollectInventory", {"cinventory": "inventories"})):
            with self.subTest(without):
                self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
                documents = (team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"]) + cluster_target("maps", "fine")
                             + rollup("all", "fine", "file")).split("---\n")
                self.begin("---\n".join(one for one in documents if f'"kind": "{without}"' not in one), without=(without,))
                for kind, what in told.items():
                    self.expect(kind, "fine", "all", "Ready=Unknown/Collecting", "SinkReachable=True/SinksReachable")
                    self.assertIn(f"{what}, which cannot be listed", self.message(kind, "fine", "all", "Ready"))


class Rights(Conditions):
    def test_what_may_not_be_read_is_told_and_comes_right(self):
        """On the fast clock: refused lists are tried again after pauses."""
        ours = {kind: (f"{kind}.kollect.dev", ()) for kind in ("kollectprofiles", "kollectinventories", "kollectdatabasesinks")}
        self.begin(team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"]) + m.namespace("closed")
                   + m.target("fine", "two", "maps", includedNamespaces=["fine", "closed"])
                   + cluster_target("maps", "fine") + cluster_target("two", "fine", includedNamespaces=["fine", "closed"]) + rollup("all", "fine", "file"),
                   access=[*ours.values(), ("configmaps", ["closed"])], program=harness.FAST)
        self.stopped_by("target", "fine", "maps", "ProfileForbidden")
        self.stopped_by("ctarget", "", "maps", "ProfileForbidden")
        self.access(ours["kollectinventories"], ours["kollectdatabasesinks"], ("configmaps", ["closed"]))
        self.expect("target", "fine", "maps", "Degraded=True/InventoryListFailed", "SinkReachable=False/InventoryListFailed")
        self.access(ours["kollectdatabasesinks"], ("configmaps", ["closed"]))
        self.expect("target", "fine", "maps", "Degraded=True/SinkForbidden", "SinkReachable=False/SinkForbidden")
        for kind, ns in (("inventory", "fine"), ("cinventory", "")):
            self.expect(kind, ns, "all", "Degraded=True/SinkForbidden", "Synced=False/SinkForbidden", "SinkReachable=False/SinkForbidden")
        self.access(("configmaps", ["closed"]))
        self.expect("target", "fine", "maps", "Ready=True/Collecting")
        for kind, ns in (("target", "fine"), ("ctarget", "")):
            self.expect(kind, ns, "two", "Ready=True/Collecting", "Synced=True/ScopeForbidden")
            self.assertIn("closed", self.message(kind, ns, "two", "Synced"))
        # Nobody says any more what may be read.
        self.faults({"do": "error", "code": 500, "resources": ["selfsubjectaccessreviews.authorization.k8s.io"]})
        for kind, ns in (("target", "fine"), ("ctarget", "")):
            self.stopped_by(kind, ns, "two", "AccessCheckFailed")
        self.faults()
        for kind, ns in (("target", "fine"), ("ctarget", "")):
            self.expect(kind, ns, "two", "Ready=True/Collecting")


class Deletion(Conditions):
    def test_every_kind_goes_also_with_its_sink_or_secret_gone(self):
        """No finalizer waits for something that there is no more."""
        self.begin(
            team("fine", m.sqlite_sink("fine", "fine.db"), databaseSinkRefs=["file"])
            + team("gone", m.sqlite_sink("gone", "gone.db"), databaseSinkRefs=["file"])
            + team("keyless", postgres("keyless"), databaseSinkRefs=["pg"])
            + m.inventory("gone", "odd", exportMinInterval="soon", databaseSinkRefs=["file"]) + rollup("odd", "gone", "file", exportMinInterval="soon")
            + m.document("KollectScope", "fine", "limits", {}) + m.document("KollectClusterScope", None, "limits", {})
            + m.document("KollectEventSink", "fine", "bus", {"type": "kafka", "kafka": {"brokers": ["b:9092"], "topic": "t"}})
            + m.git_sink("fine", "https://git.example/r.git")
            + m.document("KollectConnectionTest", "fine", "probe", {"sinkRef": {"databaseSinkRef": "file"}, "ownerSink": False})
            + cluster_target("maps", "fine") + rollup("fine", "fine", "file") + rollup("gone", "gone", "file") + rollup("keyless", "keyless", "pg"))
        for ns in ("fine", "gone"):
            for kind, name in (("inventory", "all"), ("cinventory", ns)):
                self.expect(kind, ns, name, "Ready=True/Exported")
        for kind, name in (("inventory", "all"), ("cinventory", "keyless")):
            self.expect(kind, "keyless", name, "Degraded=True/Progressing")
        # With a spec that makes no sense.
        for kind, ns in (("inventory", "gone"), ("cinventory", "")):
            self.expect(kind, ns, "odd", "Degraded=True/ExportTerminal")
            self.gone(kind, ns, "odd")
        # With the sink, or its Secret, gone.
        self.gone("database", "gone", "file")
        self.sandbox.call("DELETE", "/api/v1/namespaces/keyless/secrets/pg")
        for ns in ("gone", "keyless"):
            self.gone("inventory", ns, "all")
            self.gone("cinventory", "", ns)
            self.gone("target", ns, "maps")
        # With everything there: in an order that takes from each what it needs.
        for kind, name in (("kollectclusterscopes", "limits"), ("kollectscopes", "limits"), ("kollectprofiles", "maps"), ("target", "maps"), ("ctarget", "maps"),
                           ("inventory", "all"), ("cinventory", "fine"), ("kollectconnectiontests", "probe"), ("database", "file"), ("snapshot", "git"),
                           ("kollecteventsinks", "bus")):
            self.gone(kind, "fine", name)
        self.assertEqual(harness.sqlite_rows(pathlib.Path(self.folder) / "fine.db", "SELECT count(*) FROM inventory_rows"), [(0,)])

    def test_a_backend_that_does_not_answer_is_told_and_can_be_given_up(self):
        self.begin(team("sink", postgres("sink"), databaseSinkRefs=["pg"]) + team("kept", postgres("kept"), databaseSinkRefs=["pg"])
                   + cluster_target("maps", "sink") + rollup("all", "sink", "pg"))
        held = (("inventory", "sink", "all"), ("inventory", "kept", "all"), ("cinventory", "", "all"))
        for one in held:
            self.expect(*one, "Degraded=True/Progressing")
            self.sandbox.ask("DELETE", place(*one))
        for one in held:
            op.until(f"{one} says what it waits for", lambda one=one: "is not removed yet" in self.message(*one))
            self.expect(*one, "Degraded=True/Progressing", "Synced=False/Progressing", "-Ready", "-ExportSucceeded")
        self.sandbox.patch(place(*held[1]), metadata={"annotations": {"kollect.dev/deletion-policy": "retain"}})
        self.sandbox.call("DELETE", place("database", "sink", "pg"))
        for one in held:
            op.until(f"{one} is gone", lambda one=one: self.sandbox.ask("GET", place(*one))[0] == 404)


if __name__ == "__main__":
    harness.main()
