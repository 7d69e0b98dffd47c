#!/usr/bin/env python3
"""Admission webhooks on a real kube-apiserver: the manifest of deploy/operator, all recorded cases, certificates that change, a server that is gone."""
import base64
import http.client
import json
import pathlib
import re
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import yaml

import fleet_tls_test
import harness
import manifests as m
import operator_test as op

NS, SERVICE, SECRET, CONFIGURATION = "kollect-system", "kollect-webhook-service", "webhook-server-cert", "kollect-validating-webhook-configuration"
HOST = f"{SERVICE}.{NS}.svc"
TEXTS = {"Required": "Required value", "Invalid": "Invalid value", "NotSupported": "Unsupported value", "Duplicate": "Duplicate value",
         "Forbidden": "Forbidden", "TooMany": "Too many"}
# What the operator does besides looking after its certificate.
RIGHTS = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: test-operator}
rules:
  - {apiGroups: [kollect.dev], resources: ["*"], verbs: [get, list, watch, patch]}
  - {apiGroups: [""], resources: [namespaces], verbs: [list, watch]}
  - {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
  - {apiGroups: [""], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: test-operator}
subjects: [{kind: User, name: nobody}]
"""


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.install_crds()
    names = {NS, *re.findall(r'"namespace": "([a-z0-9-]+)"', "".join(json.dumps(one) for one in vectors()))}
    op.apply("".join(m.namespace(name) for name in sorted(names)) + RIGHTS)


def tearDownModule():
    op.server("kube.sh", "stop")


def vectors():
    """Recorded cases. Those with objects beside them get a namespace of their own instead of team-a."""
    found = []
    for number, line in enumerate((harness.ROOT / "tests/cases/admission/crd-vectors.jsonl").read_text(encoding="utf-8").splitlines()):
        one = json.loads(line)
        found.append(json.loads(line.replace('"team-a"', f'"team-{number}"')) if one.get("context") else one)
    return found


class Api:
    """The kube-apiserver, asked as the administrator."""

    def __init__(self):
        self.host = op.KUBE["KUBE_SERVER"].removeprefix("https://")
        self.connection = http.client.HTTPSConnection(self.host, timeout=60, context=ssl.create_default_context(cafile=op.KUBE["KUBE_CA"]))

    def call(self, method, path, body=None, kind="application/json"):
        """(status, answer, warnings)"""
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {"Authorization": f"Bearer {op.KUBE['KUBE_TOKEN']}", "Content-Type": kind})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.headers.get_all("Warning") or []

    def create(self, manifest, real=False):
        return self.call("POST", f"{place(manifest)}?fieldValidation=Ignore" + ("" if real else "&dryRun=All"), manifest)

    def merge(self, path, patch):
        return self.call("PATCH", path, patch, "application/merge-patch+json")


def place(manifest):
    kind = manifest["kind"].lower()
    plural = kind[:-1] + "ies" if kind.endswith("y") else kind + "s"
    ns = manifest["metadata"].get("namespace")
    return "/apis/kollect.dev/v1alpha1/" + (f"namespaces/{ns}/" if ns else "") + plural


def target(ns, name, profile="p"):
    return json.loads(m.target(ns, name, profile).removeprefix("---\n"))


GOOD, BAD = target(NS, "good"), target(NS, "bad", profile="a/b")
SECRET_PATH = f"/api/v1/namespaces/{NS}/secrets/{SECRET}"
CONFIGURATION_PATH = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{CONFIGURATION}"


def verdict(answer):
    """"accept", "schema", "webhook", "decode" or what else came."""
    status, body, _ = answer
    if status == 201:
        return "accept"
    if "denied the request" in body.get("message", ""):
        return {403: "webhook", 400: "decode"}.get(status, f"{status} {body['message']}")
    return "schema" if status == 422 else f"{status} {body.get('message')}"


class Webhooks(harness.Case):
    def setUp(self):
        super().setUp()
        self.api = Api()
        self.addCleanup(self.api.connection.close)
        self.port = harness.free_port()
        self.install()

    def install(self):
        """The manifest as it is, save that the Service leads to this machine and the operator is another user."""
        documents = list(yaml.safe_load_all((harness.ROOT / "deploy/operator/webhooks.yaml").read_text(encoding="utf-8")))
        for one in documents:
            if one["kind"] == "Service":
                one["spec"] = {"type": "ExternalName", "externalName": "localhost", "ports": one["spec"]["ports"]}
            if one["kind"].endswith("Binding"):
                one["subjects"] = [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]
            for webhook in one.get("webhooks", []):
                webhook["clientConfig"]["service"]["port"] = self.port
        op.apply(yaml.safe_dump_all(documents))
        self.addCleanup(op.kubectl, "delete", "validatingwebhookconfiguration", CONFIGURATION)

    def operator(self, *flags, port=None, **env):
        log = open(self.folder / f"operator-{len(list(self.folder.iterdir()))}.log", "w+", encoding="utf-8")
        process = harness.start("operator", "--kubeconfig", pathlib.Path(op.KUBE["KUBE_STATE"]) / "kubeconfig.nobody", "--health-probe-bind-address", "0",
                                "--webhook-bind-address", f"127.0.0.1:{port or self.port}", *flags, stdout=log, stderr=log,
                                env=harness.environment(KOLLECT_VALIDATING_WEBHOOKS_ENABLED="true", **env))
        self.addCleanup(self.end, process, log)
        return process

    def end(self, process, log):
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        if self._outcome.result.failures or self._outcome.result.errors:
            log.seek(0)
            print(log.read()[-6000:])
        log.close()

    def self_signed(self, **options):
        return self.operator("--webhook-self-signed", "--webhook-service", f"{NS}/{SERVICE}", **options)

    def until_asked(self):
        """The API server asks us: a bad object gets a denial of ours, a good one passes."""
        op.until("a denial", lambda: verdict(self.api.create(BAD)) == "webhook")
        self.assertEqual(verdict(self.api.create(GOOD)), "accept")

    def bundle(self):
        """Whom the API server is told to trust; None while its webhooks do not agree."""
        bundles = {one["clientConfig"].get("caBundle") for one in self.api.call("GET", CONFIGURATION_PATH)[1]["webhooks"]}
        return base64.b64decode(bundles.pop() or "").decode() if len(bundles) == 1 else None

    def data(self):
        return {key: base64.b64decode(value).decode() for key, value in self.api.call("GET", SECRET_PATH)[1].get("data", {}).items()}

    def served(self, trusted, port=None):
        """The certificate that a client sees who trusts these authorities; None: it refuses."""
        try:
            context = ssl.create_default_context(cadata=trusted)
            with socket.create_connection(("127.0.0.1", port or self.port), 30) as plain, context.wrap_socket(plain, server_hostname=HOST) as tls:
                return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))
        except (OSError, ValueError):
            return None

    def until_agreed(self, *ports):
        """All replicas serve what the Secret holds, and the API server is told so."""
        def agreed():
            held = self.data()
            return held.get("ca.crt") and self.bundle() == held["ca.crt"] and all(self.served(held["ca.crt"], port) == held["tls.crt"] for port in ports)
        op.until("all agree", agreed)
        return self.data()


class Verdicts(Webhooks):
    def check(self, one, answer):
        """What is wrong with the answer to a case, else None."""
        expected, build, got = one["expect"], one.get("build"), verdict(answer)
        wanted = (build or expected)["verdict"]
        if wanted in ("either", "open"):
            return None if got in ("accept", "webhook") else got
        if got != wanted:
            return f"{got}, not {wanted}: {answer[1].get('message')}"
        message = answer[1].get("message", "")
        if got in ("webhook", "decode") and f'admission webhook "v{one["manifest"]["kind"].lower()}.kb.io" denied' not in message:
            return f"of another webhook: {message}"
        if build or "'cel:object.?data'" in one["name"]:
            return None  # turned round: the verdict alone counts
        for error in expected.get("errors", []) if got == "webhook" else []:
            path, _, kind = error.partition(" ")
            if kind and f"{path}: {TEXTS[kind]}" not in message:
                return f"{error} is missing: {message}"
        if got == "accept" and len(answer[2]) != expected.get("warnings", 0):
            return f"warnings: {answer[2]}"
        return None

    def test_all_recorded_cases(self):
        self.self_signed()
        self.until_asked()
        cases = vectors()
        self.assertEqual(len(cases), 227)
        wrong = [f"{one['name']}: {problem}" for one in cases if not one.get("context") and (problem := self.check(one, self.api.create(one["manifest"])))]
        self.assertEqual(wrong, [])
        for one in (one for one in cases if one.get("context")):
            for beside in one["context"]:
                self.assertEqual(verdict(self.api.create(beside, real=True)), "accept", beside)
            problem = []
            # The operator learns of the objects by its watches.
            op.until(one["name"], lambda one=one, problem=problem: problem.append(self.check(one, self.api.create(one["manifest"]))) or problem[-1] is None)
            for beside in one["context"]:
                self.assertEqual(self.api.call("DELETE", f"{place(beside)}/{beside['metadata']['name']}")[0], 200)

    def policy(self, word):
        webhooks = self.api.call("GET", CONFIGURATION_PATH)[1]["webhooks"]
        for webhook in webhooks:
            webhook["failurePolicy"] = word
        self.assertEqual(self.api.merge(CONFIGURATION_PATH, {"webhooks": webhooks})[0], 200)

    def test_updates_are_judged_and_deletions_are_not(self):
        # Older than the rule that it breaks.
        old = target(NS, "old", profile="a/b")
        old_path = f"{place(old)}/old"
        self.policy("Ignore")
        op.until("nobody judges", lambda: self.api.create(old, real=True)[0] in (201, 409))
        self.policy("Fail")
        operator = self.self_signed()
        self.until_asked()

        def finalized():
            return "kollect.dev/target-cleanup" in self.api.call("GET", old_path)[1]["metadata"].get("finalizers", [])

        op.until("a finalizer", finalized)
        self.assertEqual(self.api.merge(old_path, {"metadata": {"finalizers": None, "labels": {"a": "b"}}})[0], 200)
        op.until("it is back", finalized)
        self.assertEqual(self.api.merge(old_path, {"spec": {"suspend": True}})[0], 403)
        self.assertEqual(self.api.call("DELETE", old_path)[0], 200)
        op.until("it has gone", lambda: self.api.call("GET", old_path)[0] == 404)
        held = target(NS, "held")
        held["metadata"]["finalizers"] = ["test.example/held"]
        path = f"{place(held)}/held"
        self.assertEqual(self.api.create(held, real=True)[0], 201)
        self.assertEqual(self.api.merge(path, {"spec": {"profileRef": "a/b"}})[0], 403)
        self.assertEqual(self.api.merge(path, {"spec": {"profileRef": "q"}})[0], 200)
        everything = self.one_of_each_kind()
        # Nobody answers any more: nothing is written that was not judged, everything can be deleted.
        operator.terminate()
        self.assertEqual(operator.wait(60), 0)
        status, answer, _ = self.api.create(GOOD)
        self.assertEqual(status, 500, answer)
        self.assertIn("failed calling webhook", answer["message"])
        self.assertEqual(self.api.merge(path, {"spec": {"profileRef": "r"}})[0], 500)
        for one in (path, *everything):
            self.assertEqual(self.api.call("DELETE", one)[0], 200, one)
            self.assertEqual(self.api.merge(one, {"metadata": {"finalizers": None}})[0], 200, one)
            self.assertEqual(self.api.call("GET", one)[0], 404, one)

    def one_of_each_kind(self):
        """Paths of objects that are held by a finalizer."""
        good = {"KollectConnectionTest": {"apiVersion": "kollect.dev/v1alpha1", "kind": "KollectConnectionTest", "metadata": {"namespace": NS},
                                          "spec": {"sinkRef": {"databaseSinkRef": "none"}}}}
        for one in vectors():
            if one["expect"]["verdict"] == "accept" and not one.get("context") and not one.get("build"):
                good.setdefault(one["manifest"]["kind"], one["manifest"])
        self.assertEqual(len(good), 11, good.keys())
        paths = []
        for manifest in sorted(good.values(), key=lambda one: "Scope" in one["kind"]):  # which may refuse what comes after them
            manifest["metadata"].update(name="held", finalizers=["test.example/held"])
            if (manifest["kind"], manifest["metadata"].get("namespace")) == ("KollectTarget", NS):
                manifest["metadata"]["name"] = "held-too"
            status, answer, _ = self.api.create(manifest, real=True)
            self.assertEqual(status, 201, answer)
            paths.append(f"{place(manifest)}/{manifest['metadata']['name']}")
        return paths


class OwnCertificate(Webhooks):
    def test_replicas_agree_renew_and_mend(self):
        ports = (self.port, harness.free_port())
        for port in ports:
            self.self_signed(port=port)
        first = self.until_agreed(*ports)
        self.until_asked()
        # Somebody breaks the configuration.
        configuration = self.api.call("GET", CONFIGURATION_PATH)[1]["webhooks"]
        for webhook in configuration[:3]:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(pathlib.Path(op.KUBE["KUBE_CA"]).read_bytes()).decode()
        self.assertEqual(self.api.merge(CONFIGURATION_PATH, {"webhooks": configuration})[0], 200)
        self.assertEqual(self.until_agreed(*ports), first)
        self.until_asked()
        # A certificate that ends soon is replaced under the same authority.
        self.merge_secret(**self.ends_soon(first))
        op.until("renewed", lambda: self.data()["tls.crt"] not in (first["tls.crt"], self.short))
        second = self.until_agreed(*ports)
        self.assertEqual(second["ca.crt"], first["ca.crt"])
        self.until_asked()
        # Nonsense, and nothing at all.
        self.merge_secret(**{"ca.crt": "nonsense"})
        op.until("made anew", lambda: self.data()["ca.crt"] != "nonsense")
        third = self.until_agreed(*ports)
        self.assertEqual(self.api.call("DELETE", SECRET_PATH)[0], 200)
        op.until("made anew", lambda: self.data().get("ca.crt", third["ca.crt"]) != third["ca.crt"])
        self.until_agreed(*ports)
        self.until_asked()

    def merge_secret(self, **data):
        status, answer, _ = self.api.merge(SECRET_PATH, {"data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}})
        self.assertEqual(status, 200, answer)

    def ends_soon(self, held):
        """Certificate and key of the same authority and names that have lived most of their life."""
        authority = fleet_tls_test.Authority(self.folder, "any")
        authority.certificate.write_text(held["ca.crt"], encoding="utf-8")
        authority.key.write_text(held["ca.key"], encoding="utf-8")
        certificate, key = authority.issue("short", f"DNS:{HOST},DNS:{HOST}.cluster.local")
        (self.folder / "index").touch()
        (self.folder / "ca.conf").write_text(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {self.folder}/index\nnew_certs_dir = {self.folder}\n"
                                             "default_md = sha256\nrand_serial = yes\npolicy = p\n[p]\ncommonName = supplied\n", encoding="utf-8")
        fleet_tls_test.openssl("ca", "-batch", "-notext", "-config", self.folder / "ca.conf", "-cert", authority.certificate, "-keyfile",
                               authority.key, "-in", self.folder / "short.csr", "-extfile", self.folder / "short.ext", "-startdate", "20200101000000Z",
                               "-days", "1", "-out", certificate)
        self.short = certificate.read_text(encoding="utf-8")
        return {"tls.crt": self.short, "tls.key": key.read_text(encoding="utf-8")}

    def test_a_certificate_of_somebody_else_is_left_alone(self):
        certificate, key = fleet_tls_test.Authority(self.folder, "other").issue("theirs")
        self.api.call("DELETE", SECRET_PATH)
        theirs = {"tls.crt": certificate.read_text(encoding="utf-8"), "tls.key": key.read_text(encoding="utf-8")}
        op.kubectl("create", "secret", "tls", SECRET, "-n", NS, f"--cert={certificate}", f"--key={key}")
        self.self_signed()
        log = next(self.folder.glob("operator-*.log"))
        op.until("it says so", lambda: "not of the operator's making" in log.read_text(encoding="utf-8"))
        self.assertEqual(self.data(), theirs)
        self.assertEqual(self.api.call("DELETE", SECRET_PATH)[0], 200)
        self.until_asked()


class MountedCertificate(Webhooks):
    def use(self, certificate, key):
        """As a volume of a Secret changes: all files at once."""
        folder = self.folder / certificate.stem
        folder.mkdir()
        (folder / "tls.crt").write_bytes(certificate.read_bytes())
        (folder / "tls.key").write_bytes(key.read_bytes())
        (self.folder / "new").symlink_to(folder)
        (self.folder / "new").rename(self.folder / "certs")

    def trust(self, authority):
        webhooks = self.api.call("GET", CONFIGURATION_PATH)[1]["webhooks"]
        for webhook in webhooks:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(authority.certificate.read_bytes()).decode()
        self.assertEqual(self.api.merge(CONFIGURATION_PATH, {"webhooks": webhooks})[0], 200)

    def ready(self, port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()
        except OSError:
            return 0, ""

    def ask(self, authority, body, path="/validate-kollect-dev-v1alpha1-kollecttarget"):
        """Status of an answer to any bytes."""
        out = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", authority.certificate, "--resolve",
                              f"{HOST}:{self.port}:127.0.0.1", "--data-binary", "@-", f"https://{HOST}:{self.port}{path}"], input=body, capture_output=True,
                             check=True)
        return int(out.stdout)

    def test_files_are_awaited_and_read_again(self):
        first = fleet_tls_test.Authority(self.folder, "first-authority")
        second = fleet_tls_test.Authority(self.folder, "second-authority")
        health = harness.free_port()
        self.operator("--webhook-cert-path", self.folder / "certs", "--health-probe-bind-address", f"127.0.0.1:{health}")
        op.until("not ready", lambda: self.ready(health) == (503, "not ready: the webhooks have no certificate yet\n"))
        self.use(*first.issue("one", f"DNS:{HOST}"))
        op.until("ready", lambda: self.ready(health)[0] == 200)
        self.trust(first)
        self.until_asked()
        self.use(*second.issue("two", f"DNS:{HOST}"))
        op.until("the second", lambda: self.served(second.certificate.read_text(encoding="utf-8")))
        self.trust(second)
        self.until_asked()
        # Bytes that are no question do no harm.
        for body in (b"", b"null", b"{", b"\0" * 10, b"[" * 100000, b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'):
            self.assertEqual(self.ask(second, body), 400)
        self.assertEqual(self.ask(second, b" " * (17 << 20)), 413)
        self.assertEqual(self.ask(second, b"{}", "/"), 404)
        self.until_asked()


if __name__ == "__main__":
    harness.main()
