#!/usr/bin/env python3
"""The fleet API and its consumer: the real Flux Operator asks `kollect fleet serve`, renders the sets of deploy/fleet on a real
kube-apiserver, and what it makes is looked at."""
import json
import pathlib
import socket
import ssl
import tempfile

import flux_cluster
import harness
import operator_test as op
from fleet_test import Server
from fleet_tls_test import Authority, TlsServer
from flux_cluster import NAMES, PROVIDERS, SETS, Cluster

TEMPORARY = tempfile.TemporaryDirectory(prefix="kollect-e2e-flux-")
API, OUTAGE = {}, {}
INVENTORY = pathlib.Path(TEMPORARY.name) / "inventory.db"
AWKWARD = 'say "hi"\nback\\slash: colon # hash\t\'q\' {a,b} [c] << no >> ${x} {{ y }} é \u2028 <b>& %s *a !b |'


def setUpModule():
    flux_cluster.start()
    Outage.begin()
    API["server"] = Server(TEMPORARY.name, "sqlite", "empty.json", INVENTORY_URL=f"sqlite://{INVENTORY}")


def tearDownModule():
    API["server"].stop()
    flux_cluster.stop()
    TEMPORARY.cleanup()


def component(name, path, tag="v1.0.0", url="oci://registry.test/platform", version="1.0", **more):
    return {"id": name, "component_path": path, "component_version": version, "oci_url": url, "oci_tag": tag, "depends_on": [], **more}


class Scenario(harness.Case):
    asked = NAMES  # what takes its turn with every change

    def setUp(self):
        super().setUp()
        self.server = API["server"]

    def write(self, method, path, body=None, status=200):
        got, answer = self.server.write(method, path, body)
        self.assertEqual(got, status, answer)
        return answer

    def catalog(self, *records):
        for one in records:
            self.write("POST", "/platform_components", one)

    def cluster(self, name, environment="dev", form="helm", **record):
        """A cluster of the API and of Kubernetes; not yet settled."""
        options = {key: record.pop(key) for key in ("every", "timeout") if key in record}
        body = {"id": name, "cluster_name": name.upper(), "cluster_dns": f"{name}.test", "environment": environment, "platform_components": [], **record}
        self.write("POST", "/clusters", body)
        return Cluster(name, f"http://127.0.0.1:{self.server.port}", form, **options)

    def change(self, cluster, **body):
        self.write("PATCH", f"/clusters/{cluster.name}", body)

    def comes_to(self, look, wanted):
        """The operator may have seen a set's turn before the inputs that came first; then it takes another by itself."""
        seen = []
        try:
            op.until("as wanted", lambda: seen.append(look()) or seen[-1] == wanted)
        except AssertionError:
            self.assertEqual(seen[-1], wanted)

    def all_ready(self, cluster):
        for kind in (PROVIDERS, SETS):
            self.comes_to(lambda kind=kind: {name: status for name, (status, _) in cluster.ready(kind).items()}, dict.fromkeys(NAMES, "True"))

    def no_drift(self, cluster):
        """The API finds in what was rendered what it told, but that nothing works: no controller is here."""
        objects = cluster.rendered()
        # Lists of Kubernetes' own kinds do not name them.
        own = {"Namespace": "v1", "ConfigMap": "v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1"}
        items = [{"kind": kind, "apiVersion": own.get(kind), **one} for kind, one in ((name.split("/")[0], one) for name, one in objects.items())]
        harness.write(self.folder / "objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        self.ends(harness.run("collect", "--config", flux_cluster.DEPLOY / "drift", "--manifests", self.folder / "objects.json", "--cluster", cluster.name,
                              "--sqlite", INVENTORY), 0)
        status, report = self.server.read(f"/drift?cluster={cluster.name}")
        self.assertEqual(status, 200, report)
        found = {(one["finding"], f"{one['object']['kind']}/{one['object']['name']}") for one in report["findings"]}
        flux = ("HelmRelease/", "Kustomization/", "OCIRepository/", "HelmRepository/")
        self.assertEqual(found, {("not_ready", name) for name in objects if name.startswith(flux)})

    def renders(self, cluster, names):
        cluster.settle(self.asked)
        self.comes_to(lambda: set(cluster.rendered()), set(names))
        self.all_ready(cluster)

    def untouched_but(self, cluster, names, change):
        """Makes a change, lets the cluster settle, and expects that exactly these objects are others than before."""
        before = cluster.marks()
        change()
        cluster.settle(self.asked)

        def changed():
            after = cluster.marks()
            return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.comes_to(changed, set(names))


class Rollout(Scenario):
    asked = NAMES[:1]

    def setUp(self):
        super().setUp()
        self.catalog(component("certs", "core/certs/1.14.0"), component("grafana", "observability/grafana/17.0.0", depends_on=["certs"]))

    def tearDown(self):
        for name in ("grafana", "certs"):
            self.write("DELETE", f"/platform_components/{name}?force=true")

    def test_providers_and_sets_are_ready_and_hold_our_answers(self):
        self.write("POST", "/namespaces", {"id": "shown-in-status", "labels": {"a": "b"}})
        one = self.cluster("answers", platform_components=[{"id": "certs"}, {"id": "grafana", "enabled": False}], namespaces=[{"id": "shown-in-status"}],
                           every="1s")
        self.all_ready(one)
        for name, provider in one.of(PROVIDERS).items():
            _, answer = self.server.read(f"/api/v2/flux/clusters/answers.test/{name}" + ("?dependencies=enabled" if name == NAMES[0] else ""))
            self.assertEqual(provider["status"].get("exportedInputs", []), answer["inputs"], name)
        # A poll finds what is new without being asked to.
        self.change(one, platform_components=[{"id": "grafana", "enabled": True}])
        op.until("grafana is there", lambda: "HelmRelease/platform-grafana" in one.rendered())

    def test_one_tier_after_the_other_then_upgrade_canary_and_hotfix(self):
        dev, prod = self.cluster("dev", "dev"), self.cluster("prod", "prod")
        for one in (dev, prod):
            self.renders(one, ())
        both = [{"id": "certs"}, {"id": "grafana"}]
        # Rollout: the first tier, and only that one.
        self.change(dev, platform_components=both)
        names = {f"{kind}-{name}" for name in ("certs", "grafana") for kind in ("HelmRelease/platform", "OCIRepository/charts")}
        self.renders(dev, names)
        self.renders(prod, ())
        self.change(prod, platform_components=both)
        self.renders(prod, names)
        self.assertEqual(prod.specs(), dev.specs())
        self.assertEqual(dev.specs()["HelmRelease/platform-grafana"]["dependsOn"], [{"name": "platform-certs"}])
        self.assertNotIn("dependsOn", dev.specs()["HelmRelease/platform-certs"])
        # Canary: path and tag of one component of one cluster.
        self.untouched_but(dev, {"OCIRepository/charts-grafana"}, lambda: self.change(
            dev, platform_components=[{"id": "grafana", "component_path": "observability/grafana/17.1.0", "oci_tag": "v1.1.0-rc1"}]))
        self.untouched_but(prod, (), lambda: None)
        source = dev.specs()["OCIRepository/charts-grafana"]
        self.assertEqual((source["url"], source["ref"]), ("oci://registry.test/platform/observability/grafana/17.1.0", {"tag": "v1.1.0-rc1"}))
        # Upgrade: the catalog moves whoever has no override.
        self.untouched_but(prod, {"OCIRepository/charts-grafana"}, lambda: self.write(
            "PUT", "/platform_components/grafana", {"component_path": "observability/grafana/17.2.0"}))
        self.untouched_but(dev, (), lambda: None)
        self.assertEqual(prod.specs()["OCIRepository/charts-grafana"]["url"], "oci://registry.test/platform/observability/grafana/17.2.0")
        # Hotfix: the tag of one component where it is needed.
        self.untouched_but(prod, {"OCIRepository/charts-certs"}, lambda: self.change(prod, platform_components=[{"id": "certs", "oci_tag": "v1.0.0-1"}]))
        self.untouched_but(dev, (), lambda: None)
        self.assertEqual(prod.specs()["OCIRepository/charts-certs"]["ref"], {"tag": "v1.0.0-1"})

    def test_patches_and_disabling(self):
        one = self.cluster("patched", platform_components=[{"id": "certs"}, {"id": "grafana"}])
        self.renders(one, {f"{kind}-{name}" for name in ("certs", "grafana") for kind in ("HelmRelease/platform", "OCIRepository/charts")})
        self.untouched_but(one, {"HelmRelease/platform-grafana", "ConfigMap/values-grafana-patched"},
                           lambda: self.change(one, patches={"grafana": {"replicas": "3", "service.type": "NodePort"}}))
        self.assertEqual(one.specs()["ConfigMap/values-grafana-patched"], {"replicas": "3", "service.type": "NodePort"})
        self.assertEqual(one.rendered()["ConfigMap/values-grafana-patched"]["metadata"]["labels"]["reconcile.fluxcd.io/watch"], "Enabled")
        values = one.specs()["HelmRelease/platform-grafana"]["valuesFrom"]
        self.assertEqual(values, [{"kind": "Secret", "name": "values-grafana", "optional": True}]
                         + [{"kind": "ConfigMap", "name": "values-grafana-patched", "valuesKey": key, "targetPath": key} for key in ("replicas", "service.type")])
        self.untouched_but(one, {"ConfigMap/values-grafana-patched"}, lambda: self.change(one, patches={"grafana": {"replicas": "5"}}))
        # A disabled component goes with its source, and nobody waits for it.
        self.untouched_but(one, {"HelmRelease/platform-certs", "OCIRepository/charts-certs", "HelmRelease/platform-grafana"},
                           lambda: self.change(one, platform_components=[{"id": "certs", "enabled": False}]))
        self.assertNotIn("dependsOn", one.specs()["HelmRelease/platform-grafana"])
        self.assertNotIn("HelmRelease/platform-certs", one.rendered())
        self.untouched_but(one, set(one.rendered()), lambda: self.change(one, platform_components=[{"id": "grafana", "enabled": False}]))
        self.assertEqual(one.rendered(), {})
        self.all_ready(one)


class Forms(Scenario):
    asked = NAMES[:1]

    def test_charts_of_registries_and_of_repositories(self):
        tag = {"a": "v1", "b": "", "c": "latest", "d": "latest"}
        version = {"a": "9", "b": "2.0", "c": "3.0", "d": "latest"}
        self.catalog(*(component(f"{kind}-{key}", "charts/x", tag[key], url, version[key])
                       for key in tag for kind, url in (("oci", "oci://registry.test/helm/"), ("http", "https://charts.test"))))
        one = self.cluster("charts", platform_components=[{"id": f"{kind}-{key}"} for key in tag for kind in ("oci", "http")])
        self.renders(one, {f"{kind}-{key}" for key in tag for kind in (
            "HelmRelease/platform-oci", "HelmRelease/platform-http", "OCIRepository/charts-oci", "HelmRepository/charts-http")})
        specs = one.specs()
        self.assertEqual([specs[f"OCIRepository/charts-oci-{key}"]["ref"] for key in tag], [{"tag": "v1"}, {"tag": "2.0"}, {"tag": "3.0"}, {"semver": "*"}])
        self.assertEqual({specs[f"OCIRepository/charts-oci-{key}"]["url"] for key in tag}, {"oci://registry.test/helm/charts/x"})
        self.assertEqual(specs["HelmRelease/platform-oci-a"]["chartRef"], {"kind": "OCIRepository", "name": "charts-oci-a"})
        charts = [specs[f"HelmRelease/platform-http-{key}"]["chart"]["spec"] for key in tag]
        self.assertEqual([chart.get("version") for chart in charts], ["v1", "2.0", "3.0", "*"])
        self.assertEqual(charts[0]["chart"], "charts/x")
        self.assertEqual((specs["HelmRepository/charts-http-a"]["url"], charts[0]["sourceRef"]), ("https://charts.test", {"kind": "HelmRepository", "name": "charts-http-a"}))
        release = specs["HelmRelease/platform-oci-a"]
        self.assertEqual((release["releaseName"], release["targetNamespace"], release["install"]["createNamespace"]), ("oci-a", "oci-a", True))
        self.no_drift(one)

    def test_kustomize_paths_of_every_environment(self):
        self.catalog(component("tiered", "core/tiered/1.0", cluster_env_enabled=True), component("flat", "core/flat", tag="v2", depends_on=["tiered", "absent"]),
                     component("slashes", "/core//slashes/", cluster_env_enabled=True), component("rootless", "", cluster_env_enabled=True))
        wanted = [{"id": "tiered"}, {"id": "flat"}, {"id": "slashes"}, {"id": "rootless"}]
        clusters = {tier: self.cluster(f"tier-{tier}", tier, "kustomize", platform_components=wanted) for tier in ("dev", "qa", "uat", "prod")}
        for tier, one in clusters.items():
            self.renders(one, {f"{kind}/platform-{name['id']}" for name in wanted for kind in ("OCIRepository", "Kustomization")})
            specs = one.specs()
            self.assertEqual({name: specs[f"Kustomization/platform-{name}"]["path"] for name in ("tiered", "flat", "slashes", "rootless")},
                             {"tiered": f"./core/tiered/1.0/{tier}", "flat": "./core/flat", "slashes": f"./core//slashes/{tier}", "rootless": f"./{tier}"})
            self.assertEqual(specs["Kustomization/platform-flat"]["dependsOn"], [{"name": "platform-tiered"}], "what is not assigned does not block")
            self.assertEqual({name: specs[f"OCIRepository/platform-{name}"]["ref"]["tag"] for name in ("tiered", "flat")}, {"tiered": "v1.0.0", "flat": "v2"})
        dev = clusters["dev"]
        self.untouched_but(dev, {"Kustomization/platform-tiered"}, lambda: self.change(
            dev, platform_components=[{"id": "tiered", "component_path": "core/tiered/2.0"}], patches={"tiered": {"replica.count": "3", "1st": AWKWARD}}))
        spec = dev.specs()["Kustomization/platform-tiered"]
        self.assertEqual((spec["path"], spec["postBuild"]["substitute"]), ("./core/tiered/2.0/dev", {"replica_count": "3", "_1st": AWKWARD}))
        self.assertEqual([one["name"] for one in spec["postBuild"]["substituteFrom"]], ["cluster-identity", "values-tiered"])
        self.untouched_but(dev, {"OCIRepository/platform-tiered"}, lambda: self.change(dev, platform_components=[{"id": "tiered", "oci_tag": "v1.0.0-1"}]))
        self.untouched_but(dev, {"OCIRepository/platform-flat", "Kustomization/platform-flat"},
                           lambda: self.change(dev, platform_components=[{"id": "flat", "enabled": False}]))
        for one in clusters.values():
            self.no_drift(one)

    def test_awkward_values(self):
        ids = ("a/b", "a-b", "123", "Ünï/Code", "x" * 80, "日本", "true")
        self.catalog(*(component(name, "p: #/\"q\"\\", "t'\"", 'https://x.test/"a"', depends_on=["a/b"] if name == "a-b" else []) for name in ids))
        self.write("POST", "/namespaces", {"id": "Awk Ward", "labels": {"good": "1", "bad": "b c", "bad key": "1"}, "annotations": {"a": AWKWARD, "b c": "d"}})
        patches = {"v": AWKWARD, "x.y[0].z": "1", "a b": "no path", "..k": "dots", "a\\.b/c": "true", "empty": ""}
        one = self.cluster("awkward", platform_components=[{"id": name} for name in ids], namespaces=[{"id": "Awk Ward"}], patches={"a/b": patches})
        one.settle()
        self.comes_to(lambda: len(one.rendered()), 2 * len(ids) + 2)
        self.all_ready(one)
        specs = one.specs()
        releases = {name: spec for name, spec in specs.items() if name.startswith("HelmRelease/")}
        self.assertEqual(len(releases), len(ids), "no two ids share a name")
        self.assertEqual({(spec["chart"]["spec"]["chart"], spec["chart"]["spec"]["version"]) for spec in releases.values()}, {('p: #/"q"\\', "t'\"")})
        [slashed] = [name.split("platform-")[1] for name in releases if name.startswith("HelmRelease/platform-a-b-")]
        self.assertEqual(releases["HelmRelease/platform-a-b"]["dependsOn"], [{"name": f"platform-{slashed}"}])
        self.assertEqual(releases["HelmRelease/platform-123"]["releaseName"], "123")
        data = specs[f"ConfigMap/values-{slashed}-awkward"]
        paths = {entry["targetPath"]: data[entry["valuesKey"]] for entry in releases[f"HelmRelease/platform-{slashed}"]["valuesFrom"][1:]}
        self.assertEqual(paths, {key: value for key, value in patches.items() if key != "a b"})
        self.assertEqual(one.rendered()[f"HelmRelease/platform-{slashed}"]["metadata"]["annotations"]["kollect.dev/refused"], "a b")
        [namespace] = [found["metadata"] for name, found in one.rendered().items() if name.startswith("Namespace/awk-ward-")]
        self.assertEqual(namespace["annotations"], {"a": AWKWARD, "kollect.dev/refused": "bad, bad key, b c"})
        self.assertEqual({key: value for key, value in namespace["labels"].items() if "/" not in key}, {"good": "1"})
        self.no_drift(one)
        # With these a poll would fail as a whole.
        for text in ("\x7f", "\x80", "\x9f", "\ufffe", "\uffff"):
            self.write("PUT", "/namespaces/Awk%20Ward", {"annotations": {"a": text}}, status=422)


class Access(Scenario):
    asked = NAMES[1:]

    def test_namespaces_and_bindings(self):
        self.write("POST", "/namespaces", {"id": "team-a", "labels": {"team": "a"}})
        self.write("POST", "/namespaces", {"id": "kube-public"})
        self.write("POST", "/rolebindings", {"id": "team:a", "role": "view", "subjects": [
            {"kind": "ServiceAccount", "name": "bot", "namespace": "team-a"}, {"kind": "User", "name": "ann@x.test"},
            {"kind": "Group", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount", "name": "nowhere"}, {"name": "no kind"}]})
        one = self.cluster("access", namespaces=[{"id": "team-a"}, {"id": "kube-public"}], rolebindings=[{"id": "team:a"}])
        self.renders(one, {"Namespace/team-a", "Namespace/kube-public", "ClusterRoleBinding/team:a"})
        group = "rbac.authorization.k8s.io"
        binding = one.rendered()["ClusterRoleBinding/team:a"]
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "bot", "namespace": "team-a"}, {"apiGroup": group, "kind": "User", "name": "ann@x.test"},
                                               {"apiGroup": group, "kind": "Group", "name": "a"}])
        self.untouched_but(one, {"Namespace/team-a"}, lambda: self.write("PUT", "/namespaces/team-a", {"labels": {"team": "b"}}))
        self.assertEqual(one.rendered()["Namespace/team-a"]["metadata"]["labels"]["team"], "b")
        self.untouched_but(one, {"ClusterRoleBinding/team:a"}, lambda: self.write("PUT", "/rolebindings/team:a", {"role": "edit"}))
        self.assertEqual(one.rendered()["ClusterRoleBinding/team:a"]["roleRef"]["name"], "edit", "another role is another binding")
        self.no_drift(one)
        self.write("PUT", f"/clusters/{one.name}", {"namespaces": [], "rolebindings": []})
        self.renders(one, {"Namespace/kube-public"})  # what a cluster cannot do without is not deleted
        self.no_drift(one)

    def test_more_than_a_hundred(self):
        names = [f"many-{number:03}" for number in range(120)]
        for name in names:
            self.write("POST", "/rolebindings", {"id": name, "role": "view", "subjects": []})
        one = self.cluster("many", rolebindings=[{"id": name} for name in names])
        self.renders(one, {f"ClusterRoleBinding/{name}" for name in names})


class Frozen(Scenario):
    def full(self, name):
        """A cluster with one of everything."""
        self.write("POST", "/rolebindings", {"id": name, "role": "view", "subjects": []})
        one = self.cluster(name, platform_components=[{"id": "certs"}], patches={"certs": {"a": "b"}}, rolebindings=[{"id": name}])
        self.renders(one, {"HelmRelease/platform-certs", "OCIRepository/charts-certs", f"ConfigMap/values-certs-{name}", f"ClusterRoleBinding/{name}"})
        return one

    @staticmethod
    def state(one):
        """All that a poll could change."""
        return one.marks(), {name: provider["status"].get("exportedInputs") for name, provider in one.of(PROVIDERS).items()}

    def frozen(self, one, state, message):
        told = set()

        def all_failed():
            told.update(name for name, (status, text) in one.ready(PROVIDERS).items() if status == "False" and message in text)
            return told == set(NAMES)
        op.until(f"every poll failed with {message}", all_failed)
        one.hurry(SETS)
        self.assertEqual(self.state(one), state)


class Endings(Frozen):
    def setUp(self):
        super().setUp()
        self.catalog(component("certs", "core/certs"))

    def tearDown(self):
        self.write("DELETE", "/platform_components/certs?force=true")

    def test_an_unknown_name_and_a_wrong_token_freeze(self):
        one = self.full("renamed")
        state = self.state(one)
        self.change(one, cluster_dns="new.test")
        one.ask(PROVIDERS)
        self.frozen(one, state, "404")
        one.authenticate("wrong")
        one.ask(PROVIDERS)
        self.frozen(one, state, "401")
        one.authenticate("read-token")
        self.change(one, cluster_dns=one.dns)
        one.settle()
        self.all_ready(one)
        self.assertEqual(self.state(one), state)

    def test_decommissioned(self):
        one, other = self.full("leaving"), self.full("staying")
        state = self.state(other)
        self.write("DELETE", f"/clusters/{one.name}")
        self.renders(one, ())
        other.settle()
        self.assertEqual(self.state(other), state)


class Outage(Frozen):
    """Begins before all other tests and is looked at later: a poll gives up after a quarter of a minute."""

    def setUp(self):
        super().setUp()
        self.server = OUTAGE["server"]

    @classmethod
    def begin(cls):
        case = cls("test_freezes_and_ends")
        folder = pathlib.Path(TEMPORARY.name) / "outage"
        folder.mkdir()
        case.server = Server(folder, "sqlite", "empty.json")
        try:
            case.catalog(component("certs", "core/certs"))
            one = case.full("outage")
            OUTAGE.update(one=one, server=case.server, state=cls.state(one))
        finally:
            case.server.stop()
        OUTAGE["port"] = socket.socket()  # nobody listens, and nobody else takes it
        OUTAGE["port"].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        OUTAGE["port"].bind(("127.0.0.1", case.server.port))
        one.ask(PROVIDERS)

    def test_freezes_and_ends(self):
        one = OUTAGE["one"]
        self.frozen(one, OUTAGE["state"], "connection refused")
        OUTAGE["port"].close()
        self.server = Server(self.server.folder, "sqlite", "empty.json", port=self.server.port)
        self.addCleanup(self.server.stop)
        self.untouched_but(one, {"OCIRepository/charts-certs"}, lambda: self.change(one, platform_components=[{"id": "certs", "oci_tag": "v2"}]))
        self.all_ready(one)

class Secured(Scenario):
    def test_tls_both_ways_and_a_token_of_one_cluster(self):
        authority = Authority(self.folder, "authority")
        for path, name in zip(authority.issue("server"), ("tls.pem", "tls.key")):
            path.rename(self.folder / name)
        certificate, key = authority.issue("client")
        context = ssl.create_default_context(cafile=authority.certificate)
        context.load_cert_chain(certificate, key)
        made = json.loads(self.ends(harness.run("fleet", "token", "new", "oslo", "--role", "reader", "--cluster-dns", "oslo-prod.harbour.test"), 0).stdout)
        tokens = harness.write(self.folder / "tokens.yaml", json.dumps({"tokens": [made["entry"]]}))
        server = TlsServer(self.folder, authority, context, TLS_CLIENT_CA_FILE=str(authority.certificate), TOKENS_FILE=str(tokens))
        self.addCleanup(server.stop)
        pair = {"ca.crt": authority.certificate, "tls.crt": certificate, "tls.key": key}
        one = Cluster("oslo", f"https://127.0.0.1:{server.port}", dns="oslo-prod.harbour.test", component="private-ca", secrets={
            "internal-api-token": {"username": "oslo", "password": made["token"]},
            "internal-api-ca": {name: path.read_text(encoding="utf-8") for name, path in pair.items()}})
        self.renders(one, {"HelmRelease/platform-certs", "HelmRelease/platform-edge-proxy", "HelmRelease/platform-dash", "OCIRepository/charts-certs",
                           "OCIRepository/charts-edge-proxy", "HelmRepository/charts-dash", "ConfigMap/values-edge-proxy-oslo-prod",
                           "Namespace/payments", "Namespace/bare", "ClusterRoleBinding/ops-admin", "ClusterRoleBinding/ci-view"})
        self.assertEqual(one.specs()["HelmRelease/platform-edge-proxy"]["dependsOn"], [{"name": "platform-certs"}])


if __name__ == "__main__":
    harness.main()
