#!/usr/bin/env python3
"""KollectScope in a running operator, on the sandbox: what it stops in its namespace, and what it means when it cannot be read."""
import time

import cluster_inventory_test as rollups
import cluster_kinds_test as kinds
import harness
import operator_test as op
from sandbox import Sandbox

OPS = kinds.API + "namespaces/ops/"
NODE = {"version": "v1", "kind": "Node"}


class Scopes(op.Scenario):
    def start(self, *flags, without=(), more=(), faults=(), program=harness.KOLLECT):
        name = [{"name": "n", "path": "$.metadata.name"}]
        made = [kinds.namespace(ns, *kinds.NAMESPACES[ns]) for ns in ("atlas", "ops")]
        made += [kinds.node("n1"), kinds.node("n2", **{"kollect.dev/watch": "disabled"}), kinds.node("n3"), kinds.deployment("ops", "api", {})]
        made += [kinds.ours("KollectProfile", "nodes", "ops", targetGVK=NODE, attributes=name),
                 kinds.ours("KollectProfile", "apps", "ops", targetGVK=kinds.DEPLOYMENT, attributes=name),
                 kinds.ours("KollectTarget", "nodes", "ops", profileRef="nodes"),
                 kinds.ours("KollectTarget", "apps", "ops", profileRef="apps", includedNamespaces=["ops"]),
                 kinds.ours("KollectDatabaseSink", "file", "ops", type="sqlite", sqlite={"path": "ops.db"}),
                 kinds.ours("KollectInventory", "all", "ops", databaseSinkRefs=[{"name": "file"}]), *more]
        self.sandbox = Sandbox(self.folder, "".join(map(rollups.document, made)), without=without)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.faults(*faults)
        self.operator("--sqlite-dir", str(self.folder), *flags, program=program)

    def faults(self, *rules):
        self.sandbox.call("PUT", "/sandbox/faults", {"seed": 1, "rules": list(rules)})

    def status(self, kind, name):
        return self.sandbox.call("GET", f"{OPS}{kind}/{name}").get("status", {})

    def expect(self, kind, name, condition, said):
        def says():
            return {c["type"]: f"{c['status']}/{c['reason']}" for c in self.status(kind, name).get("conditions", [])}.get(condition)

        op.until(f"{kind} {name}: {condition}={said}", lambda: says() == said)

    def scope(self, **spec):
        path = OPS + "kollectscopes"
        if self.sandbox.ask("GET", path + "/limits")[0] == 404:
            self.sandbox.call("POST", path, kinds.ours("KollectScope", "limits", "ops"))
        self.sandbox.patch(path + "/limits", spec=spec)

    def rows(self):
        found = harness.sqlite_rows(self.folder / "ops.db", "SELECT target_name, name FROM inventory_rows ORDER BY 1, 2")
        return None if found is None else [f"{target}: {name}" for target, name in found]

    def attributes(self, name):
        return next((text for text, in harness.sqlite_rows(self.folder / "ops.db", f"SELECT attributes FROM inventory_rows WHERE name = '{name}'") or []), None)

    def events(self):
        return {(e["type"], e["reason"]) for e in self.sandbox.call("GET", "/api/v1/events")["items"]}

    def test_kinds_without_namespaces(self):
        self.start()
        everything = ["apps: api", "nodes: n1", "nodes: n3"]
        op.until("no scope, no bound", lambda: self.rows() == everything)
        self.assertNotIn("effectiveNamespaces", self.status("kollecttargets", "nodes"))  # L-15
        self.scope(allowedNamespaces=["ops"])
        self.expect("kollecttargets", "nodes", "Degraded", "True/ScopeGVKDenied")  # C5
        self.expect("kollecttargets", "apps", "Ready", "True/Collecting")
        # What was exported stays (a scope stops, it does not erase), the rest goes on.
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/ops/deployments/api")
        op.until("the other target goes on", lambda: self.rows() == everything[1:])
        self.scope(allowedGVKs=[NODE, kinds.DEPLOYMENT])
        self.expect("kollecttargets", "nodes", "Ready", "True/Collecting")  # C6
        self.assertEqual(self.status("kollecttargets", "nodes")["collectedCount"], 2)
        self.scope(allowedGVKs=[kinds.DEPLOYMENT], allowedNamespaces=None)
        self.expect("kollecttargets", "nodes", "Degraded", "True/ScopeGVKDenied")
        self.scope(allowedGVKs=None, deniedNamespaces=["ops"])
        self.expect("kollecttargets", "apps", "Degraded", "True/ScopeNamespaceDenied")
        self.assertLessEqual({("Warning", "ScopeGVKDenied"), ("Warning", "ScopeNamespaceDenied")}, self.events())

    def test_tenants_have_no_kinds_without_namespaces(self):
        self.start("--tenant-mode", "--watch-namespaces", "ops")
        self.expect("kollecttargets", "nodes", "Degraded", "True/ScopeGVKDenied")
        self.expect("kollecttargets", "apps", "Ready", "True/Collecting")
        op.until("the others are exported", lambda: self.rows() == ["apps: api"])

    def test_sinks_and_intervals(self):
        self.start()
        op.until("exported", lambda: len(self.rows() or []) == 3)
        self.scope(databaseSinkRefs=["other"], minExportInterval="2m")
        self.expect("kollectinventories", "all", "Degraded", "True/ScopeSinkDenied")
        self.assertIn(("Warning", "ScopeSinkDenied"), self.events())
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/ops/deployments/api")
        self.scope(databaseSinkRefs=["file"])
        op.until("it goes on", lambda: self.rows() == ["nodes: n1", "nodes: n3"])
        self.expect("kollectinventories", "all", "Ready", "True/Exported")

        def interval():
            self.sandbox.patch(OPS + "kollectinventories/all", metadata={"annotations": {"kollect.dev/requestedAt": str(time.monotonic_ns())}})
            return self.status("kollectinventories", "all")["sinkExports"][0]["conditions"][0]["message"]

        op.until("the floor", lambda: "every 2m0s" in interval())

    def test_whole_objects(self):
        self.start()
        op.until("exported", lambda: len(self.rows() or []) == 3)
        self.sandbox.patch(OPS + "kollectprofiles/apps", spec={"export": {"mode": "Resource"}})
        op.until("the whole object", lambda: "resource" in (self.attributes("api") or ""))
        # What may not leave goes where it went, and nothing else does.
        self.scope(allowResourceExport=False)
        self.expect("kollecttargets", "apps", "Degraded", "True/ScopeResourceExportDenied")
        op.until("it goes", lambda: self.rows() == ["nodes: n1", "nodes: n3"])
        self.assertIn(("Warning", "ScopeResourceExportDenied"), self.events())
        self.sandbox.patch(OPS + "kollectprofiles/apps", spec={"export": {"mode": "Attributes"}})
        self.expect("kollecttargets", "apps", "Ready", "True/Collecting")
        op.until("it is back", lambda: self.rows() == ["apps: api", "nodes: n1", "nodes: n3"])
        self.assertNotIn("resource", self.attributes("api"))

    def test_a_right_taken_away_leaves_what_was_exported(self):
        """Losing a role is no change of what there is; the target says so, and others go on. Answers about rights are kept for
        half a minute: on the fast clock."""
        def access(*rules):
            self.sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": list(rules)})
            self.sandbox.call("POST", "/sandbox/restart")

        self.start(program=harness.FAST)
        op.until("exported", lambda: self.rows() == ["apps: api", "nodes: n1", "nodes: n3"])
        access({"effect": "deny", "verbs": ["list", "watch"], "resources": ["deployments.apps"]})
        self.expect("kollecttargets", "apps", "Degraded", "True/InformerRegistrationFailed")
        self.sandbox.call("POST", "/api/v1/nodes", kinds.node("n4"))
        op.until("others go on", lambda: "nodes: n4" in (self.rows() or []))
        self.assertEqual(self.rows(), ["apps: api", "nodes: n1", "nodes: n3", "nodes: n4"])
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/ops/deployments/api")
        access()
        self.expect("kollecttargets", "apps", "Ready", "True/Collecting")
        op.until("what went meanwhile goes", lambda: self.rows() == ["nodes: n1", "nodes: n3", "nodes: n4"])

    def test_a_right_taken_away_in_one_namespace_leaves_what_was_exported(self):
        """The other namespaces of the target go on, before and after a restart; when the right is back what went meanwhile goes."""
        def access(*rules):
            self.sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": list(rules)})
            self.sandbox.call("POST", "/sandbox/restart")

        def message():
            return {c["type"]: c["message"] for c in self.status("kollectinventories", "all").get("conditions", [])}.get("Ready", "")

        def other(verb, name):
            path = f"/apis/apps/v1/namespaces/ops/deployments{'' if verb == 'POST' else '/' + name}"
            self.sandbox.call(verb, path, kinds.deployment("ops", name, {}) if verb == "POST" else None)

        there = [kinds.deployment("atlas", "map", {}), kinds.deployment("atlas", "sea", {}),
                 kinds.ours("KollectTarget", "both", "ops", profileRef="apps", includedNamespaces=["ops", "atlas"])]
        flags = ("--tenant-mode", "--watch-namespaces", "ops,atlas")
        denied = {"effect": "deny", "verbs": ["list", "watch"], "resources": ["deployments.apps"], "namespaces": ["atlas"]}
        self.start(*flags, more=there, program=harness.FAST)
        everything = ["apps: api", "both: api", "both: map", "both: sea"]
        op.until("exported", lambda: self.rows() == everything)
        access(denied)
        self.expect("kollecttargets", "both", "Synced", "True/ScopeForbidden")
        other("POST", "new")
        with_new = ["apps: api", "apps: new", "both: api", "both: map", "both: new", "both: sea"]
        op.until("the other namespace goes on", lambda: self.rows() == with_new)
        op.until("it is told", lambda: "both in atlas" in message())
        # The first export of an operator that has never read the namespace.
        self.assertEqual(self.operators[-1].stop(), 0)
        other("DELETE", "new")
        self.operator("--sqlite-dir", str(self.folder), *flags, program=harness.FAST)
        op.until("compared", lambda: self.rows() == everything)
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/atlas/deployments/sea")
        access()
        self.expect("kollecttargets", "both", "Synced", "True/Collecting")
        op.until("what went meanwhile goes", lambda: self.rows() == ["apps: api", "both: api", "both: map"])

    def test_a_namespace_that_cannot_be_read_stops_no_other(self):
        there = [kinds.deployment("atlas", "map", {}), kinds.ours("KollectTarget", "apps", "atlas", profileRef="apps"),
                 kinds.ours("KollectProfile", "apps", "atlas", targetGVK=kinds.DEPLOYMENT, attributes=[{"name": "n", "path": "$.metadata.name"}])]
        profiles, scopes = ({"id": kind, "do": "error", "code": 403, "verbs": ["list", "watch"], "namespaces": ["atlas"], "resources": [f"{kind}.kollect.dev"]}
                            for kind in ("kollectprofiles", "kollectscopes"))
        self.start("--watch-namespaces", "ops,atlas", more=there, faults=(profiles, scopes))
        op.until("exported", lambda: self.rows() == ["apps: api", "nodes: n1", "nodes: n3"])
        self.expect("kollecttargets", "apps", "Ready", "True/Collecting")

        def other():
            status = self.sandbox.call("GET", OPS.replace("/ops/", "/atlas/") + "kollecttargets/apps").get("status", {})
            return {c["type"]: c["reason"] for c in status.get("conditions", [])}.get("Degraded")

        op.until("it is told where", lambda: other() == "ProfileForbidden")
        self.faults(scopes)
        op.until("the next one", lambda: other() == "ScopeLookupFailed")
        self.faults()
        op.until("it goes on", lambda: other() is None)

    def test_scopes_that_cannot_be_read_are_not_absent(self):
        self.start(without=("KollectScope",))
        self.expect("kollecttargets", "nodes", "Degraded", "True/ScopeLookupFailed")
        self.expect("kollectinventories", "all", "Degraded", "True/ScopeLookupFailed")
        self.assertEqual(self.rows() or [], [])


if __name__ == "__main__":
    harness.main()
