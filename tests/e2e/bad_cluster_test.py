#!/usr/bin/env python3
"""A real kube-apiserver that says no: expired token, denied kind, unknown kind. Nothing that stands is overwritten."""
import os
import re
import subprocess

import harness

KUBE = harness.ROOT / "scripts/servers/kube.sh"
NAME = f"e2e-{os.getpid()}"
SERVER = {}

TARGET_OF_ANOTHER_KIND = """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: widgets, namespace: x}
spec:
  targetGVK: {group: example.com, version: v1, kind: Widget}
  attributes: [{name: a, path: "$.spec.a", optional: true}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: widgets, namespace: x}
spec: {profileRef: widgets}
"""


def setUpModule():
    text = subprocess.run([str(KUBE), "start", NAME], env={**os.environ, "OWNER_PID": str(os.getpid())}, check=True,
                          capture_output=True, text=True).stdout
    SERVER.update(re.findall(r"^export (\w+)=(.*)$", text, re.M))
    kubectl("create", "namespace", "shop")
    kubectl("create", "configmap", "a", "-n", "shop", "--from-literal=k=v")


def tearDownModule():
    subprocess.run([str(KUBE), "stop", NAME], check=True)


def kubectl(*args):
    env = {**os.environ, "KUBECONFIG": SERVER["KUBECONFIG"], "PATH": SERVER["PATH"].replace("$PATH", os.environ["PATH"])}
    return subprocess.run(["kubectl", *args], env=env, check=True, capture_output=True, text=True).stdout


class BadCluster(harness.Case):
    def setUp(self):
        super().setUp()
        self.config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent
        self.out = self.folder / "out"
        self.ends(self.collect("kubeconfig.admin"), 0)
        self.before = harness.tree(self.out)
        self.assertIn(b"name: a", self.before["inventory/x/t.yaml"])

    def collect(self, kubeconfig):
        path = f"{SERVER['KUBE_STATE']}/{kubeconfig}" if "/" not in str(kubeconfig) else kubeconfig
        return harness.run("collect", "--config", self.config, "--kubeconfig", path, "--output", self.out)

    def refused(self, process, code, *words):
        self.ends(process, code)
        lines = [line for line in process.stderr.splitlines() if all(word in line for word in words)]
        self.assertTrue(lines, f"no line with all of {words}:\n{process.stderr}")

    def test_expired_token(self):
        with open(f"{SERVER['KUBE_STATE']}/kubeconfig.admin", encoding="utf-8") as file:
            bad = file.read().replace("admin-token", "no-longer-good")
        path = harness.write(self.folder / "kubeconfig", bad)
        self.refused(self.collect(path), 2, "unauthorized")
        self.assertEqual(harness.tree(self.out), self.before)

    def test_denied_kind(self):
        self.refused(self.collect("kubeconfig.nobody"), 2, "forbidden")
        self.assertEqual(harness.tree(self.out), self.before)

    def test_unknown_kind_beside_a_good_one(self):
        harness.write(self.config / "widgets.yaml", TARGET_OF_ANOTHER_KIND)
        self.refused(self.collect("kubeconfig.admin"), 1, "gvk-not-found", "Widget")
        self.assertEqual(harness.tree(self.out)["inventory/x/t.yaml"], self.before["inventory/x/t.yaml"])

    def test_unknown_kind_alone(self):
        harness.write(self.config / "c.yaml", TARGET_OF_ANOTHER_KIND)
        self.refused(self.collect("kubeconfig.admin"), 2, "gvk-not-found", "Widget")
        self.assertEqual(harness.tree(self.out), self.before)

    def test_server_dies_between_runs(self):
        subprocess.run(["bash", "-c", f"kill -STOP $(cat {SERVER['KUBE_STATE']}/apiserver.pid)"], check=True)
        try:
            process = harness.run("collect", "--config", self.config, "--kubeconfig",
                                  f"{SERVER['KUBE_STATE']}/kubeconfig.admin", "--output", self.out, "--timeout", "3s")
        finally:
            subprocess.run(["bash", "-c", f"kill -CONT $(cat {SERVER['KUBE_STATE']}/apiserver.pid)"], check=True)
        self.refused(process, 2, "timeout")
        self.assertEqual(harness.tree(self.out), self.before)


if __name__ == "__main__":
    harness.main()
