#!/usr/bin/env python3
"""Writes of `kollect fleet serve` that go beyond one record: parts of a cluster, batches, rollouts, restoring."""
import json

import harness
from fleet_test import READ, WRITE, Server


class Running(harness.Case):
    """A server with the harbour fleet."""
    STORE = "sqlite"

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder, self.STORE, "harbour.json")
        self.addCleanup(self.server.stop)

    def inputs(self, dns, what="platform-components"):
        status, body = self.server.read(f"/api/v2/flux/clusters/{dns}/{what}")
        self.assertEqual(status, 200)
        return {one["id"]: one for one in body["inputs"]}

    def ok(self, method, path, body=None, **headers):
        status, told = self.server.write(method, path, body, **headers)
        self.assertEqual(status, 200, told)
        return told

    def refused(self, status, method, path, body=None, **headers):
        got, told = self.server.write(method, path, body, **headers)
        self.assertEqual(got, status, told)
        return told["message"]


class Parts(Running):
    def test_one_component_of_one_cluster(self):
        before = self.server.read("/clusters/oslo-prod")[1]
        path = "/clusters/oslo-prod/platform_components/dash"
        after = self.ok("PUT", path, {"oci_tag": "canary"})
        for old, new in zip(before["platform_components"], after["platform_components"]):
            self.assertEqual(new, {"id": "dash", "enabled": True, "oci_tag": "canary"} if old["id"] == "dash" else old)
        self.assertEqual(self.server.read(path), (200, {"id": "dash", "enabled": True, "oci_tag": "canary"}))
        self.assertEqual(self.inputs("oslo-prod.harbour.test")["dash"]["source"]["oci_tag"], "canary")
        gone = self.ok("DELETE", path)
        self.assertNotIn("dash", [one["id"] for one in gone["platform_components"]])
        self.assertIn("oslo-prod has no component dash", self.refused(404, "DELETE", path))
        self.assertEqual(self.server.read(path)[0], 404)
        self.assertEqual(self.ok("PUT", path, {"enabled": False})["platform_components"][-1], {"id": "dash", "enabled": False}, "at the end")

    def test_what_cannot_be_assigned(self):
        path = "/clusters/oslo-prod/platform_components/"
        self.assertIn("no component none", self.refused(400, "PUT", path + "none", {}))
        self.assertIn("no cluster none", self.refused(404, "PUT", "/clusters/none/platform_components/dash", {}))
        self.refused(400, "PUT", path + "dash", {"id": "certs"})
        self.refused(422, "PUT", path + "dash", {"oci_tag": 1})
        self.refused(422, "PUT", path + "dash", [])
        status, headers, _ = self.server.ask("POST", path + "dash", {}, WRITE)
        self.assertEqual((status, headers["allow"]), (405, "GET,HEAD,PUT,DELETE"))
        self.assertEqual(self.server.ask("PUT", "/clusters/oslo-prod/clusters/dash", {}, WRITE)[0], 404)

    def test_patches_of_one_component(self):
        path = "/clusters/oslo-prod/patches/edge-proxy"
        after = self.ok("PUT", path, {"replicaCount": "9"})
        self.assertEqual(after["patches"]["edge-proxy"], {"replicaCount": "9"})
        self.assertEqual(self.server.read(path), (200, {"replicaCount": "9"}))
        self.assertNotIn("edge-proxy", self.ok("DELETE", path)["patches"])
        self.refused(404, "DELETE", path)
        self.assertEqual(self.server.read(path)[0], 404)
        self.assertIn("cork-dev has no component nothing", self.refused(404, "PUT", "/clusters/cork-dev/patches/nothing", {}))
        self.refused(422, "PUT", path, {"replicaCount": 9})
        self.ok("PUT", path, {"replicaCount": "9"})
        self.assertNotIn("edge-proxy", self.ok("DELETE", "/clusters/oslo-prod/platform_components/edge-proxy")["patches"], "they go with it")

    def test_namespaces_and_role_bindings(self):
        self.ok("POST", "/namespaces", {"id": "new"})
        self.ok("POST", "/rolebindings", {"id": "new", "role": "view", "subjects": []})
        for what in ("namespaces", "rolebindings"):
            path = f"/clusters/cork-dev/{what}/new"
            self.assertEqual(self.ok("PUT", path, {})[what][-1], {"id": "new"})
            self.assertIn("new", self.inputs("cork-dev.harbour.test", what))
            self.ok("DELETE", path)
            self.assertNotIn("new", self.inputs("cork-dev.harbour.test", what))

    def test_the_version_is_the_clusters(self):
        _, headers, _ = self.server.ask("GET", "/clusters/oslo-prod", headers=READ)
        path = "/clusters/oslo-prod/platform_components/dash"
        _, of_part, _ = self.server.ask("GET", path, headers=READ)
        self.assertEqual(of_part["etag"], headers["etag"])
        self.assertEqual(self.server.ask("GET", path, headers={**READ, "If-None-Match": headers["etag"]})[0], 304)
        self.ok("PUT", path, {"oci_tag": "x"}, **{"If-Match": headers["etag"]})
        for method, body in (("PUT", {"oci_tag": "y"}), ("DELETE", None)):
            self.refused(412, method, path, body, **{"If-Match": headers["etag"]})
        self.assertEqual(self.server.read(path)[1]["oci_tag"], "x")


class Warned(Running):
    def test_a_write_that_looks_wrong_is_told(self):
        status, headers, _ = self.server.ask("PATCH", "/clusters/oslo-prod", {"patches": {"dash": {"adminPassword": "x"}}}, WRITE)
        self.assertEqual(status, 200)
        self.assertIn("adminPassword of dash", headers["warning"])
        status, headers, _ = self.server.ask("PUT", "/clusters/oslo-prod", {"node_count": 3}, WRITE)
        self.assertNotIn("warning", headers)


def cluster(name, environment, **more):
    return {"id": name, "cluster_name": name.upper(), "cluster_dns": f"{name}.test", "environment": environment, "platform_components": [], **more}


class Batches(Running):
    def batch(self, *operations, dry_run=False):
        return self.ok("POST", "/batch", {"operations": list(operations), "dry_run": dry_run})

    def refusal(self, status, *operations):
        return self.refused(status, "POST", "/batch", {"operations": list(operations)})

    def fleet(self):
        """Everything, to see that nothing has changed."""
        return [self.server.read("/" + one)[1] for one in ("clusters", "platform_components", "namespaces", "rolebindings", "tombstones")]

    def test_a_component_for_all_of_dev_and_nobody_else(self):
        self.batch({"op": "create", "family": "clusters", "records": [cluster("dev-1", "dev"), cluster("dev-2", "dev"), cluster("qa-1", "qa")]})
        before = self.fleet()
        operation = {"op": "assign_component", "selector": {"environment": "dev"}, "component": {"id": "spare", "oci_tag": "next"}}
        tried = self.batch(operation, dry_run=True)
        self.assertEqual((tried["id"], tried["changed"], self.fleet()), (None, 3, before), "a dry run changes nothing")
        done = self.batch(operation)
        self.assertEqual([(one["id"], one["action"]) for one in done["results"]], [("cork-dev", "changed"), ("dev-1", "changed"), ("dev-2", "changed")])
        self.assertEqual(done["results"], tried["results"])
        self.assertEqual(done["results"][1]["changes"], [{"path": ["platform_components", "spare"], "before": None,
                                                          "after": {"id": "spare", "enabled": True, "oci_tag": "next"}}])
        self.assertEqual(done["reaches"], {"clusters": 3, "by_environment": {"dev": 3}})
        for one in self.server.read("/clusters")[1]:
            has = "spare" in [reference["id"] for reference in one["platform_components"]]
            self.assertEqual(has, one["environment"] == "dev", one["id"])
        trail = self.server.read(f"/audit?batch={done['id']}")[1]["entries"]
        self.assertEqual([(one["family"], one["id"]) for one in trail], [("rollouts", done["id"]), ("clusters", "dev-2"), ("clusters", "dev-1"),
                                                                       ("clusters", "cork-dev")])
        again = self.batch(operation)
        self.assertEqual((again["id"], again["changed"], again["unchanged"]), (None, 0, 3))
        keeps = self.batch({"op": "assign_component", "selector": {"environment": "dev"}, "component": "spare"})
        self.assertEqual(keeps["unchanged"], 3, "the id alone changes no reference that is there")

    def test_every_operation(self):
        done = self.batch(
            {"op": "create", "family": "platform_components", "record": {"id": "cache", "component_path": "p", "component_version": "1", "oci_url": "u",
                                                                        "oci_tag": "t", "depends_on": []}},
            {"op": "create", "family": "namespaces", "records": [{"id": "n1"}, {"id": "n2"}]},
            {"op": "apply", "family": "namespaces", "records": [{"id": "n2", "labels": {"a": "b"}}, {"id": "n3"}]},
            {"op": "create", "family": "rolebindings", "record": {"id": "rb", "role": "view", "subjects": []}},
            {"op": "create", "family": "clusters", "record": cluster("new", "qa")},
            {"op": "update", "family": "clusters", "id": "new", "record": {"node_count": 3}},
            {"op": "patch", "family": "clusters", "ids": ["new", "cork-dev"], "record": {"vm_image": "flat"}},
            {"op": "assign_component", "id": "new", "component": "cache"},
            {"op": "override_component", "id": "new", "component": {"id": "cache", "component_path": "q"}},
            {"op": "assign_namespace", "selector": {"has_component": "cache"}, "namespace": "n1"},
            {"op": "assign_rolebinding", "id": "new", "rolebinding": {"id": "rb"}},
            {"op": "set_patches", "id": "new", "component": "cache", "patches": {"a": "1", "b": "2"}},
            {"op": "merge_patches", "id": "new", "component": "cache", "patches": {"a": None, "c": "3"}},
            {"op": "unassign_namespace", "selector": {"all": True}, "namespace": "bare"},
            {"op": "unassign_component", "id": "oslo-prod", "component": "edge-proxy"},
            {"op": "unassign_rolebinding", "id": "oslo-prod", "rolebinding": "ci-view"},
            {"op": "delete", "family": "namespaces", "id": "bare"},
            {"op": "delete", "family": "clusters", "selector": {"dns": "lyon-qa.harbour.test"}})
        self.assertEqual(self.server.read("/clusters/new")[1], {
            **cluster("new", "qa"), "node_count": 3, "vm_image": "flat", "platform_components": [{"id": "cache", "enabled": True, "component_path": "q"}],
            "namespaces": [{"id": "n1"}], "rolebindings": [{"id": "rb"}], "patches": {"cache": {"b": "2", "c": "3"}}})
        oslo = self.server.read("/clusters/oslo-prod")[1]
        self.assertEqual(([one["id"] for one in oslo["platform_components"]], list(oslo["patches"]), oslo["namespaces"], oslo["rolebindings"]),
                         (["certs", "dash", "log-shipper"], ["log-shipper"], [{"id": "payments"}], [{"id": "ops-admin"}]))
        self.assertEqual(self.server.read("/namespaces/n2")[1]["labels"], {"a": "b"})
        self.assertEqual(self.server.read("/api/v2/flux/clusters/lyon-qa.harbour.test/namespaces"), (200, {"inputs": []}))
        results = {(one["family"], one["id"]): one for one in done["results"]}
        self.assertEqual(results["clusters", "new"]["operations"], [4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
        self.assertEqual((results["clusters", "new"]["action"], results["clusters", "new"]["version"]), ("created", 1))
        self.assertEqual(results["clusters", "bonn-uat"]["action"], "unchanged")
        self.assertEqual((done["created"], done["changed"], done["deleted"]), (6, 2, 2))

    def test_one_bad_operation_and_nothing_happens(self):
        before = self.fleet()
        good = {"op": "assign_component", "selector": {"environment": "dev"}, "component": "spare"}
        for status, words, bad in (
                (404, "no cluster nobody", {"op": "assign_component", "ids": ["oslo-prod", "nobody"], "component": "spare"}),
                (404, "no component nothing", {"op": "assign_component", "id": "oslo-prod", "component": "nothing"}),
                (404, "finds no cluster", {"op": "assign_component", "selector": {"environment": "uat", "has_component": "spare"}, "component": "spare"}),
                (404, "no component nothing", {"op": "delete", "family": "clusters", "selector": {"has_component": "nothing"}}),
                (404, "no cluster nobody", {"op": "delete", "family": "clusters", "selector": {"ids": ["nobody"]}}),
                (404, "no.test", {"op": "delete", "family": "clusters", "selector": {"cluster_dns": ["no.test"]}}),
                (404, "no component spare", {"op": "override_component", "id": "oslo-prod", "component": {"id": "spare", "oci_tag": "x"}}),
                (404, "no component spare", {"op": "unassign_component", "id": "oslo-prod", "component": "spare"}),
                (404, "no component spare", {"op": "set_patches", "id": "oslo-prod", "component": "spare", "patches": {"a": "1"}}),
                (422, "says nothing", {"op": "delete", "family": "clusters", "selector": {}}),
                (422, "says nothing", {"op": "delete", "family": "clusters", "selector": {"limit": 3}}),
                (422, "enviroment", {"op": "delete", "family": "clusters", "selector": {"enviroment": "dev"}}),
                (422, "stage", {"op": "delete", "family": "clusters", "selector": {"environment": "stage"}}),
                (422, "one of id", {"op": "delete", "family": "clusters"}),
                (422, "one of id", {"op": "delete", "family": "clusters", "id": "oslo-prod", "selector": {"all": True}}),
                (422, "clusters only", {"op": "delete", "family": "namespaces", "selector": {"all": True}}),
                (422, "family", {"op": "delete", "family": "cluster", "id": "oslo-prod"}),
                (422, "explode", {"op": "explode"}),
                (422, "recrod", {"op": "update", "family": "clusters", "id": "oslo-prod", "recrod": {}}),
                (422, "node_count", {"op": "update", "family": "clusters", "id": "oslo-prod", "record": {"node_count": "3"}}),
                (409, "already", {"op": "create", "family": "clusters", "record": cluster("oslo-prod", "dev")}),
                (409, "cork-dev.harbour.test", {"op": "update", "family": "clusters", "id": "oslo-prod", "record": {"cluster_dns": "cork-dev.harbour.test"}}),
                (412, "version", {"op": "update", "family": "clusters", "id": "oslo-prod", "if_match": 7, "record": {}})):
            with self.subTest(words, **bad):
                said = self.refusal(status, good, bad)
                self.assertIn(words, said)
                self.assertIn("operations[1]: ", said)
        self.assertIn("certs is referred to by 2 clusters", self.refusal(409, good, {"op": "delete", "family": "platform_components", "id": "certs"}))
        for body in ({}, {"operations": []}, {"operations": {}}, {"operations": [good], "dry_run": "yes"}, {"operations": [good], "more": 1}, []):
            self.refused(422, "POST", "/batch", body)
        self.assertEqual(self.fleet(), before)
        self.assertEqual(self.server.read("/audit")[1]["entries"], [])
        self.assertEqual(self.server.ask("POST", "/batch", {"operations": [good]}, READ)[0], 401, "the token of writers")

    def test_a_thousand_clusters_in_one_call(self):
        made = self.batch({"op": "create", "family": "clusters", "records": [
            cluster(f"c{number:04}", "dev", platform_components=[{"id": "certs"}, {"id": "edge-proxy"}]) for number in range(1000)]})
        self.assertEqual(made["created"], 1000)
        done = self.batch({"op": "override_component", "selector": {"environment": "dev", "has_component": "edge-proxy"},
                           "component": {"id": "edge-proxy", "oci_tag": "v9"}})
        self.assertEqual((done["changed"], len(done["results"])), (1000, 1000))
        self.assertEqual(self.inputs("c0999.test")["edge-proxy"]["source"]["oci_tag"], "v9")
        self.server.stop()
        self.server = Server(self.folder, self.STORE, "harbour.json")
        self.addCleanup(self.server.stop)
        self.assertEqual(self.inputs("c0000.test")["edge-proxy"]["source"]["oci_tag"], "v9", "after a restart")
        self.assertEqual(self.ok("POST", "/batch", {"operations": [{"op": "delete", "family": "clusters", "selector": {"has_component": "edge-proxy",
                                                                                                                    "environment": "dev"}}]})["deleted"], 1000)


class BatchesInMemory(Batches):
    STORE = "memory"


class Rollouts(Running):
    def roll_out(self, kind, **more):
        return self.ok("POST", "/rollouts", {"kind": kind, **more})

    def tags(self, component):
        out = {}
        for one in self.server.read("/clusters")[1]:
            inputs = self.inputs(one["cluster_dns"])
            if component in inputs:
                out[one["id"]] = inputs[component]["source"]["oci_tag"]
        return out

    def setUp(self):
        super().setUp()
        for environment in ("dev", "dev", "qa", "uat", "prod"):
            name = f"{environment}-{len(self.server.read('/clusters')[1])}"
            self.ok("POST", "/clusters", cluster(name, environment, platform_components=[{"id": "certs"}]))

    def test_from_dev_to_everybody(self):
        entry = {"id": "mesh", "component_path": "net/mesh/1", "component_version": "1", "oci_url": "u", "oci_tag": "v1", "depends_on": ["certs"]}
        plan = self.roll_out("component", component=entry, environment="dev", patches={"replicas": "1"}, dry_run=True)
        self.assertEqual((plan["created"], plan["changed"], plan["reaches"]), (1, 3, {"clusters": 3, "by_environment": {"dev": 3}}))
        self.assertEqual(self.server.read("/platform_components/mesh")[0], 404)
        first = self.roll_out("component", component=entry, environment="dev", patches={"replicas": "1"}, note="the mesh comes")
        self.assertEqual(self.tags("mesh"), {"cork-dev": "v1", "dev-4": "v1", "dev-5": "v1"})
        self.assertEqual(self.roll_out("component", component=entry, environment="dev", patches={"replicas": "1"})["unchanged"], 3, "once more")
        # A canary, then the rest of dev, then tier by tier.
        self.roll_out("canary", component="mesh", ids=["dev-4"], oci_tag="v2-rc1", component_path="net/mesh/2")
        self.assertEqual(self.tags("mesh"), {"cork-dev": "v1", "dev-4": "v2-rc1", "dev-5": "v1"})
        said = self.refused(409, "POST", "/rollouts", {"kind": "promote", "component": "mesh", "from": "dev", "to": "qa"})
        self.assertIn("do not run the same mesh", said)
        self.assertIn("no cluster of qa has component mesh", self.refused(404, "POST", "/rollouts", {"kind": "promote", "component": "mesh",
                                                                                                    "from_cluster": "dev-4", "to": "qa"}))
        self.roll_out("promote", component="mesh", from_cluster="dev-4", to="qa", assign_missing=True)
        self.assertEqual(self.tags("mesh"), {"cork-dev": "v1", "dev-4": "v2-rc1", "dev-5": "v1", "lyon-qa": "v2-rc1", "qa-6": "v2-rc1"})
        for before, after in (("qa", "uat"), ("uat", "prod")):
            self.roll_out("promote", component="mesh", **{"from": before}, to=after, assign_missing=True)
        done = self.roll_out("promote", component="mesh", **{"from": "prod"}, to="catalog")
        self.assertEqual(set(self.tags("mesh").values()), {"v2-rc1"})
        self.assertEqual(len(self.tags("mesh")), 9)
        self.assertEqual([one for one in self.server.read("/clusters")[1] if "v2-rc1" in json.dumps(one)], [], "no override is left")
        self.assertEqual(done["reaches"], {"clusters": 9, "by_environment": {"dev": 3, "prod": 2, "qa": 2, "uat": 2}})
        listed = self.server.read("/rollouts")[1]["rollouts"]
        self.assertEqual([one["kind"] for one in listed], ["promote"] * 4 + ["canary", "component"])
        self.assertEqual((listed[-1]["id"], listed[-1]["note"], listed[-1]["by"], listed[-1]["changed"]), (first["id"], "the mesh comes", "writer", 3))

    def test_an_upgrade_of_the_catalog_leaves_who_is_pinned(self):
        plan = self.roll_out("upgrade", component="edge-proxy", oci_tag="v5", dry_run=True)
        self.assertEqual((plan["changed"], plan["reaches"]["clusters"]), (1, 0), "both have a tag of their own")
        self.assertEqual(self.roll_out("upgrade", component="certs", component_path="core/certs/2", component_version="2")["reaches"],
                         {"clusters": 7, "by_environment": {"dev": 3, "prod": 2, "qa": 1, "uat": 1}})
        self.roll_out("upgrade", component="edge-proxy", oci_tag="v5", clear_overrides=True)
        self.assertEqual(self.tags("edge-proxy"), {"lyon-qa": "v5", "oslo-prod": "v5"})
        self.refused(422, "POST", "/rollouts", {"kind": "upgrade", "component": "certs"})

    def test_a_hotfix_moves_one_component(self):
        polls = {one["id"]: self.inputs(one["cluster_dns"]) for one in self.server.read("/clusters")[1]}
        self.roll_out("hotfix", component="certs", oci_tag="v4.0.0-1", environment="prod")
        for one in self.server.read("/clusters")[1]:
            want = polls[one["id"]]
            if one["environment"] == "prod":
                want["certs"]["source"]["oci_tag"] = "v4.0.0-1"
            self.assertEqual(self.inputs(one["cluster_dns"]), want, one["id"])
        self.refused(422, "POST", "/rollouts", {"kind": "hotfix", "component": "certs", "environment": "prod"})
        self.refused(404, "POST", "/rollouts", {"kind": "hotfix", "component": "edge-proxy", "oci_tag": "x", "ids": ["cork-dev"]})

    def test_decommission_and_back(self):
        self.refused(422, "POST", "/rollouts", {"kind": "decommission"})
        done = self.roll_out("decommission", ids=["oslo-prod", "lyon-qa"])
        self.assertEqual(self.inputs("oslo-prod.harbour.test"), {})
        self.ok("POST", f"/rollouts/{done['id']}/undo")
        self.assertIn("certs", self.inputs("oslo-prod.harbour.test"))
        self.assertEqual(self.server.read("/tombstones")[1], [])

    def test_undo(self):
        before = self.server.read("/clusters")[1]
        done = self.roll_out("canary", component="certs", environment="dev", oci_tag="v5")
        self.ok("PUT", "/clusters/dev-4", {"node_count": 7})
        path = f"/rollouts/{done['id']}"
        members = self.server.read(path)[1]["members"]
        self.assertEqual([(one["id"], one["action"]) for one in members], [("cork-dev", "changed"), ("dev-4", "changed"), ("dev-5", "changed")])
        self.assertEqual(members[0]["changes"], [{"path": ["platform_components", "certs", "oci_tag"], "before": None, "after": "v5"}])
        # What the rollout itself set was set again: nothing is undone.
        self.ok("PUT", "/clusters/dev-5/platform_components/certs", {"oci_tag": "v6"})
        said = self.refused(409, "POST", path + "/undo")
        self.assertIn("cluster dev-5 platform_components/certs/oci_tag", said)
        self.assertNotIn("dev-4", said)
        self.ok("PUT", "/clusters/dev-5/platform_components/certs", {"oci_tag": "v5"})
        tried = self.ok("POST", path + "/undo?dry_run=true")
        self.assertEqual((tried["id"], tried["changed"]), (None, 3))
        undone = self.ok("POST", path + "/undo")
        for one in before:
            if one["id"] == "dev-4":
                one["node_count"] = 7  # the later change of another member stays
        self.assertEqual(self.server.read("/clusters")[1], before)
        self.assertIn(undone["id"], self.refused(409, "POST", path + "/undo"))
        listed = self.server.read("/rollouts")[1]["rollouts"]
        self.assertEqual([(one["kind"], one.get("undoes"), one.get("undone_by")) for one in listed],
                         [("undo", done["id"], None), ("canary", None, undone["id"])])
        self.ok("POST", f"/rollouts/{undone['id']}/undo")
        self.assertEqual(self.tags("certs")["dev-4"], "v5", "an undo can be undone")
        for missing in ("/rollouts/none", "/rollouts/none/undo"):
            self.assertEqual(self.server.ask("POST" if missing.endswith("undo") else "GET", missing, headers=WRITE if missing.endswith("undo") else READ)[0], 404)

    def test_undo_of_what_was_made_and_deleted(self):
        done = self.ok("POST", "/batch", {"operations": [
            {"op": "create", "family": "namespaces", "record": {"id": "n"}},
            {"op": "assign_namespace", "selector": {"environment": "dev"}, "namespace": "n"},
            {"op": "unassign_namespace", "selector": {"all": True}, "namespace": "bare"},
            {"op": "delete", "family": "namespaces", "id": "bare"}]})
        before = self.server.read("/clusters")[1]
        self.ok("PUT", "/clusters/oslo-prod/namespaces/n", {})
        self.assertIn("namespace n is referred to by 1 cluster (oslo-prod)", self.refused(409, "POST", f"/rollouts/{done['id']}/undo"))
        self.ok("DELETE", "/clusters/oslo-prod/namespaces/n")
        self.assertEqual(self.server.read("/clusters")[1], before)
        self.ok("POST", f"/rollouts/{done['id']}/undo")
        self.assertEqual(self.server.read("/namespaces/n")[0], 404)
        self.assertEqual(self.inputs("lyon-qa.harbour.test", "namespaces")["bare"]["labels"], {})

    def test_pages(self):
        ids = [self.roll_out("hotfix", component="certs", oci_tag=f"v{number}", environment="dev")["id"] for number in range(5)]
        seen, cursor = [], ""
        while cursor is not None:
            page = self.server.read(f"/rollouts?limit=2{cursor}")[1]
            seen += [one["id"] for one in page["rollouts"]]
            cursor = f"&cursor={page['cursor']}" if page["cursor"] else None
        self.assertEqual(seen, ids[::-1])


class RolloutsInMemory(Rollouts):
    STORE = "memory"


class Lists(Running):
    def pages(self, path):
        ids = []
        while path:
            status, headers, text = self.server.ask("GET", path, headers=READ)
            self.assertEqual(status, 200, text)
            ids.append([one["id"] for one in json.loads(text)])
            link = headers.get("link", "")
            self.assertTrue(not link or link.endswith('>; rel="next"'), link)
            path = link[1:link.index(">")] if link else None
        return ids

    def test_pages_by_cursor(self):
        self.ok("POST", "/batch", {"operations": [{"op": "create", "family": "namespaces", "records": [{"id": one} for one in ("a/b", "a&c", "ä", "z")]}]})
        self.assertEqual(self.pages("/namespaces?limit=3"), [["a&c", "a/b", "bare"], ["labels-only", "payments", "z"], ["ä"]])
        self.assertEqual(self.pages("/namespaces?limit=7"), [["a&c", "a/b", "bare", "labels-only", "payments", "z", "ä"]])
        self.assertEqual(self.pages("/clusters?environment=dev&limit=1"), [["cork-dev"]])
        self.assertEqual(self.pages("/clusters?cursor=cork-dev&offset=1"), [["oslo-prod"]])

    def test_parts_of_the_fleet_list(self):
        def ids(query):
            status, body = self.server.read("/api/v2/flux/clusters" + query)
            self.assertEqual(status, 200, body)
            return [one["id"] for one in body["inputs"]]
        everybody = ["bonn-uat", "cork-dev", "lyon-qa", "oslo-prod"]
        self.assertEqual(ids("?unknown=1"), everybody)
        self.assertEqual(ids("?environment=dev"), ["cork-dev"])
        self.assertEqual(ids("?limit=2&offset=1"), ["cork-dev", "lyon-qa"])
        self.assertEqual(ids("?cursor=cork-dev"), ["lyon-qa", "oslo-prod"])
        self.assertEqual(sorted(ids("?shard=0/3") + ids("?shard=1/3") + ids("?shard=2/3")), everybody)
        for wrong in ("shard=3/3", "shard=1", "shard=1/", "shard=/3", "shard=1/3x", "limit=-1"):
            self.assertEqual(self.server.read("/api/v2/flux/clusters?" + wrong)[0], 400, wrong)


class Polled(Running):
    def test_whether_a_deleted_cluster_has_heard(self):
        self.ok("DELETE", "/clusters/cork-dev")
        told = self.server.read("/tombstones")[1]
        self.assertEqual([(one["cluster_dns"], one["polls"], one["last_poll"]) for one in told], [("cork-dev.harbour.test", 0, None)])
        self.inputs("cork-dev.harbour.test")
        self.inputs("cork-dev.harbour.test", "namespaces")
        self.inputs("oslo-prod.harbour.test")
        one = self.server.read("/tombstones")[1][0]
        self.assertEqual(one["polls"], 2)
        self.assertRegex(one["last_poll"], r"^20\d\d-")

    def test_what_another_process_has_seen(self):
        self.ok("DELETE", "/clusters/cork-dev")
        path = "/api/v2/flux/clusters/cork-dev.harbour.test/namespaces"
        reader = Server(self.folder, self.STORE, "harbour.json", API_MODE="read-only")
        self.assertEqual(reader.read(path), (200, {"inputs": []}))
        self.assertEqual(reader.read("/api/v2/flux/clusters/tpyo.test/namespaces")[0], 404)
        self.assertEqual(reader.stop(), 0)
        self.assertEqual(self.server.read("/tombstones")[1][0]["polls"], 1)
        self.assertEqual([one["cluster_dns"] for one in self.server.read("/unknown_polls")[1]["unknown"]], ["tpyo.test"])
        self.inputs("cork-dev.harbour.test")
        self.server.stop()
        self.server = Server(self.folder, self.STORE, "harbour.json")
        self.addCleanup(self.server.stop)
        self.assertEqual(self.server.read("/tombstones")[1][0]["polls"], 2, "it outlives a restart")

    def test_names_that_nobody_registered(self):
        self.assertEqual(self.server.read("/unknown_polls"), (200, {"unknown": [], "other_polls": 0}))
        for name in ("tpyo.test", "tpyo.test", "x" * 254):
            self.assertEqual(self.server.read(f"/api/v2/flux/clusters/{name}/namespaces")[0], 404)
        told = self.server.read("/unknown_polls")[1]
        self.assertEqual([(one["cluster_dns"], one["polls"]) for one in told["unknown"]], [("tpyo.test", 2)])
        self.assertEqual(told["other_polls"], 1)


class Restoring(Running):
    def test_an_earlier_version(self):
        first = self.server.read("/clusters/oslo-prod")[1]
        second = self.ok("PATCH", "/clusters/oslo-prod", {"node_count": None, "vm_image": "other"})
        self.ok("PUT", "/clusters/oslo-prod", {"cluster_name": "THIRD"})
        path = "/clusters/oslo-prod/restore"
        self.assertEqual(self.ok("POST", path, {"version": 1}), first)
        self.assertEqual(self.ok("POST", path, {"version": 2}), second)
        self.assertIn("version 9", self.refused(404, "POST", path, {"version": 9}))
        for body in ({}, {"version": 1, "seq": 1}, {"version": "1"}, {"version": 0}, []):
            self.refused(422, "POST", path, body)
        entries = self.server.read("/audit?id=oslo-prod")[1]["entries"]
        self.assertEqual(self.ok("POST", path, {"seq": entries[-1]["seq"]}), second)
        self.refused(404, "POST", "/clusters/cork-dev/restore", {"seq": entries[-1]["seq"]})
        self.refused(412, "POST", path, {"version": 1}, **{"If-Match": '"1"'})

    def test_a_deleted_record_comes_back(self):
        was = self.ok("DELETE", "/clusters/oslo-prod")
        self.assertEqual(self.inputs("oslo-prod.harbour.test"), {})
        entry = self.server.read("/audit?id=oslo-prod")[1]["entries"][0]
        self.assertEqual(self.ok("POST", "/clusters/oslo-prod/restore", {"seq": entry["seq"]}), was)
        self.assertIn("certs", self.inputs("oslo-prod.harbour.test"))
        self.ok("DELETE", "/clusters/oslo-prod")
        self.assertEqual(self.ok("POST", "/clusters/oslo-prod/restore", {"version": 1}), was)

    def test_rules_hold(self):
        self.ok("DELETE", "/clusters/oslo-prod")
        self.ok("POST", "/clusters", cluster("other", "prod", cluster_dns="oslo-prod.harbour.test"))
        self.assertIn("belongs to cluster other", self.refused(409, "POST", "/clusters/oslo-prod/restore", {"version": 1}))


if __name__ == "__main__":
    harness.main()
