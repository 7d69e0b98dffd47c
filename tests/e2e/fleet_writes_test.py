#!/usr/bin/env python3
"""Writes of `kollect fleet serve` that go beyond one record: parts of a cluster, batches, rollouts, restoring."""
import json

import harness
from fleet_test import READ, WRITE, Server


class Running(harness.Case):
    """A server with the harbour fleet."""

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder, "sqlite", "harbour.json")
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


if __name__ == "__main__":
    harness.main()
