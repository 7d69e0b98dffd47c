"""Clusters that ask the fleet API with the real Flux Operator. All share one kube-apiserver: each has a namespace of its own, where
the manifests of deploy/fleet stand and what they render appears."""
import functools
import http.client
import itertools
import json
import os
import ssl
import subprocess
import tempfile
import urllib.parse

import yaml

import harness
import operator_test as op

DEPLOY = harness.ROOT / "deploy/fleet"
KINDS = {"HelmRelease": "apis/helm.toolkit.fluxcd.io/v2/{}/helmreleases", "OCIRepository": "apis/source.toolkit.fluxcd.io/v1/{}/ocirepositories",
         "HelmRepository": "apis/source.toolkit.fluxcd.io/v1/{}/helmrepositories",
         "Kustomization": "apis/kustomize.toolkit.fluxcd.io/v1/{}/kustomizations", "ConfigMap": "api/v1/{}/configmaps",
         "Namespace": "api/v1/namespaces", "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings"}
CONTROLLED = "apis/fluxcd.controlplane.io/v1/namespaces/{}/{}"
PROVIDERS, SETS = "resourcesetinputproviders", "resourcesets"
NAMES = ("platform-components", "namespaces", "rolebindings")
SLOW = "1h"  # a cluster is hurried by settle()
turns = itertools.count(1)


def start():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.server("flux-operator.sh", "start")


def stop():
    connection().close()
    op.server("flux-operator.sh", "stop")
    op.server("kube.sh", "stop")


@functools.cache
def connection():
    address = urllib.parse.urlsplit(op.KUBE["KUBE_SERVER"])
    return http.client.HTTPSConnection(address.hostname, address.port, timeout=60, context=ssl.create_default_context(cafile=op.KUBE["KUBE_CA"]))


def kube(method, path, body=None, patch="merge-patch+json"):
    headers = {"Authorization": f"Bearer {op.KUBE['KUBE_TOKEN']}", "Content-Type": f"application/{patch}"}

    def ask():
        connection().request(method, f"/{path}", None if body is None else json.dumps(body), headers)
        answer = connection().getresponse()
        text = answer.read()
        if answer.status == 429:  # the first list of a new kind comes too early
            return None
        assert answer.status in (200, 201), (method, path, answer.status, text)
        return json.loads(text)
    return op.until(f"{method} {path}", ask)


def apply(text):
    """Server-side; for the kinds that a cluster begins with."""
    plural = {"Namespace": "api/v1/namespaces", "Secret": "api/v1/namespaces/{}/secrets", "ConfigMap": "api/v1/namespaces/{}/configmaps",
              "ResourceSetInputProvider": CONTROLLED.format("{}", PROVIDERS), "ResourceSet": CONTROLLED.format("{}", SETS)}
    for one in yaml.safe_load_all(text):
        place = plural[one["kind"]].format(one["metadata"].get("namespace"))
        kube("PATCH", f"{place}/{one['metadata']['name']}?fieldManager=test&force=true", one, "apply-patch+yaml")


def helm(*args):
    """The finished process."""
    env = {"PATH": op.KUBE["PATH"].strip('"').replace("$PATH", os.environ["PATH"]), "HOME": harness.HOME.name}
    return subprocess.run(["helm", *args], env=env, capture_output=True, text=True, check=False)


def objects(text):
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def render(folder):
    """What `kubectl kustomize` makes of a folder."""
    return op.kubectl("kustomize", str(folder))


@functools.cache
def manifests(form, component="plain-http"):
    """The manifests of a cluster, which are the same for all but for the words THE-..."""
    with tempfile.TemporaryDirectory(prefix="kollect-e2e-overlay-") as folder:
        base = os.path.relpath(DEPLOY / "cluster", os.path.realpath(folder))
        harness.write(f"{folder}/kustomization.yaml", f"""\
namespace: the-cluster
resources: [identity.yaml, {base}/{form}]
components: [{base}/identity, {base}/{component}]
patches:
  - target: {{kind: ResourceSetInputProvider}}
    patch: |
      - {{op: replace, path: /metadata/annotations/fluxcd.controlplane.io~1reconcileEvery, value: THE-INTERVAL}}
      - {{op: add, path: /metadata/annotations/fluxcd.controlplane.io~1reconcileTimeout, value: THE-TIMEOUT}}
""")
        harness.write(f"{folder}/identity.yaml", """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-identity}
data: {CLUSTER_NAME: THE-NAME, CLUSTER_DNS: the-cluster.test, INTERNAL_API_URL: THE-URL}
""")
        return render(folder)


class Cluster:
    def __init__(self, name, url, form="helm", dns=None, every=SLOW, timeout="2m", component="plain-http", secrets=None):
        """A namespace is the cluster; `form` and `component` are folders of deploy/fleet/cluster, `secrets` names to what is in them."""
        self.name, self.dns = name, dns or f"{name}.test"
        text = manifests(form, component)
        for word, value in (("the-cluster.test", self.dns), ("the-cluster", name), ("THE-NAME", name), ("THE-URL", url), ("THE-INTERVAL", every),
                            ("THE-TIMEOUT", timeout)):
            text = text.replace(word, value)
        apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}")
        for secret, content in (secrets or {"internal-api-token": {"token": "read-token"}}).items():
            self.keep(secret, content)
        apply(text)

    def keep(self, secret, content):
        apply(json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": self.name}, "stringData": content}))

    def authenticate(self, token):
        self.keep("internal-api-token", {"token": token})

    def of(self, kind):
        """The providers or sets by name."""
        found = kube("GET", CONTROLLED.format(self.name, kind))["items"]
        return {one["metadata"]["name"]: one for one in found}

    def ready(self, kind):
        """Name to (status, message) of the condition Ready."""
        conditions = {name: [c for c in one.get("status", {}).get("conditions", ()) if c["type"] == "Ready"] for name, one in self.of(kind).items()}
        return {name: (found[0]["status"], found[0]["message"]) if found else (None, None) for name, found in conditions.items()}

    def ask(self, kind, names=NAMES):
        """Objects of a kind begin their next turn now."""
        turn = str(next(turns))
        for name in names:
            kube("PATCH", f"{CONTROLLED.format(self.name, kind)}/{name}", {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": turn}}})
        return turn

    def hurry(self, kind, names=NAMES):
        """The same, and end it."""
        turn = self.ask(kind, names)

        def done():
            found = self.of(kind)
            return all(found[name].get("status", {}).get("lastHandledReconcileAt") == turn and self.rests(found[name]) for name in names)
        op.until(f"{kind} of {self.name} had their turn", done)

    @staticmethod
    def rests(one):
        conditions = {c["type"]: c["status"] for c in one["status"].get("conditions", ())}
        return conditions.get("Ready") in ("True", "False") and "Reconciling" not in conditions

    def settle(self, names=NAMES):
        """Asks the API and renders, once more than before."""
        self.hurry(PROVIDERS, names)
        self.hurry(SETS, names)

    def rendered(self):
        """'Kind/name' to the object, for everything that the sets made here."""
        found = {}
        for kind, path in KINDS.items():
            for one in kube("GET", path.format(f"namespaces/{self.name}"))["items"]:
                labels = one["metadata"].get("labels", {})
                mine = labels.get("resourceset.fluxcd.controlplane.io/namespace") == self.name
                if mine and "deletionTimestamp" not in one["metadata"]:
                    found[f"{kind}/{one['metadata']['name']}"] = one
        return found

    def specs(self):
        return {name: one.get("spec", one.get("data")) for name, one in self.rendered().items()}

    def marks(self):
        """Something that changes with every change of an object."""
        return {name: (one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for name, one in self.rendered().items()}
