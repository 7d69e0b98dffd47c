#!/usr/bin/env python3
"""KollectClusterTarget in a running operator, on the sandbox: which namespaces and objects it takes, and what stops it."""
import json

import harness
import operator_test as op
from sandbox import Sandbox

API = "/apis/kollect.dev/v1alpha1/"
TARGETS = API + "kollectclustertargets"
NAMESPACES = {
    "atlas": ({"zone": "east", "tier": "prod"}, {}),
    "boreas": ({"zone": "east", "tier": "test"}, {}),
    "corvus": ({"zone": "west", "tier": "prod", "kollect.dev/watch": "disabled"}, {}),
    "draco": ({}, {"kollect.dev/namespace-watch": "enabled"}),
    "ops": ({}, {}),
}
DEPLOYMENTS = [("atlas", "api", {"app": "api"}), ("atlas", "web", {"app": "web", "kollect.dev/watch": "disabled"}), ("boreas", "api", {"app": "api"}),
               ("corvus", "api", {"app": "api"}), ("corvus", "pin", {"app": "pin", "kollect.dev/watch": "enabled"}), ("draco", "api", {"app": "api"})]
DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment"}


def namespace(name, labels, annotations):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels, "annotations": annotations}}


def deployment(ns, name, labels):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": ns, "labels": labels},
            "spec": {"selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


def ours(kind, name, ns=None, **spec):
    return {"apiVersion": "kollect.dev/v1alpha1", "kind": kind, "metadata": {"name": name, **({"namespace": ns} if ns else {})}, "spec": spec}


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


class ClusterTargets(op.Scenario):
    def setUp(self):
        super().setUp()
        kinds = [namespace(name, *maps) for name, maps in NAMESPACES.items()] + [deployment(*one) for one in DEPLOYMENTS]
        kinds += [node("n1"), node("n2", **{"kollect.dev/watch": "disabled"}), node("n3")]
        for ns in ("ops", "atlas"):
            kinds.append(ours("KollectProfile", "apps", ns, targetGVK=DEPLOYMENT, attributes=[{"name": "n", "path": "$.metadata.name"}]))
        kinds.append(ours("KollectProfile", "nodes", "ops", targetGVK={"version": "v1", "kind": "Node"},
                          attributes=[{"name": "n", "path": "$.metadata.name"}]))
        kinds.append(ours("KollectClusterTarget", "images", profileRef={"namespace": "ops", "name": "apps"},
                          namespaceSelector={"matchLabels": {"tier": "prod"}}))
        self.sandbox = Sandbox(self.folder, "---\n".join(json.dumps(one) + "\n" for one in kinds))
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.operator("--target-count-resync", "1s")  # rows that come alone are counted then

    def stands(self, name="images"):
        """(effective namespaces, what the conditions say)"""
        status = self.sandbox.call("GET", f"{TARGETS}/{name}").get("status", {})
        told = {c["type"]: c["message"] if c["status"] == "True" and c["type"] == "Ready" else f"{c['status']}/{c['reason']}"
                for c in status.get("conditions", [])}
        return status.get("effectiveNamespaces", []), told.get("Degraded") or told.get("Ready")

    def expect(self, namespaces, told, name="images"):
        op.until(f"{name}: {namespaces}, {told}", lambda: self.stands(name) == (namespaces, told))

    def test_namespaces_come_go_and_are_cut_by_a_scope(self):
        both = "profile ops/apps: 2 namespaces, 2 resources"
        self.expect(["atlas", "corvus"], both)  # T1
        scope = API + "kollectclusterscopes"
        self.sandbox.call("POST", scope, ours("KollectClusterScope", "limits", deniedNamespaces=["corvus"]))
        self.expect(["atlas"], "profile ops/apps: 1 namespace, 1 resource")  # T2
        self.sandbox.patch(scope + "/limits", spec={"deniedNamespaces": None, "allowedGVKs": [{"version": "v1", "kind": "Node"}]})
        self.expect(["atlas", "corvus"], "True/ScopeGVKDenied")
        self.sandbox.patch(scope + "/limits", spec={"allowedGVKs": None, "allowedStaticRefNamespaces": ["atlas"]})
        op.until("the profile's namespace is not allowed", lambda: self.stands()[1] == "True/ScopeNamespaceDenied")
        profile = API + "namespaces/ops/kollectprofiles/apps"
        self.sandbox.patch(profile, spec={"export": {"mode": "Resource"}})
        self.sandbox.patch(scope + "/limits", spec={"allowedStaticRefNamespaces": None, "allowResourceExport": False})
        self.expect(["atlas", "corvus"], "True/ScopeResourceExportDenied")
        self.sandbox.patch(profile, spec={"export": None})
        self.expect(["atlas", "corvus"], both)
        self.sandbox.call("DELETE", scope + "/limits")
        self.sandbox.patch("/api/v1/namespaces/corvus", metadata={"labels": {"tier": None}})
        self.expect(["atlas"], "profile ops/apps: 1 namespace, 1 resource")  # T3
        self.sandbox.call("POST", "/api/v1/namespaces", namespace("eos", {"tier": "prod"}, {}))
        self.sandbox.call("POST", "/apis/apps/v1/namespaces/eos/deployments", deployment("eos", "api", {}))
        self.expect(["atlas", "eos"], "profile ops/apps: 2 namespaces, 2 resources")  # T4

    def test_states(self):
        target = f"{TARGETS}/images"
        self.expect(["atlas", "corvus"], "profile ops/apps: 2 namespaces, 2 resources")
        self.sandbox.patch(target, spec={"suspend": True})
        op.until("Suspended", lambda: self.stands()[1] == "True/Suspended")
        self.sandbox.patch(target, spec={"suspend": False, "profileRef": {"name": "later"}})
        op.until("ProfileNotFound", lambda: self.stands()[1] == "True/ProfileNotFound")
        self.sandbox.call("POST", API + "namespaces/ops/kollectprofiles",
                          ours("KollectProfile", "later", "ops", targetGVK=DEPLOYMENT, attributes=[{"name": "n", "path": "$.metadata.name"}]))
        self.expect(["atlas", "corvus"], "profile ops/later: 2 namespaces, 2 resources")
        self.assertEqual(self.sandbox.call("GET", target)["metadata"]["finalizers"], ["kollect.dev/cluster-target-cleanup"])
        self.sandbox.ask("DELETE", target)
        op.until("it is gone", lambda: self.sandbox.ask("GET", target)[0] == 404)

    def test_rows_do_not_mix_and_nodes_have_no_namespace(self):
        self.expect(["atlas", "corvus"], "profile ops/apps: 2 namespaces, 2 resources")
        atlas = API + "namespaces/atlas/"
        self.sandbox.call("POST", atlas + "kollecttargets",
                          ours("KollectTarget", "images", "atlas", profileRef="apps", includedNamespaces=["atlas"]))
        self.sandbox.call("POST", atlas + "kollectinventories", ours("KollectInventory", "all", "atlas"))

        def inventory():
            return self.sandbox.call("GET", atlas + "kollectinventories/all").get("status", {}).get("itemCount")

        op.until("the namespaced target's row alone", lambda: inventory() == 1)  # T5
        self.sandbox.ask("DELETE", f"{TARGETS}/images")
        op.until("it is gone", lambda: self.sandbox.ask("GET", f"{TARGETS}/images")[0] == 404)
        self.sandbox.call("POST", TARGETS, ours("KollectClusterTarget", "nodes", profileRef={"namespace": "ops", "name": "nodes"},
                                                namespaceSelector={"matchLabels": {"tier": "prod"}}))
        self.expect([], "profile ops/nodes: 0 namespaces, 2 resources", "nodes")  # T6
        self.assertEqual(inventory(), 1)


if __name__ == "__main__":
    harness.main()
