#!/usr/bin/env python3
"""Which rows the operator has, and when: every change that makes an object fit or no longer fit, seen in the file of a SQLite sink."""
import json
import pathlib

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

OPS = "/apis/kollect.dev/v1alpha1/namespaces/ops/"
FIXTURE = harness.ROOT / "tests/cases/select/fixture.yaml"
CASES = json.loads((harness.ROOT / "tests/cases/select/aggregation.json").read_text(encoding="utf-8"))
REPLICAS = {"name": "replicas", "path": "cel:object.spec.replicas", "type": "int"}
BASE = (m.namespace("ops")
        + "".join(m.profile(ns, "deployments", "Deployment", REPLICAS, group="apps") for ns in ("ops", "draco"))
        + m.sqlite_sink("ops", "rows.db") + m.inventory("ops", databaseSinkRefs=["file"]))


def deployment(ns, name):
    return f"/apis/apps/v1/namespaces/{ns}/deployments/{name}"


class Selection(op.Scenario):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(pathlib.Path(self.folder), FIXTURE.read_text(encoding="utf-8") + BASE)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.operator("--sqlite-dir", str(self.folder))

    def tearDown(self):
        super().tearDown()
        self.sandbox.stop()

    def target(self, name="t", ns="ops", **spec):
        self.sandbox.call("POST", f"/apis/kollect.dev/v1alpha1/namespaces/{ns}/kollecttargets",
                          {"apiVersion": "kollect.dev/v1alpha1", "kind": "KollectTarget", "metadata": {"name": name, "namespace": ns},
                           "spec": {"profileRef": "deployments", **spec}})

    def change(self, name="t", **spec):
        self.sandbox.patch(OPS + "kollecttargets/" + name, spec=spec)

    def ask(self, query):
        return harness.sqlite_rows(pathlib.Path(self.folder) / "rows.db", query)

    def rows(self):
        found = self.ask("SELECT target_name, namespace, name FROM inventory_rows")
        return None if found is None else sorted(f"{t}: {ns}/{name}" for t, ns, name in found)

    def become(self, what, *rows):
        op.until(f"{what}: {rows}", lambda: self.rows() == sorted(f"t: {row}" if ": " not in row else row for row in rows))

    def condition(self, kind, name, ns="ops"):
        status = self.sandbox.call("GET", f"/apis/kollect.dev/v1alpha1/namespaces/{ns}/{kind}/{name}").get("status", {})
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in status.get("conditions", [])}

    def test_objects_and_namespaces_change(self):
        self.target(labelSelector={"matchLabels": {"app": "api"}})
        self.become("at first", "atlas/api", "boreas/api", "draco/api")
        boreas = deployment("boreas", "api")
        self.sandbox.patch(boreas, metadata={"labels": {"app": "other"}})
        self.become("no longer fits", "atlas/api", "draco/api")
        self.sandbox.patch(boreas, metadata={"labels": {"app": "api"}})
        self.become("fits again", "atlas/api", "boreas/api", "draco/api")
        self.sandbox.patch(boreas, metadata={"labels": {"kollect.dev/watch": "disabled"}})
        self.become("opted out", "atlas/api", "draco/api")
        self.sandbox.patch(boreas, metadata={"labels": {"kollect.dev/watch": None}})
        self.become("opted in again", "atlas/api", "boreas/api", "draco/api")
        self.sandbox.patch("/api/v1/namespaces/boreas", metadata={"annotations": {"kollect.dev/namespace-watch": "disabled"}})
        self.become("its namespace opted out by annotation", "atlas/api", "draco/api")
        self.sandbox.patch("/api/v1/namespaces/boreas", metadata={"annotations": {"kollect.dev/namespace-watch": None}})
        self.sandbox.patch("/api/v1/namespaces/corvus", metadata={"labels": {"kollect.dev/watch": None}})
        self.become("two namespaces opted in", "atlas/api", "boreas/api", "corvus/api", "draco/api")
        self.sandbox.patch(boreas, spec={"replicas": None})
        self.become("extraction fails", "atlas/api", "corvus/api", "draco/api")
        self.sandbox.patch(boreas, spec={"replicas": 3})
        self.become("extraction succeeds", "atlas/api", "boreas/api", "corvus/api", "draco/api")
        self.sandbox.call("DELETE", boreas)
        self.become("deleted", "atlas/api", "corvus/api", "draco/api")

    def test_a_new_object_of_an_old_name(self):
        self.target(includedNamespaces=["atlas"])
        self.become("at first", "atlas/api")
        old = self.sandbox.call("GET", deployment("atlas", "api"))
        for _ in range(5):
            before = self.ask("SELECT uid FROM inventory_rows")
            self.sandbox.call("DELETE", deployment("atlas", "api"))
            self.sandbox.call("POST", "/apis/apps/v1/namespaces/atlas/deployments",
                              {**old, "metadata": {"name": "api", "namespace": "atlas", "labels": old["metadata"]["labels"]}})
            op.until("one row of the new uid", lambda before=before: self.ask("SELECT uid FROM inventory_rows") != before and self.rows() == ["t: atlas/api"])
        uids = self.ask("SELECT uid FROM inventory_rows")
        self.assertEqual(uids, [(self.sandbox.call("GET", deployment("atlas", "api"))["metadata"]["uid"],)])

    def test_the_target_changes(self):
        self.target()
        self.become("all", "atlas/api", "boreas/api", "corvus/pin", "draco/api")
        self.change(includedNamespaces=["atlas", "corvus"])
        self.become("two namespaces", "atlas/api", "corvus/pin")
        self.change(includedNamespaces=None, namespaceSelector={"matchLabels": {"zone": "east"}})
        self.become("a selector of namespaces", "atlas/api", "boreas/api")
        self.sandbox.patch("/api/v1/namespaces/draco", metadata={"labels": {"zone": "east"}})
        self.become("a namespace comes to fit", "atlas/api", "boreas/api", "draco/api")
        self.sandbox.patch("/api/v1/namespaces/atlas", metadata={"labels": {"zone": "north"}})
        self.become("a namespace no longer fits", "boreas/api", "draco/api")
        self.change(namespaceSelector=None, watchMode="OptIn")
        self.become("opt in", "corvus/pin", "draco/api")
        self.change(watchMode="All", names=["pin"])
        self.become("names", "corvus/pin")
        self.change(names=None, resourceRules=[{"gvk": {"group": "apps", "version": "v1", "kind": "Deployment"}, "matchPolicy": "object.spec.replicas == 0"}])
        self.become("a rule", "draco/api")
        self.sandbox.patch(deployment("boreas", "api"), spec={"replicas": 0})
        self.become("an object comes to fit the rule", "boreas/api", "draco/api")
        self.change(resourceRules=[{"gvk": {"group": "apps", "version": "v1", "kind": "StatefulSet"}}])
        self.become("another kind", "atlas/db")
        self.change(suspend=True)
        self.become("suspended")
        op.until("Suspended", lambda: self.condition("kollecttargets", "t").get("Degraded") == "True/Suspended")
        self.change(suspend=False)
        self.become("not suspended", "atlas/db")
        self.sandbox.call("DELETE", OPS + "kollecttargets/t")
        self.become("deleted")

    def test_profiles_and_scopes(self):
        self.target()
        everything = ("atlas/api", "boreas/api", "corvus/pin", "draco/api")
        self.become("all", *everything)
        profile = OPS + "kollectprofiles/deployments"
        self.sandbox.patch(profile, spec={"targetGVK": {"group": "apps", "version": "v1", "kind": "StatefulSet"}})
        self.become("I5: the profile names another kind", "atlas/db")
        self.sandbox.patch(profile, spec={"targetGVK": {"kind": "Deployment"}})
        self.become("and the first again", *everything)
        self.sandbox.patch(profile, spec={"attributes": [{"name": "pin", "path": "cel:object.metadata.labels['kollect.dev/watch']"}]})
        self.become("only one object has the attribute", "corvus/pin")
        kept = self.sandbox.call("GET", profile)
        self.sandbox.call("DELETE", profile)
        self.become("no profile")
        op.until("ProfileNotFound", lambda: self.condition("kollecttargets", "t").get("Degraded") == "True/ProfileNotFound")
        kept["metadata"] = {"name": "deployments", "namespace": "ops"}
        kept["spec"]["attributes"] = [REPLICAS]
        self.sandbox.call("POST", OPS + "kollectprofiles", kept)
        self.become("the profile is back", *everything)
        self.sandbox.call("POST", OPS + "kollectscopes", {
            "apiVersion": "kollect.dev/v1alpha1", "kind": "KollectScope", "metadata": {"name": "scope", "namespace": "ops"},
            "spec": {"allowedGVKs": [{"group": "", "version": "v1", "kind": "Pod"}]}})
        # A scope that tightens ends collection; what was exported stays.
        op.until("ScopeGVKDenied", lambda: self.condition("kollecttargets", "t").get("Degraded") == "True/ScopeGVKDenied")
        op.until("no rows in memory", lambda: self.sandbox.call("GET", OPS + "kollectinventories/all")["status"]["itemCount"] == 0)
        self.sandbox.call("DELETE", deployment("draco", "api"))
        self.assertEqual(self.rows(), sorted(f"t: {row}" for row in everything))
        self.sandbox.call("DELETE", OPS + "kollectscopes/scope")
        self.become("no scope", *everything[:3])

    def test_a_suspended_inventory(self):
        self.target(includedNamespaces=["atlas"])
        self.become("at first", "atlas/api")
        self.sandbox.patch(OPS + "kollectinventories/all", spec={"suspend": True})
        op.until("Suspended", lambda: "Suspended" in " ".join(self.condition("kollectinventories", "all").values()))
        self.change(includedNamespaces=["atlas", "boreas"])
        op.until("the target goes on", lambda: "boreas" in self.sandbox.call("GET", OPS + "kollecttargets/t")["status"]["effectiveNamespaces"])
        self.assertEqual(self.rows(), ["t: atlas/api"])
        self.sandbox.patch(OPS + "kollectinventories/all", spec={"suspend": False})
        self.become("lifted", "atlas/api", "boreas/api")

    def test_inventories_hold_the_rows_of_their_namespace(self):
        for case in CASES["inventories"]:
            if case["case"] not in ("I1", "I2", "I3", "I4"):
                continue
            with self.subTest(case["case"]):
                for one in case["targets"]:
                    self.target(one["name"], one.get("namespace", "ops"), **{k: v for k, v in one["spec"].items() if k != "profileRef"})
                self.become(case["case"], *(row.removeprefix("ops/") for row in case["rows"]))
                for one in case["targets"]:
                    self.sandbox.call("DELETE", f"/apis/kollect.dev/v1alpha1/namespaces/{one.get('namespace', 'ops')}/kollecttargets/{one['name']}")
                self.become("no targets")


if __name__ == "__main__":
    harness.main()
