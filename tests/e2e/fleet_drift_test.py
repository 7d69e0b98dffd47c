#!/usr/bin/env python3
"""`kollect fleet drift`: what clusters have, collected into SQLite and PostgreSQL, against what the fleet API says that they should have."""
import copy
import json
import sqlite3
import urllib.parse

import harness
from fleet_postgres import Postgres
from fleet_test import READ, WRITE, Server

DRIFT = harness.ROOT / "deploy/fleet/drift"
FLUX = "flux-system"
READY = {"conditions": [{"type": "Progressing", "status": "False"}, {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "all is well"}]}
KINDS = {"HelmRelease": "helm.toolkit.fluxcd.io/v2", "Kustomization": "kustomize.toolkit.fluxcd.io/v1", "OCIRepository": "source.toolkit.fluxcd.io/v1",
         "HelmRepository": "source.toolkit.fluxcd.io/v1", "Namespace": "v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1", "ConfigMap": "v1"}
CLUSTERS = {"oslo-prod": "helm", "cork-dev": "helm", "lyon-qa": "kustomize", "bonn-uat": "helm"}
NO_FINDINGS = dict.fromkeys(("missing", "extra", "disabled", "differs", "not_ready", "suspended", "unreadable", "unobserved", "stale", "unknown_cluster"), 0)


def made(kind, name, made_by="platform-components", **members):
    """An object as the Flux Operator applies it."""
    metadata = {"name": name, "labels": {"app.kubernetes.io/managed-by": "flux-operator"}}
    if made_by:
        metadata["labels"] |= {"resourceset.fluxcd.controlplane.io/name": made_by, "resourceset.fluxcd.controlplane.io/namespace": FLUX}
    if kind not in ("Namespace", "ClusterRoleBinding"):
        metadata["namespace"] = FLUX
    return {"apiVersion": KINDS[kind], "kind": kind, "metadata": metadata, **members}


def component(one, form):
    """What the sets of deploy/fleet/cluster make of an input."""
    name, url, tag = one["id"], one["source"]["oci_url"], one["source"]["oci_tag"]
    path = one["component_path"] + ("/" + one["cluster"]["environment"] if one["cluster_env_enabled"] else "")
    path = path.strip("/")
    if not one["enabled"]:
        return
    if form == "kustomize":
        yield made("OCIRepository", f"platform-{name}", spec={"url": url, "ref": {"tag": tag or "latest"}}, status=READY)
        yield made("Kustomization", f"platform-{name}", spec={"path": f"./{path}", "sourceRef": {"kind": "OCIRepository", "name": f"platform-{name}"}}, status=READY)
        return
    version = tag if tag not in ("", "latest") else one["component_version"]
    if url.startswith("oci://"):
        yield made("OCIRepository", f"charts-{name}", spec={"url": f"{url}/{path}", "ref": {"tag": version}}, status=READY)
        spec = {"chartRef": {"kind": "OCIRepository", "name": f"charts-{name}"}}
    else:
        yield made("HelmRepository", f"charts-{name}", spec={"url": url}, status=READY)
        spec = {"chart": {"spec": {"chart": path, "version": version, "sourceRef": {"kind": "HelmRepository", "name": f"charts-{name}"}}}}
    yield made("HelmRelease", f"platform-{name}", spec=spec, status={**READY, "history": [{"chartVersion": "1.0.0"}]})


def rendered(server, cluster):
    """'Kind/name' to object, for all that a cluster makes of its polls."""
    def inputs(what):
        return server.read(f"/api/v2/flux/clusters/{cluster}.harbour.test/{what}")[1]["inputs"]
    objects = [thing for one in inputs("platform-components") for thing in component(one, CLUSTERS[cluster])]
    objects += [made("Namespace", one["id"], "namespaces", status={"phase": "Active"}) for one in inputs("namespaces")]
    objects += [made("ClusterRoleBinding", one["id"], "rolebindings", roleRef={"kind": "ClusterRole", "name": one["role"]}, subjects=one["subjects"])
                for one in inputs("rolebindings")]
    # Others have objects too.
    objects += [made("Namespace", "kube-system", None), made("HelmRelease", "grafana", None, spec={}), made("HelmRelease", "platform-theirs", "another-set", spec={}),
                made("ClusterRoleBinding", "system:node", None, roleRef={"kind": "ClusterRole", "name": "system:node"})]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in objects}


class Drift:
    """Scenarios for an inventory in any database."""
    TABLE = None  # the setting

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder, "sqlite", "harbour.json", INVENTORY_URL=self.inventory_url(), INVENTORY_TABLE=self.TABLE)
        self.addCleanup(self.server.stop)
        self.objects = {cluster: rendered(self.server, cluster) for cluster in CLUSTERS}

    def collect(self, cluster, objects=None):
        objects = self.objects[cluster] if objects is None else objects
        harness.write(self.folder / "objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
        self.ends(harness.run("collect", "--manifests", self.folder / "objects.json", "--summary", "none", *self.sink(cluster), env=self.env()), 0)

    def env(self):
        return harness.environment(FLUX_API_URL=f"http://127.0.0.1:{self.server.port}", FLUX_API_TOKEN="read-token", INVENTORY_DSN=self.dsn())

    def drift(self, *args):
        """The report, and its findings without times."""
        report = json.loads(self.ends(harness.run("fleet", "drift", "-o", "json", *args, env=self.env()), 0).stdout)
        for one in report["findings"]:
            self.assertLessEqual(one["since"] or "", one["seen"] or "9")
            self.assertLessEqual(one["seen"] or "", report["at"])
        return report, [self.short(one) for one in report["findings"]]

    @staticmethod
    def short(one):
        """cluster, finding, kind/name of the object, and what is said of it."""
        thing = one["object"] and f"{one['object']['kind']}/{one['object']['name']}"
        told = f"{one['field']}: {one['observed']} <> {one['expected']}" if one["finding"] == "differs" else one["message"]
        return one["cluster"], one["finding"], thing or one["id"], told

    def counts(self, report, clusters, drifting, **findings):
        self.assertEqual(report["summary"], {"clusters": clusters, "drifting": drifting, "findings": sum(findings.values()),
                                             "by_finding": {**NO_FINDINGS, **findings}})

    def forget(self, cluster):
        for table in ("", "_exports"):
            self.sql(f"DELETE FROM {self.TABLE or 'inventory'}{table} WHERE cluster = '{cluster}'")

    def break_things(self):
        """Drift of every kind; the findings that it must make."""
        oslo, cork, lyon = (self.objects[name] for name in ("oslo-prod", "cork-dev", "lyon-qa"))
        del oslo["HelmRelease/platform-certs"]
        del oslo["Namespace/bare"]
        oslo["OCIRepository/charts-edge-proxy"]["spec"]["ref"]["tag"] = "v3.9.0"
        oslo["HelmRelease/platform-dash"]["spec"]["chart"]["spec"]["version"] = "16"
        oslo["HelmRelease/platform-dash"]["status"]["conditions"] = [
            {"type": "Ready", "status": "False", "reason": "UpgradeFailed", "message": "timed out\u001b[2J\nwaiting"}]
        oslo["new"] = made("HelmRelease", "platform-log-shipper", spec={"chartRef": {"name": "charts-log-shipper"}}, status=READY)
        oslo["by hand"] = made("HelmRelease", "platform-rogue", None, spec={})
        oslo["left"] = made("Namespace", "old-team", "namespaces", status={"phase": "Terminating"})
        oslo["kept"] = made("Namespace", "kube-public", "namespaces")
        oslo["kept"]["metadata"]["annotations"] = {"fluxcd.controlplane.io/prune": "disabled"}
        oslo["ClusterRoleBinding/ci-view"]["roleRef"]["name"] = "edit"
        oslo["ClusterRoleBinding/ops-admin"]["subjects"] = [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]
        cork["HelmRelease/platform-certs"]["spec"]["suspend"] = True
        cork["HelmRepository/charts-dash"]["spec"]["url"] = "https://mirror.test"
        cork["Namespace/labels-only"]["status"]["phase"] = "Terminating"
        lyon["Kustomization/platform-edge-proxy"]["spec"]["path"] = "./net/edge-proxy/3.1.0/qa"
        del lyon["OCIRepository/platform-edge-proxy"]
        for cluster in ("oslo-prod", "cork-dev", "lyon-qa"):
            self.collect(cluster)
        self.collect("gone-prod", self.objects["bonn-uat"])
        unknown = "no cluster has this id, cluster_dns or cluster_name alone"
        return [
            ("bonn-uat", "unobserved", None, "the inventory has no rows of this cluster"),
            ("cork-dev", "differs", "HelmRepository/charts-dash", "url: https://mirror.test <> https://charts.harbour.test"),
            ("cork-dev", "suspended", "HelmRelease/platform-certs", None),
            ("cork-dev", "not_ready", "Namespace/labels-only", "phase Terminating"),
            ("lyon-qa", "differs", "Kustomization/platform-edge-proxy", "path: ./net/edge-proxy/3.1.0/qa <> ./qa"),
            ("lyon-qa", "missing", "OCIRepository/platform-edge-proxy", None),
            ("oslo-prod", "missing", "HelmRelease/platform-certs", None),
            ("oslo-prod", "differs", "OCIRepository/charts-edge-proxy", "tag: v3.9.0 <> v4.0.1"),
            ("oslo-prod", "differs", "HelmRelease/platform-dash", "version: 16 <> 17"),
            ("oslo-prod", "not_ready", "HelmRelease/platform-dash", "UpgradeFailed: timed out\u001b[2J\nwaiting"),
            ("oslo-prod", "disabled", "HelmRelease/platform-log-shipper", None),
            ("oslo-prod", "missing", "Namespace/bare", None),
            ("oslo-prod", "differs", "ClusterRoleBinding/ops-admin", "subjects: User eve <> Group ops"),
            ("oslo-prod", "differs", "ClusterRoleBinding/ci-view", "role: edit <> view"),
            ("oslo-prod", "extra", "HelmRelease/platform-rogue", None),
            ("oslo-prod", "extra", "Namespace/old-team", None),
            ("oslo-prod", "extra", "OCIRepository/charts-certs", None),
            ("gone-prod", "unknown_cluster", None, unknown),
        ]

    def test_found_and_corrected(self):
        before = copy.deepcopy(self.objects)
        for cluster in CLUSTERS:
            self.collect(cluster)
        report, found = self.drift()
        self.assertEqual(found, [])
        self.counts(report, 4, 0)
        self.assertEqual(self.ends(harness.run("fleet", "drift", env=self.env()), 0).stdout, "0 findings in 0 of 4 clusters\n")
        self.forget("bonn-uat")
        wanted = self.break_things()
        report, found = self.drift()
        self.assertEqual(found, wanted)
        self.counts(report, 4, 4, missing=3, extra=3, disabled=1, differs=6, not_ready=2, suspended=1, unobserved=1, unknown_cluster=1)
        for one in report["findings"]:
            self.assertEqual(one["since"] is None, one["finding"] in ("missing", "unobserved", "unknown_cluster"), one)
            self.assertEqual(one["seen"] is None, one["finding"] == "unobserved", one)
        one = next(one for one in report["findings"] if one["field"] == "version")
        self.assertEqual({**one, "since": "", "seen": ""}, {
            "cluster": "oslo-prod", "environment": "prod", "finding": "differs", "family": "platform_components", "id": "dash",
            "object": {"kind": "HelmRelease", "namespace": FLUX, "name": "platform-dash"}, "field": "version", "expected": "17", "observed": "16",
            "message": None, "since": "", "seen": ""})
        table = self.ends(harness.run("fleet", "drift", env=self.env()), 0).stdout.splitlines()
        self.assertEqual(len(table), len(wanted) + 2)
        self.assertEqual(table[0].split(), ["CLUSTER", "FINDING", "ITEM", "OBJECT", "FOR", "DETAIL"])
        self.assertEqual(table[9].split("  ")[:1] + table[9].split()[1:5], ["oslo-prod", "differs", "platform_components/dash", "HelmRelease", "flux-system/platform-dash"])
        self.assertTrue(table[9].endswith("version: 16, should be 17"), table[9])
        self.assertTrue(table[10].endswith("UpgradeFailed: timed out?[2J?waiting"), table[10])
        self.assertEqual(table[-1], "18 findings in 4 of 4 clusters")
        self.filters(wanted)
        # Corrected in the clusters, and by wishing what is there.
        for cluster in ("oslo-prod", "lyon-qa", "bonn-uat"):
            self.collect(cluster, before[cluster])
        self.forget("gone-prod")
        self.assertEqual(self.server.write("PUT", "/platform_components/dash", {"oci_url": "https://mirror.test"})[0], 200)
        self.assertEqual(self.server.write("DELETE", "/clusters/cork-dev/namespaces/labels-only")[0], 200)
        before["cork-dev"]["HelmRepository/charts-dash"]["spec"]["url"] = "https://mirror.test"
        del before["cork-dev"]["Namespace/labels-only"]
        self.collect("cork-dev", before["cork-dev"])
        self.assertEqual(self.drift()[1], [("oslo-prod", "differs", "HelmRepository/charts-dash", "url: https://charts.harbour.test <> https://mirror.test")])
        before["oslo-prod"]["HelmRepository/charts-dash"]["spec"]["url"] = "https://mirror.test"
        self.collect("oslo-prod", before["oslo-prod"])
        report, found = self.drift()
        self.assertEqual(found, [])
        self.counts(report, 4, 0)
        # A cluster that left the fleet and is still there.
        self.assertEqual(self.server.write("DELETE", "/clusters/lyon-qa")[0], 200)
        [(cluster, finding, _, message)] = self.drift()[1]
        self.assertEqual((cluster, finding), ("lyon-qa", "unknown_cluster"))
        self.assertIn("the cluster was deleted at 2", message)

    def filters(self, wanted):
        def only(test, *args):
            report, found = self.drift(*args)
            self.assertEqual(found, [one for one in wanted if test(*one)], args)
            return report
        self.counts(only(lambda cluster, *_: cluster == "cork-dev", "--cluster", "cork-dev"), 1, 1, differs=1, suspended=1, not_ready=1)
        self.counts(only(lambda cluster, *_: cluster == "gone-prod", "--cluster", "gone-prod"), 0, 0, unknown_cluster=1)
        self.counts(only(lambda cluster, *_: cluster == "lyon-qa", "--environment", "qa"), 1, 1, differs=1, missing=1)
        self.counts(only(lambda _, finding, *__: finding == "extra", "--finding", "extra"), 4, 1, extra=3)
        self.counts(only(lambda cluster, finding, *_: finding == "unobserved", "--finding", "unobserved", "--environment", "uat"), 1, 1, unobserved=1)
        self.counts(only(lambda _, __, thing, ___: thing and thing.endswith("-edge-proxy"), "--component", "edge-proxy"), 4, 2, differs=2, missing=1)
        # Nobody knows how long something is missing, but the wish for it is younger than an hour too: the store is new, the seed is not in its trail.
        only(lambda _, finding, *__: finding in ("missing", "unobserved", "unknown_cluster"), "--older-than", "1h")
        self.assertEqual(self.server.write("PATCH", "/clusters/oslo-prod", {"platform_components": [{"id": "certs", "oci_tag": "v4.0.0"}]})[0], 200)
        only(lambda _, finding, thing, __: finding in ("missing", "unobserved", "unknown_cluster") and thing != "HelmRelease/platform-certs", "--older-than", "1h")
        only(lambda *_: True, "--older-than", "0s")
        stale = [one for one in self.drift("--max-age", "0s")[1] if one[1] == "stale"]
        self.assertEqual([one[0] for one in stale], ["cork-dev", "lyon-qa", "oslo-prod"])
        # Pages.
        whole = self.drift()[0]
        for limit in (1, 4, 7):
            findings, cursor, first = [], "", True
            while cursor is not None:
                status, page = self.server.read(f"/drift?limit={limit}&cursor={urllib.parse.quote(cursor)}" if cursor else f"/drift?limit={limit}")
                self.assertEqual(status, 200)
                self.assertEqual(page["summary"], whole["summary"] if first else None)
                self.assertLessEqual(len(page["findings"]), limit)
                findings += page["findings"]
                cursor, first = page["cursor"], False
            self.assertEqual(findings, whole["findings"], limit)
        self.assertEqual(self.drift("--limit", "3")[1], wanted[:3])

    def test_names_of_clusters(self):
        for name, cluster in (("oslo-prod.harbour.test", "oslo-prod"), ("CORK-DEV", "cork-dev"), ("bonn-uat", "bonn-uat"), ("nobody", "lyon-qa")):
            self.collect(name, self.objects[cluster])
        for table in ("", "_exports"):
            self.sql(f"UPDATE {self.TABLE or 'inventory'}{table} SET cluster = '' WHERE cluster = 'nobody'")
        report, found = self.drift()
        self.assertEqual(found, [("lyon-qa", "unobserved", None, "the inventory has no rows of this cluster"),
                                 ("", "unknown_cluster", None, "rows without a cluster: the sink has no spec.cluster")])
        # A name of one cluster that is the id of another is the other's.
        self.server.write("PUT", "/clusters/cork-dev", {"cluster_name": "bonn-uat"})
        self.assertEqual([one[:2] for one in self.drift()[1] if one[0]],
                         [("cork-dev", "unobserved"), ("lyon-qa", "unobserved"), ("CORK-DEV", "unknown_cluster")])
        self.assertEqual(report["summary"]["clusters"], 4)

    def test_wrong_questions(self):
        self.collect("bonn-uat")
        for query in ("finding=none", "older_than=soon", "max_age=-1h", "limit=x", "cursor=x", "cursor=c.", "cursor=cx.a"):
            status, _, text = self.server.ask("GET", f"/drift?{query}", headers=READ)
            self.assertEqual((status, json.loads(text)["error"]), (400, "validation_error"), query)
        self.assertEqual(self.server.ask("GET", "/drift", headers=WRITE)[0], 401)
        self.assertEqual(self.server.ask("POST", "/drift", {}, WRITE)[0], 405)
        ended = harness.run("fleet", "drift", "-o", "xml", env=self.env())
        self.assertEqual(ended.returncode, 2, ended.stderr)

    def refuses(self, status, **settings):
        other = Server(self.folder, "memory", "harbour.json", **settings)
        try:
            got, answer = other.read("/drift")
            self.assertEqual(got, status, answer)
            env = {**self.env(), "FLUX_API_URL": f"http://127.0.0.1:{other.port}"}
            ended = harness.run("fleet", "drift", env=env)
            self.assertEqual((ended.returncode, ended.stdout), (1, ""))
            self.assertIn(answer["message"], ended.stderr)
            self.assertNotIn("secret", answer["message"])
            return answer["message"]
        finally:
            other.stop()


class OnSqlite(Drift, harness.Case):
    TABLE = None

    def inventory_url(self):
        return f"sqlite://{self.folder}/inventory.db"

    def dsn(self):
        return ""

    def sink(self, cluster):
        return "--config", DRIFT, "--cluster", cluster, "--sqlite", self.folder / "inventory.db"

    def sql(self, text, *values):
        connection = sqlite3.connect(self.folder / "inventory.db")
        with connection:
            changed = connection.execute(text, values).rowcount
        connection.close()
        return changed

    def test_a_row_that_is_none_harms_nobody_else(self):
        self.collect("oslo-prod")
        self.collect("cork-dev")
        where = "WHERE cluster = 'oslo-prod' AND json_extract(payload, '$.name') = 'platform-certs'"
        for payload in ("{", "[]", '{"kind":"HelmRelease","name":"platform-certs"}', '{"kind":1,"name":[],"attributes":{}}', "\xff"):
            self.forget("oslo-prod")
            self.collect("oslo-prod")
            self.assertEqual(self.sql(f"UPDATE inventory SET payload = ? {where}", payload), 1)
            found = self.drift("--cluster", "oslo-prod")[1]
            self.assertEqual([one[:2] for one in found], [("oslo-prod", "unreadable"), ("oslo-prod", "missing"), ("oslo-prod", "extra")])
            self.assertIn("the row of target fleet-helm-releases cannot be read", found[0][3])
            self.assertEqual(self.drift("--cluster", "cork-dev")[1], [])
        # Attributes of other types are as good as none.
        self.forget("oslo-prod")
        self.collect("oslo-prod")
        self.sql(f"UPDATE inventory SET payload = json_set(payload, '$.attributes.chartRef', 1, '$.attributes.ready', 'yes') {where}")
        self.assertEqual([one[1] for one in self.drift("--cluster", "oslo-prod")[1]], ["differs", "not_ready"])

    def test_without_an_inventory(self):
        self.assertIn("INVENTORY_URL is not set", self.refuses(404))
        self.assertIn("the inventory cannot be read", self.refuses(503, INVENTORY_URL=f"sqlite://{self.folder}/none.db"))
        self.collect("bonn-uat")
        self.assertIn("there is no table other", self.refuses(503, INVENTORY_URL=self.inventory_url(), INVENTORY_TABLE="other"))
        harness.write(self.folder / "text.db", "no database" * 1000)
        self.assertIn("the inventory cannot be read", self.refuses(503, INVENTORY_URL=f"sqlite://{self.folder}/text.db"))
        with self.assertRaisesRegex(AssertionError, "INVENTORY_URL: must be"):
            Server(self.folder, "memory", "harbour.json", INVENTORY_URL="mysql://secret@x")


class OnPostgres(Drift, harness.Case):
    TABLE = "fleet_inventory"

    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres("drift")

    @classmethod
    def tearDownClass(cls):
        cls.postgres.script("stop")

    def setUp(self):
        self.schema = f"t{self.id().rsplit('.', 1)[1]}"
        self.postgres.sql(f"CREATE SCHEMA {self.schema}")
        super().setUp()
        self.config = self.folder / "sink"
        harness.write(self.config / "secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: fleet-inventory, namespace: kollect-fleet}\n"
                      'stringData: {dsn: "${env:INVENTORY_DSN}"}\n')

    def inventory_url(self, port=None):
        return f"postgres://test:secret@127.0.0.1:{port or self.postgres.values['PGPORT']}/test?options=-csearch_path%3D{self.schema}"

    def dsn(self):
        # Loopback addresses are refused to sinks, local sockets are not.
        return f"host={self.postgres.values['PG_SOCKETS']} port={self.postgres.values['PGPORT']} user=test password=secret dbname=test"

    def sink(self, cluster):
        text = (DRIFT / "postgres/inventory.yaml").read_text()
        self.assertEqual(text.count("cluster: eu-1"), 1)
        text = text.replace("cluster: eu-1", f"cluster: '{cluster}'").replace("{databaseRef", f"{{schema: {self.schema}, databaseRef")
        harness.write(self.config / "sink.yaml", text)
        return "--config", DRIFT, "--config", self.config

    def sql(self, text):
        self.postgres.sql(text, self.schema)

    def test_without_an_inventory(self):
        self.assertIn("there is no table fleet_inventory", self.refuses(503, INVENTORY_URL=self.inventory_url(), INVENTORY_TABLE="fleet_inventory"))
        self.assertIn("the inventory cannot be read", self.refuses(503, INVENTORY_URL=self.inventory_url(harness.free_port()), INVENTORY_TABLE="fleet_inventory"))
        self.collect("bonn-uat")
        whole = self.refuses_nothing(INVENTORY_URL=self.inventory_url().split("?")[0], INVENTORY_TABLE=f"{self.schema}.fleet_inventory")
        self.assertEqual(whole["summary"]["by_finding"]["unobserved"], 3)

    def refuses_nothing(self, **settings):
        other = Server(self.folder, "memory", "harbour.json", **settings)
        try:
            status, answer = other.read("/drift")
            self.assertEqual(status, 200, answer)
            return answer
        finally:
            other.stop()


del Drift

if __name__ == "__main__":
    harness.main()
