#!/usr/bin/env python3
"""Who may read what through the read API of an operator, by the tokens of service accounts and the roles of a real kube-apiserver."""
import json
import pathlib
import tempfile

import harness
import manifests as m
import operator_test as op
import read_api
from read_api import Api

ACCOUNTS = ("everything", "team", "one", "nobody", "deleted", "taken")
GROUP = "kollect.dev"
ROWS = {"ops": 3, "pay": 2}
G = {}


def role(kind, ns, name, rules, account):
    body = [{"apiGroups": [GROUP], **rule} for rule in rules]
    bound = {"ClusterRole": "ClusterRoleBinding", "Role": "RoleBinding"}[kind]
    return (m.document(kind, ns, name, api="rbac.authorization.k8s.io/v1", rules=body)
            + m.document(bound, ns, name, api="rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                         subjects=[{"kind": "ServiceAccount", "name": account, "namespace": "readers"}]))


def manifests():
    text = m.namespace("readers") + "".join(m.document("ServiceAccount", "readers", name, api="v1") for name in ACCOUNTS)
    for ns, count in ROWS.items():
        text += m.namespace(ns) + m.profile(ns, "maps", "ConfigMap", {"name": "v", "path": "$.data.v"}) + m.target(
            ns, "maps", "maps", includedNamespaces=[ns])
        text += m.inventory(ns) + "".join(m.config_map(ns, f"c{i}", v=str(i)) for i in range(count))
    every = {"resources": ["*"], "verbs": ["get", "list"]}
    listing = {"resources": ["kollectinventories", "kollecttargets"], "verbs": ["get", "list"]}
    return (text + role("ClusterRole", None, "reads-everything", [every], "everything") + role("Role", "ops", "team", [listing], "team")
            + role("Role", "ops", "taken", [listing], "taken") + role("ClusterRole", None, "deleted", [every], "deleted")
            + role("Role", "ops", "one", [{"resources": ["kollectinventories"], "verbs": ["get"], "resourceNames": ["all"]}], "one"))


def token(account, *flags):
    return op.kubectl("create", "token", account, "-n", "readers", *flags).strip()


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.install_crds()
    G["folder"] = tempfile.TemporaryDirectory(prefix="kollect-read-auth-", ignore_cleanup_errors=True)
    op.kubectl("apply", "-f", "-", stdin=manifests())
    G["operator"], G["port"] = read_api.operator(pathlib.Path(G["folder"].name), "--inventory-auth-cache-ttl", "1s", mode="kubernetes")
    G["tokens"] = {name: token(name) for name in ACCOUNTS}
    whole = Api(G["port"], G["tokens"]["everything"])

    def there():
        try:
            return whole.ask("/v1alpha1/inventory/ops/all")[0] == 200 and total(whole, "inventory") >= sum(ROWS.values())
        except (OSError, KeyError):
            return False

    op.until("the rows", there)


def tearDownModule():
    if "operator" in G:
        G["operator"].stop()
    op.server("kube.sh", "stop")
    G["folder"].cleanup()


def total(api, path, **parameters):
    return api.get(path, **parameters).get("pagination", {"total": 0})["total"]


class Rights(harness.Case):
    def api(self, account):
        return Api(G["port"], G["tokens"].get(account, account))

    def statuses(self, account):
        """Status of each route for an account."""
        return {path: self.api(account).ask("/v1alpha1/" + path.partition("?")[0], [tuple(pair.split("=")) for pair in path.partition("?")[2].split("&") if pair])[0]
                for path in self.ROUTES}

    ROUTES = ("inventory", "inventory?namespace=ops", "inventory?namespace=pay", "inventory?namespace=ops&inventory=all", "inventory/ops/all", "inventory/pay/all",
              "clusterinventory/x", "export", "export?namespace=ops", "groups?by=kind", "groups?by=kind&namespace=ops", "inventories", "inventories?namespace=ops",
              "clusters", "overview", "overview?namespace=ops", "status/inventories", "status/inventories?namespace=ops", "status/targets?namespace=ops",
              "status/targets?namespace=pay", "status/sinks?namespace=ops", "status/profiles", "status/clustertargets")

    def test_the_matrix(self):
        open_to = {
            "everything": set(self.ROUTES),
            "team": {"inventory?namespace=ops", "inventory?namespace=ops&inventory=all", "inventory/ops/all", "export?namespace=ops", "groups?by=kind&namespace=ops",
                     "inventories?namespace=ops", "overview?namespace=ops", "status/inventories?namespace=ops", "status/targets?namespace=ops"},
            "one": {"inventory?namespace=ops&inventory=all", "inventory/ops/all"},
            "nobody": set()}
        for account, routes in open_to.items():
            for path, status in self.statuses(account).items():
                with self.subTest(account=account, path=path):
                    missing = path == "clusterinventory/x"
                    self.assertEqual(status, (404 if missing else 200) if path in routes else 403)
            self.assertEqual(self.api(account).ask("/v1alpha1/meta")[0], 200)
        self.assertEqual({status for status in self.statuses("").values()}, {401})

    def test_nobody_sees_more_than_they_may(self):
        team = self.api("team")
        for path, more in (("inventory", {"namespace": "ops"}), ("inventory/ops/all", {}), ("inventory", {"namespace": "ops", "inventory": "all"})):
            items = team.get(path, limit=5000, **more)["items"]
            self.assertEqual({item["targetNamespace"] for item in items}, {"ops"})
        self.assertEqual({item["namespace"] for item in team.get("inventories", namespace="ops")["items"]}, {"ops"})
        told = json.dumps(team.get("overview", namespace="ops"))
        self.assertNotIn("pay", told)
        # Twice the same parameter is no way around.
        for query in ("namespace=ops&namespace=pay", "namespace=pay&namespace=ops", "namespace=ops&inventoryNamespace=pay&inventory=all",
                      "namespace=%20pay", "namespace=ops%00", "inventory=all&inventoryNamespace=pay"):
            status, _, body = team.raw("GET", "/v1alpha1/inventory?" + query)
            self.assertTrue(status in (400, 403) or b'"targetNamespace":"pay"' not in body, (query, status, body[:200]))
        whole = self.api("everything")
        self.assertEqual({item["namespace"] for item in whole.get("inventories")["items"]}, {"ops", "pay"})

    def test_tokens_that_are_none(self):
        for given in ("x", "x.y.z", token("everything", "--audience", "somebody-else"), G["tokens"]["everything"][:-4] + "AAAA", "a" * 20000):
            status, headers, value = self.api(given).ask("/v1alpha1/inventory")
            self.assertEqual((status, headers["www-authenticate"].split()[0], value["error"]["reason"]), (401, "Bearer", "Unauthorized"), given[:20])
        for header in ("", "Basic eDp5", "bearer", "Bearer", "Bearer ", "Token x", f"Bearer {G['tokens']['everything']} x"):
            self.assertEqual(Api(G["port"]).ask("/v1alpha1/inventory", Authorization=header)[0], 401, header)
        self.assertEqual(Api(G["port"]).ask("/v1alpha1/inventory", Authorization=f"bearer {G['tokens']['everything']}")[0], 200)
        for path in ("/openapi/v1alpha1/inventory.yaml", "/openapi/v1alpha1/inventory.json"):
            self.assertEqual(Api(G["port"]).ask(path)[0], 200)

    def test_an_account_that_is_deleted(self):
        self.assertEqual(self.api("deleted").ask("/v1alpha1/inventory")[0], 200)
        op.kubectl("delete", "serviceaccount", "deleted", "-n", "readers")
        op.until("the refusal", lambda: self.api("deleted").ask("/v1alpha1/inventory")[0] == 401)

    def test_a_right_that_is_taken_away_ends_streams(self):
        streams = [self.api("taken").stream(path + "?namespace=ops") for path in ("/v1alpha1/changes/watch", "/v1alpha1/inventory/watch")]
        for stream in streams:
            self.addCleanup(stream.close)
            self.assertIsNotNone(stream.next())
        other = self.api("team").stream("/v1alpha1/changes/watch?namespace=ops")
        self.addCleanup(other.close)
        self.assertEqual(other.next()["event"], "hello")
        op.kubectl("delete", "rolebinding", "taken", "-n", "ops")
        for stream in streams:
            while stream.next() is not None:
                pass
        self.assertEqual(self.api("taken").ask("/v1alpha1/inventory", {"namespace": "ops"})[0], 403)
        op.kubectl("patch", "configmap", "c1", "-n", "ops", "--type=merge", "-p", '{"data":{"v":"changed"}}')
        frame = other.next()
        self.assertEqual((frame["event"], frame["data"]["item"]["name"], frame["data"]["item"]["attributes"]), ("change", "c1", {"v": "changed"}))

    def test_streams_have_their_rights_as_well(self):
        for path in ("/v1alpha1/changes/watch", "/v1alpha1/inventory/watch"):
            for account, query, status in (("team", "", 403), ("team", "?namespace=pay", 403), ("nobody", "?namespace=ops", 403), ("one", "?namespace=ops", 403),
                                           ("one", "?namespace=ops&inventory=all", 200), ("team", "?namespace=ops", 200), ("", "", 401), ("everything", "", 200)):
                stream = self.api(account).stream(path + query)
                stream.close()
                self.assertEqual(stream.status, status, (path, account, query))


if __name__ == "__main__":
    harness.main()
