#!/usr/bin/env python3
"""`kollect sandbox` as people use it: by kubectl and by the operator, with nothing but the program and kubectl."""
import json
import os
import pathlib
import sqlite3
import subprocess
import threading

import harness
import operator_test as op

TOOLS = os.environ.get("KUBEBUILDER_ASSETS") or os.path.join(
    os.environ.get("KOLLECT_TESTBED", os.path.expanduser("~/.cache/kollect-testbed")), "bin")
BOAT = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.test}
spec:
  group: sea.test
  scope: Namespaced
  names: {plural: boats, kind: Boat, shortNames: [bt]}
  versions:
    - name: v1
      served: true
      storage: true
      additionalPrinterColumns: [{name: Crew, type: integer, jsonPath: .spec.crew}]
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {crew: {type: integer, default: 2, maximum: 9}}}}
"""
SET = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: chart, namespace: sea, labels: {kind: paper}}
data: {depth: "%s"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: sea}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: one, image: "one:1"}, {name: two, image: "two:1"}]}
"""


class Kubectl(op.Scenario):
    def setUp(self):
        super().setUp()
        kubeconfig = self.folder / "kubeconfig"
        self.process = subprocess.Popen([harness.KOLLECT, "sandbox", "--kubeconfig-out", str(kubeconfig), "--log-level", "warn"],
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.assertTrue(self.process.stdout.readline().startswith("http://127.0.0.1:"))
        op.KUBE.update(KUBECONFIG=str(kubeconfig), PATH=f"{TOOLS}:$PATH")
        # kubectl keeps what it discovers; a port may have been another server's.
        os.environ["KUBECACHEDIR"] = str(self.folder / "cache")

    def says(self, words, *args, **options):
        out = op.kubectl(*args, **options)
        self.assertEqual([line.split() for line in out.splitlines()], [line.split() for line in words.splitlines()])


class ByKubectl(Kubectl):
    def test_create_and_look(self):
        for args in (["namespace", "sea"], ["configmap", "chart", "-n", "sea", "--from-literal=depth=3"],
                     ["secret", "generic", "key", "-n", "sea", "--from-literal=word=hush"], ["serviceaccount", "cook", "-n", "sea"],
                     ["deployment", "web", "-n", "sea", "--image=one:1", "--port=80"], ["role", "r", "-n", "sea", "--verb=get", "--resource=pods"],
                     ["rolebinding", "rb", "-n", "sea", "--role=r", "--user=ann"], ["clusterrole", "cr", "--verb=get", "--resource=pods"],
                     ["clusterrolebinding", "crb", "--clusterrole=cr", "--user=ann"], ["job", "once", "-n", "sea", "--image=one:1"],
                     ["cronjob", "often", "-n", "sea", "--image=one:1", "--schedule=* * * * *"], ["service", "clusterip", "web", "-n", "sea", "--tcp=80:8080"]):
            op.kubectl("create", *args)
        self.assertEqual(op.kubectl("get", "secret", "key", "-n", "sea", "-o", "jsonpath={.data.word} {.type}"), "aHVzaA== Opaque")
        self.assertEqual(op.kubectl("get", "role", "r", "-n", "sea", "-o", "jsonpath={.rules}"), '[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]')
        service = json.loads(op.kubectl("get", "service", "web", "-n", "sea", "-o", "json"))
        self.assertEqual(service["spec"]["ports"], [{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}])
        job = json.loads(op.kubectl("get", "cronjob", "often", "-n", "sea", "-o", "json"))
        self.assertEqual(job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"], "one:1")
        self.says("yes\n", "auth", "can-i", "delete", "pods", "-A")
        self.says("configmap/chart\n", "get", "configmaps", "-n", "sea", "-o", "name")
        table = op.kubectl("get", "configmaps", "-A").split()
        self.assertEqual(table[:7], ["NAMESPACE", "NAME", "DATA", "AGE", "sea", "chart", "1"])
        self.says("NAME\nweb\n", "get", "deployments", "-n", "sea", "-o", "custom-columns=NAME:.metadata.name")
        self.says("", "get", "configmaps", "-n", "sea", "-l", "x=y", "-o", "name")
        self.says("configmap/chart\n", "get", "configmaps", "-A", "--field-selector", "metadata.name=chart,metadata.namespace=sea", "-o", "name")
        self.assertIn("kollecttargets", op.kubectl("api-resources", "--api-group=kollect.dev"))
        self.assertIn("profileRef", op.kubectl("explain", "kollecttarget.spec"))

    def test_apply_patch_edit_scale_and_delete(self):
        op.kubectl("create", "namespace", "sea")
        self.says("configmap/chart created\ndeployment.apps/web created", "apply", "-f", "-", stdin=SET % ("3", 2))
        self.says("configmap/chart unchanged\ndeployment.apps/web unchanged", "apply", "-f", "-", stdin=SET % ("3", 2))
        self.assertEqual(op.kubectl("diff", "-f", "-", stdin=SET % ("3", 2)), "")
        op.kubectl("set", "image", "deployment/web", "two=two:2", "-n", "sea")
        op.kubectl("scale", "deployment/web", "--replicas=5", "-n", "sea")
        self.says("configmap/chart configured\ndeployment.apps/web configured", "apply", "-f", "-", stdin=SET % ("4", 3))
        self.assertEqual(op.kubectl("get", "deployment", "web", "-n", "sea", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[*].image}"),
                         "3 one:1 two:1")
        self.says("configmap/chart serverside-applied\ndeployment.apps/web serverside-applied", "apply", "--server-side", "--field-manager=t", "-f", "-",
                  stdin=SET % ("5", 3))
        for kind, patch in (("json", '[{"op":"add","path":"/data/wind","value":"w"}]'), ("merge", '{"data":{"sun":"s"}}'),
                            ("strategic", '{"metadata":{"labels":{"kind":null}}}')):
            op.kubectl("patch", "configmap", "chart", "-n", "sea", f"--type={kind}", "-p", patch)
        os.environ["KUBE_EDITOR"] = "sed -i s/depth:.*/depth:\\ edited/"
        self.says("configmap/chart edited", "edit", "configmap", "chart", "-n", "sea")
        op.kubectl("label", "configmap", "chart", "-n", "sea", "a=b")
        op.kubectl("annotate", "configmap", "chart", "-n", "sea", "c=d")
        chart = json.loads(op.kubectl("get", "configmap", "chart", "-n", "sea", "-o", "json"))
        self.assertEqual(chart["data"], {"depth": "edited", "wind": "w", "sun": "s"})
        self.assertEqual(chart["metadata"]["labels"], {"a": "b"})
        self.assertEqual(chart["metadata"]["annotations"]["c"], "d")
        op.kubectl("patch", "configmap", "chart", "-n", "sea", "-p", '{"metadata":{"finalizers":["sea.test/harbour"]}}')
        op.kubectl("delete", "configmap", "chart", "-n", "sea", "--wait=false")
        self.assertIn("deletionTimestamp", op.kubectl("get", "configmap", "chart", "-n", "sea", "-o", "yaml"))
        waiting = threading.Thread(target=op.kubectl, args=("wait", "--for=delete", "configmap/chart", "-n", "sea", "--timeout=60s"))
        waiting.start()
        op.kubectl("patch", "configmap", "chart", "-n", "sea", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        waiting.join()
        op.kubectl("delete", "deployment", "web", "-n", "sea", "--cascade=background")
        op.kubectl("delete", "namespace", "sea", "--timeout=60s")
        self.says("", "get", "configmaps,deployments", "-A", "-o", "name")

    def test_definitions(self):
        op.apply(BOAT)
        op.wait_for_kinds(1, "crd/boats.sea.test")
        op.apply("apiVersion: sea.test/v1\nkind: Boat\nmetadata: {name: argo, namespace: default}\nspec: {}\n")
        self.assertEqual(op.kubectl("get", "bt").split(), ["NAME", "CREW", "argo", "2"])
        with self.assertRaisesRegex(AssertionError, "spec.crew: Invalid value: 50"):
            op.kubectl("patch", "boat", "argo", "--type=merge", "-p", '{"spec":{"crew":50}}')
        with self.assertRaisesRegex(AssertionError, 'unknown field "spec.crow"'):
            op.apply("apiVersion: sea.test/v1\nkind: Boat\nmetadata: {name: b, namespace: default}\nspec: {crow: 1}\n")
        waiting = threading.Thread(target=op.kubectl, args=("wait", "--for=jsonpath={.spec.crew}=7", "boat/argo", "--timeout=60s"))
        waiting.start()
        op.kubectl("patch", "boat", "argo", "--type=merge", "-p", '{"spec":{"crew":7}}')
        waiting.join()
        op.kubectl("delete", "crd", "boats.sea.test", "--timeout=60s")
        self.assertNotIn("boats", op.kubectl("api-resources"))

    def test_watch(self):
        env = {**os.environ, "KUBECONFIG": op.KUBE["KUBECONFIG"]}
        with subprocess.Popen([f"{TOOLS}/kubectl", "get", "configmaps", "-w", "--output-watch-events", "-l", "w=1"], env=env, stdout=subprocess.PIPE,
                              text=True) as watch:
            op.until("a watch", lambda: '"watches":1' in self.stats())
            op.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, labels: {w: '1'}}\n")
            op.kubectl("delete", "configmap", "a")
            lines = [watch.stdout.readline().split()[:3] for _ in range(3)]
            watch.kill()
        self.assertEqual(lines, [["EVENT", "NAME", "DATA"], ["ADDED", "a", "0"], ["DELETED", "a", "0"]])

    def stats(self):
        return op.kubectl("get", "--raw", "/sandbox/stats").replace(" ", "")


class ByOperator(Kubectl):
    def test_the_operator_keeps_a_database_and_a_repository(self):
        repository = self.folder / "rows.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True, env=harness.environment())
        op.kubectl("create", "namespace", "shop")
        op.kubectl("create", "configmap", "a", "-n", "shop", "--from-literal=v=1")
        op.apply(f"""\
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {{name: maps, namespace: shop}}
spec:
  targetGVK: {{version: v1, kind: ConfigMap}}
  attributes: [{{name: v, path: "$.data.v", optional: true}}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {{name: maps, namespace: shop}}
spec: {{profileRef: maps, includedNamespaces: [shop]}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {{name: file, namespace: shop}}
spec: {{type: sqlite, sqlite: {{path: rows.db}}}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {{name: git, namespace: shop}}
spec:
  type: git
  endpoint: file://{repository}
  layout: {{mode: perResource, content: item}}
  git: {{branch: main}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectInventory
metadata: {{name: all, namespace: shop}}
spec: {{databaseSinkRefs: [file], snapshotSinkRefs: [git]}}
""")
        self.operator("--allow-local-sinks", "--sqlite-dir", str(self.folder))
        op.kubectl("wait", "--for=condition=Ready", "kollectinventory/all", "-n", "shop", "--timeout=60s")
        op.until("both hold a", lambda: self.rows_of() == {"a": "1"} and "/a.yaml" in self.tree())
        op.kubectl("patch", "configmap", "a", "-n", "shop", "--type=merge", "-p", '{"data":{"v":"changed"}}')
        op.kubectl("create", "configmap", "b", "-n", "shop", "--from-literal=v=2")
        op.until("the change in the database", lambda: self.rows_of() == {"a": "changed", "b": "2"})
        op.until("the change in the repository", lambda: "/b.yaml" in self.tree() and "changed" in self.text())
        op.kubectl("delete", "configmap", "a", "-n", "shop")
        op.until("a is gone", lambda: self.rows_of() == {"b": "2"} and "/a.yaml" not in self.tree())
        self.assertIn("maps", op.kubectl("get", "kollecttargets", "-n", "shop"))
        self.assertEqual(self.operators[-1].stop(), 0)

    def rows_of(self):
        path = pathlib.Path(self.folder) / "rows.db"
        if not path.exists():
            return None
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            return dict(connection.execute("SELECT name, attributes->>'v' FROM inventory_rows").fetchall())
        except sqlite3.OperationalError:
            return None
        finally:
            connection.close()

    def git(self, *args):
        return subprocess.run(["git", "-C", str(self.folder / "rows.git"), *args], capture_output=True, text=True, check=False,
                              env=harness.environment()).stdout

    def tree(self):
        return self.git("ls-tree", "-r", "--name-only", "main")

    def text(self):
        return self.git("grep", "-h", "v:", "main")



if __name__ == "__main__":
    harness.main()
