#!/usr/bin/env python3
"""The manifests of deploy/fleet and the chart: Kubernetes takes them, they say the same, and their pods' commands run."""
import json
import pathlib
import signal
import unittest
import urllib.parse

import flux_cluster
import harness
import operator_test as op
from fleet_test import Server
from flux_cluster import NAMES

CHART = harness.ROOT / "charts/kollect-fleet"


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.server("flux-operator.sh", "kinds")


def tearDownModule():
    op.server("flux-operator.sh", "stop")
    op.server("kube.sh", "stop")


class Manifests(unittest.TestCase):
    def test_every_folder_builds_and_kubernetes_takes_it(self):
        folders = [path.parent for path in sorted(flux_cluster.DEPLOY.rglob("kustomization.yaml")) if "kind: Component" not in path.read_text(encoding="utf-8")]
        self.assertGreaterEqual(len(folders), 5)
        for folder in folders:
            with self.subTest(str(folder.relative_to(flux_cluster.DEPLOY))):
                text = flux_cluster.render(folder)
                # Only with an identity have the providers an address.
                if "INTERNAL_API_URL/api" not in text:
                    op.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)

    def test_the_example_asks_for_its_own_cluster(self):
        text = flux_cluster.render(pathlib.Path(flux_cluster.DEPLOY / "examples/cluster"))
        for name in NAMES:
            self.assertIn(f"url: https://fleet.harbour.test/api/v2/flux/clusters/oslo-prod.harbour.test/{name}", text)


class Deployments(harness.Case):
    """What the pods of the demo would run, run here: their command, settings, tokens, seed and probes, with folders for their volumes."""

    def pod(self, objects, name):
        """A started server and its container."""
        spec = objects["Deployment", name]["spec"]["template"]["spec"]
        [container] = spec["containers"]
        self.assertEqual(container["command"], ["kollect", "fleet", "serve"])
        env = {}
        for entry in container["env"]:
            reference = entry.get("valueFrom", {}).get("secretKeyRef")
            env[entry["name"]] = objects["Secret", reference["name"]]["stringData"][reference["key"]] if reference else entry["value"]
        mounts = {}
        for mount in container["volumeMounts"]:
            if mount["mountPath"] == "/tmp":
                continue
            mounts[mount["mountPath"]] = self.folder / mount["name"]
            mounts[mount["mountPath"]].mkdir(exist_ok=True)
        [seed] = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
        for file, text in objects["ConfigMap", seed]["data"].items():
            harness.write(mounts["/seed"] / file, text)
        port = harness.free_port()
        for key, value in env.items():
            for path, folder in mounts.items():
                for start in ("", "sqlite://"):
                    if value.startswith(f"{start}{path}/"):
                        value = f"{start}{folder}{value.removeprefix(start + path)}"
            env[key] = value.replace("0.0.0.0:8080", f"127.0.0.1:{port}")
        (self.folder / name).mkdir()
        unset = {"STORE_BACKEND": None, "CRUD_AUTH_TOKEN": None}
        server = Server(self.folder / name, None, "empty.json", port=port, **{**unset, **env})
        self.addCleanup(lambda: server.stop(signal.SIGKILL))
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            self.assertEqual(server.ask("GET", container[probe]["httpGet"]["path"])[0], 200, probe)
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/ready")
        self.assertEqual([port["containerPort"] for port in container["ports"]], [8080])
        secured = {**spec["securityContext"], **container["securityContext"]}
        self.assertEqual([secured[key] for key in ("runAsNonRoot", "runAsUser", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities")],
                         [True, 1000, False, True, {"drop": ["ALL"]}])
        return server, env

    def test_the_demo_serves_its_cluster(self):
        objects = flux_cluster.objects(flux_cluster.render(flux_cluster.DEPLOY / "examples/demo"))
        writer, settings = self.pod(objects, "flux-api-crud")
        reader, read_settings = self.pod(objects, "flux-api-readonly")
        self.assertNotIn("CRUD_AUTH_TOKEN", read_settings)
        bearer = {"Authorization": f"Bearer {settings['CRUD_AUTH_TOKEN']}", "Content-Type": "application/json"}
        change = {"patches": {"podinfo": {"ui.message": "other"}}}
        self.assertEqual(reader.ask("PATCH", "/clusters/demo", change, bearer)[0], 405)
        self.assertEqual(writer.ask("PATCH", "/clusters/demo", change, bearer)[0], 200)
        provider = urllib.parse.urlsplit(objects["ResourceSetInputProvider", "platform-components"]["spec"]["url"])
        service = objects["Service", provider.hostname]["spec"]
        self.assertEqual([(port["port"], port["targetPort"]) for port in service["ports"]], [(provider.port, "http")])
        self.assertEqual(service["selector"].items() - objects["Deployment", "flux-api-readonly"]["spec"]["template"]["metadata"]["labels"].items(), set())
        token = objects["Secret", objects["ResourceSetInputProvider", "platform-components"]["spec"]["secretRef"]["name"]]["stringData"]["token"]

        def polled():
            status, _, text = reader.ask("GET", f"{provider.path}?{provider.query}", headers={"Authorization": f"Bearer {token}"})
            self.assertEqual(status, 200, text)
            return {one["id"]: one["patches"].get("ui.message") for one in json.loads(text)["inputs"]}
        op.until("the change is polled", lambda: polled() == {"cert-manager": None, "ingress-nginx": None, "podinfo": "other"})


class Chart(Deployments):
    """The chart says the same as deploy/fleet, and its schema refuses what could not work."""

    maxDiff = None
    CLUSTER = ["--set", "cluster.enabled=true,cluster.identity.name=A,cluster.identity.dns=a.test,cluster.apiUrl=http://api.test:8080"]

    def template(self, *flags):
        made = flux_cluster.helm("template", "fleet", str(CHART), "--namespace", "flux-system", "--set", "fullnameOverride=flux-api", *flags)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def test_sets_and_providers_are_those_of_the_manifests(self):
        for form in ("helm", "kustomize"):
            with self.subTest(form):
                text = flux_cluster.manifests(form).replace("the-cluster", "a").replace("THE-URL", "http://api.test:8080")
                text = text.replace("THE-INTERVAL", "5m").replace("THE-TIMEOUT", "2m").replace("THE-NAME", "A")
                wanted = {key: one for key, one in flux_cluster.objects(text).items() if key[0].startswith("ResourceSet")}
                chart = flux_cluster.objects(self.template(*self.CLUSTER, "--set", f"cluster.components={form}"))
                self.assertEqual({key: chart[key]["spec"] for key in wanted}, {key: one["spec"] for key, one in wanted.items()})
                self.assertEqual({key: chart[key]["metadata"]["annotations"] for key in wanted}, {key: one["metadata"]["annotations"] for key, one in wanted.items()})
                self.assertEqual(len(wanted), 6)

    def test_deployments_are_those_of_the_manifests(self):
        for store in ("sqlite", "postgres"):
            manifests = flux_cluster.objects(flux_cluster.render(flux_cluster.DEPLOY / "api" / store))
            chart = flux_cluster.objects(self.template("--set", f"api.store.type={store}"))
            for ours, theirs in (("flux-api-crud", "flux-api-writer"), ("flux-api-readonly", "flux-api-reader")):
                with self.subTest(f"{store} {ours}"):
                    [one], [other] = (found["Deployment", name]["spec"]["template"]["spec"]["containers"] for found, name in ((manifests, ours), (chart, theirs)))
                    env = {entry["name"]: entry for entry in other.pop("env")}
                    for entry in one.pop("env"):
                        self.assertEqual(env.pop(entry["name"]), entry)
                    self.assertEqual(set(env), {"LOG_LEVEL", "STALE_LIMIT"})
                    for container in (one, other):
                        container.pop("image")
                        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                            container[probe]["httpGet"].pop("scheme", None)
                    self.assertEqual(other.pop("imagePullPolicy"), "IfNotPresent")
                    self.assertEqual(other, one)

    def test_every_choice_is_taken_by_kubernetes(self):
        self.assertEqual((lint := flux_cluster.helm("lint", "--strict", str(CHART))).returncode, 0, lint.stdout)
        tls = "api.tls.secret=t,api.tls.clientCaSecret=c,api.tokens.fileSecret.name=f,api.tokens.readSecret.name="
        for flags in ([], ["--set", "api.store.type=postgres,api.writer.replicas=3"], ["--set", tls], ["--set", f"{tls},api.tls.clientAuth=required"],
                      ["--set", "api.store.sqlite.existingClaim=x,api.priorityClassName=p,api.nodeSelector.a=b,imagePullSecrets[0].name=s,api.podAnnotations.a=b"],
                      [*self.CLUSTER, "--set", "cluster.flux=true,cluster.caSecret=ca,api.enabled=false"], [*self.CLUSTER, "--set", "cluster.components=kustomize"]):
            with self.subTest(" ".join(flags)):
                op.kubectl("apply", "--server-side", "--dry-run=server", "--namespace", "flux-system", "-f", "-", stdin=self.template(*flags))

    def test_what_could_not_work_is_refused(self):
        for values, named in (("cluster.enabled=true", "/cluster"), ("cluster.enabled=true,cluster.identity.dns=a.test", "apiUrl"),
                              ("cluster.apiUrl=fleet.test", "apiUrl"), ("cluster.identity.dns=a/b", "dns"), ("cluster.identity.environment=stage", "environment"),
                              ("cluster.limit=10001", "limit"), ("cluster.interval=often", "interval"), ("api.store.type=mysql", "type"),
                              ("api.writer.replicas=2", "replicas"), ("api.tls.clientAuth=no", "clientAuth"), ("api.logLevel=loud", "logLevel"), ("api.typo=1", "typo")):
            with self.subTest(values):
                made = flux_cluster.helm("template", "fleet", str(CHART), "--set", values)
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(named, made.stderr)

    def test_the_demo_serves_its_cluster(self):
        """The same as above with the chart's pods and the demo's seed."""
        values = json.loads((flux_cluster.DEPLOY / "examples/demo/seed.json").read_text(encoding="utf-8"))
        file = harness.write(self.folder / "values.json", json.dumps({"api": {"seed": values}}))
        objects = flux_cluster.objects(self.template("--values", str(file)))
        for name in ("internal-api-token", "flux-api-write-token"):
            objects["Secret", name] = {"stringData": {"token": name}}
        writer, settings = self.pod(objects, "flux-api-writer")
        reader, _ = self.pod(objects, "flux-api-reader")
        bearer = {"Authorization": f"Bearer {settings['AUTH_TOKEN']}"}
        for server in (writer, reader):
            status, _, text = server.ask("GET", "/api/v2/flux/clusters/demo.example/namespaces", headers=bearer)
            self.assertEqual((status, [one["id"] for one in json.loads(text)["inputs"]]), (200, ["team-a", "team-b"]))


if __name__ == "__main__":
    harness.main()
