#!/usr/bin/env python3
"""`kubectl kollect` (the program under the name of a plugin) and `kollect doctor`, on the sandbox; the container's file."""
import json
import os
import pathlib
import subprocess
import unittest

import harness
import manifests
from sandbox import Sandbox

PLUGIN = str(pathlib.Path(harness.KOLLECT).parent / "kubectl-kollect")
OURS = "/apis/kollect.dev/v1alpha1/namespaces/shop"

MANIFESTS = manifests.namespace("shop") + manifests.config_map("shop", "a", v="1") + """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: maps, namespace: shop}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes: [{name: v, path: "$.data.v", optional: true}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: maps, namespace: shop}
spec: {profileRef: maps, includedNamespaces: [shop]}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: lost, namespace: shop}
spec: {profileRef: nothing}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: spare, namespace: shop}
spec: {type: sqlite, sqlite: {path: a.db}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectInventory
metadata: {name: all, namespace: shop}
spec: {databaseSinkRefs: [file, gone]}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: file, namespace: shop}
spec: {type: sqlite, sqlite: {path: a.db}}
"""


def condition(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Plugin(harness.Case):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.folder, MANIFESTS)
        self.addCleanup(self.sandbox.stop)

    def plugin(self, *args, code=0):
        process = subprocess.run([PLUGIN, *args, "--kubeconfig", str(self.sandbox.kubeconfig)], capture_output=True, text=True,
                                 env=harness.environment(), timeout=60, check=False)
        self.assertEqual(process.returncode, code, process.stderr)
        return process.stdout if code == 0 else process.stderr

    def lines(self, *args):
        """Cells of the lines of a table, the heads left out."""
        return [[cell for cell in line.split("  ") if cell] for line in self.plugin(*args).splitlines()[1:]]

    def test_status_in_a_word(self):
        self.assertEqual(self.plugin("status", "-n", "other"), "no targets and no inventories in namespace other; -A looks at all\n")
        self.assertEqual(self.plugin("sinks", "-n", "other"), "no sinks in namespace other; -A looks at all\n")
        self.assertEqual({line[0].strip(): line[2].strip() for line in self.lines("status", "-n", "shop")},
                         {"target/maps": "Unseen", "target/lost": "Unseen", "inventory/all": "Unseen"})
        self.sandbox.patch(f"{OURS}/kollecttargets/maps/status", status={
            "observedGeneration": 1, "collectedCount": 7, "conditions": [condition("Ready", "True", "Collecting", "all\nis well")]})
        self.sandbox.patch(f"{OURS}/kollecttargets/lost/status", status={
            "observedGeneration": 1, "conditions": [condition("Degraded", "True", "ProfileNotFound", "there is none")]})
        self.sandbox.patch(f"{OURS}/kollectinventories/all/status", status={
            "observedGeneration": 1, "itemCount": 7, "lastExportTime": "2026-01-01T00:00:00Z",
            "conditions": [condition("Ready", "True", "PartiallySynced", "one of two")]})
        cells = {line[0].strip(): [cell.strip() for cell in line[1:]] for line in self.lines("status", "-A")}
        self.assertEqual(cells, {"target/maps": ["shop", "Ready", "Collecting", "7", "-", "all"],
                                 "target/lost": ["shop", "Degraded", "ProfileNotFound", "-", "-", "there is none"],
                                 "inventory/all": ["shop", "Partly", "PartiallySynced", "7", "2026-01-01T00:00:00Z", "one of two"]})
        self.sandbox.patch(f"{OURS}/kollecttargets/maps", spec={"suspend": True})
        self.assertIn("Pending", self.plugin("status", "-n", "shop"))

    def test_sinks_and_who_writes_to_them(self):
        self.sandbox.patch(f"{OURS}/kollectinventories/all/status", status={"sinkExports": [
            {"name": "database/file", "lastExportTime": "2026-01-01T00:00:00Z", "conditions": [condition("Synced", "False", "ExportFailed", "disk full")]}]})
        cells = {line[0].strip(): [cell.strip() for cell in line[1:]] for line in self.lines("sinks", "-n", "shop")}
        self.assertEqual(cells, {"database/shop/file": ["sqlite", "shop/all", "Failed", "ExportFailed", "2026-01-01T00:00:00Z", "disk full"],
                                 "database/shop/spare": ["sqlite", "(none)", "-", "-", "-", "-"],
                                 "database/shop/gone": ["-", "shop/all", "Missing", "SinkNotFound", "-", "-"]})

    def test_rows_of_now_and_what_changed_since(self):
        export = harness.write(self.folder / "export.ndjson", self.plugin("rows", "maps", "-n", "shop"))
        self.assertIn('"name":"a"', export.read_text(encoding="utf-8"))
        self.assertIn("unchanged", self.plugin("diff", str(export), "maps", "-n", "shop", "--exit-code"))
        self.sandbox.patch("/api/v1/namespaces/shop/configmaps/a", data={"v": "2"})
        self.assertIn("1 -> 2", self.plugin("diff", str(export), "maps", "-n", "shop").replace('"', ""))
        self.assertIn("there is no target other in namespace shop", self.plugin("rows", "other", "-n", "shop", code=2))
        self.assertIn("there is no profile", self.plugin("rows", "-n", "shop", code=2))

    def test_trigger_asks_for_a_look(self):
        self.plugin("trigger", "inventory/all", "ktgt/maps", "-n", "shop")
        for path in ("kollectinventories/all", "kollecttargets/maps"):
            annotations = self.sandbox.call("GET", f"{OURS}/{path}")["metadata"]["annotations"]
            self.assertRegex(annotations["kollect.dev/requestedAt"], r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")
        self.assertIn("KIND/NAME", self.plugin("trigger", "all", "-n", "shop", code=2))
        self.assertIn("no kind", self.plugin("trigger", "profile/maps", "-n", "shop", code=2))
        self.assertIn("missing", self.plugin("trigger", "inventory/missing", "-n", "shop", code=2))


DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: op, namespace: shop, labels: {app.kubernetes.io/name: kollect, control-plane: controller-manager}}
spec:
  replicas: 1
  template:
    spec:
      serviceAccountName: me
      containers: [{name: manager, args: [operator, --watch-namespaces=shop]}]
"""


class Doctor(harness.Case):
    def examine(self, sandbox, *flags, code):
        process = harness.run("doctor", "--kubeconfig", sandbox.kubeconfig, "--json", *flags)
        self.ends(process, code)
        return {(one["level"], one["about"]): one["text"] for one in map(json.loads, process.stdout.splitlines())}

    def sandbox(self, manifests, *flags):
        sandbox = Sandbox(self.folder, manifests, *flags)
        self.addCleanup(sandbox.stop)
        return sandbox

    def test_a_cluster_without_anything(self):
        sandbox = self.sandbox("")
        found = self.examine(sandbox, code=0)
        self.assertEqual(set(found), {("fine", "definitions"), ("warning", "operator")})
        self.assertEqual(set(self.examine(sandbox, "-n", "team", code=0)), set(found))
        for definition in ("kollecttargets", "kollectscopes"):
            sandbox.call("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}.kollect.dev")
        found = self.examine(sandbox, code=1)
        self.assertEqual({about for level, about in found if level == "wrong"}, {"KollectTarget", "KollectScope"})
        sandbox.stop()
        self.ends(harness.run("doctor", "--kubeconfig", sandbox.kubeconfig), 2)

    def test_what_is_wrong_is_found(self):
        sandbox = self.sandbox(MANIFESTS + DEPLOYMENT + """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: pg, namespace: shop}
spec: {type: postgres, postgres: {databaseRef: {name: pg}, table: t}}
""")
        sandbox.patch("/apis/apps/v1/namespaces/shop/deployments/op/status", status={"availableReplicas": 1})
        sandbox.patch(f"{OURS}/kollecttargets/lost/status", status={
            "observedGeneration": 1, "conditions": [condition("Degraded", "True", "ProfileNotFound", "there is none")]})
        sandbox.call("PUT", "/sandbox/access", {"users": [{"name": "system:serviceaccount:shop:me", "token": "t"}], "rules": [
            {"effect": "deny", "users": ["system:serviceaccount:shop:me"], "verbs": ["list", "watch"], "resources": ["configmaps"]}]})
        found = self.examine(sandbox, code=1)
        wrong = {about: text for (level, about), text in found.items() if level == "wrong"}
        self.assertEqual(wrong, {"KollectTarget shop/maps": "system:serviceaccount:shop:me may not list, watch configmaps in namespace shop",
                                 "KollectTarget shop/lost": "ProfileNotFound: there is none",
                                 "Secret shop/pg": "is not there, but a sink names it"})
        self.assertEqual(found["fine", "operator shop/op"], "1 of 1 available")
        # Whoever may read less is told so.
        sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": [
            {"effect": "deny", "verbs": ["list"], "resources": ["deployments.apps", "kollectscopes.kollect.dev", "kollectprofiles.kollect.dev"]}]})
        found = self.examine(sandbox, code=1)
        self.assertEqual(found["note", "operator"], "you may not read deployments")
        self.assertEqual(found["note", "objects"], "you may not read kollectprofiles, kollectscopes")
        sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": []})
        # This operator reads its own namespace alone: of others it is no matter.
        self.assertEqual({about for _, about in self.examine(sandbox, "-n", "elsewhere", code=0)}, {"definitions"})

    def test_a_team_and_an_operator_elsewhere(self):
        sandbox = self.sandbox(MANIFESTS + DEPLOYMENT.replace("namespace: shop", "namespace: sys").replace(", --watch-namespaces=shop", ""))
        sandbox.patch("/apis/apps/v1/namespaces/sys/deployments/op/status", status={"availableReplicas": 1})
        self.assertEqual(set(self.examine(sandbox, "-n", "shop", code=0)),
                         {("fine", "definitions"), ("fine", "operator sys/op"), ("fine", "objects")})
        everything = self.examine(sandbox, code=0)
        self.assertEqual(self.examine(sandbox, "-A", code=0), everything)
        self.assertEqual(self.examine(sandbox, "-A", "-n", "shop", code=0), everything)
        # A team that may look nowhere else is not told of it.
        sandbox.call("PUT", "/sandbox/access", {"users": [], "rules": [
            {"effect": "deny", "verbs": ["list"], "resources": ["deployments.apps"]}]})
        self.assertEqual({about for _, about in self.examine(sandbox, "-n", "shop", code=0) if "operator" in about}, set())


class Names(unittest.TestCase):
    def test_the_entry_point_of_a_container_is_the_operator(self):
        for name, told in (("manager", "--watch-namespaces"), ("kubectl-kollect", "trigger")):
            process = subprocess.run([name, "--help"], executable=harness.KOLLECT, capture_output=True, text=True, check=True)
            self.assertIn(told, process.stdout)
        version = subprocess.run(["/manager", "--version"], executable=harness.KOLLECT, capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(version.splitlines()), 1)


class Container(unittest.TestCase):
    def test_it_has_every_library_of_the_program(self):
        text = (harness.ROOT / "Containerfile").read_text(encoding="utf-8")
        last = text[text.rindex("\nFROM"):]
        installed = set(last[last.index("apt-get install"):last.index("&& rm")].split())
        needed = subprocess.run(["ldd", harness.KOLLECT], capture_output=True, text=True, check=True).stdout
        direct = subprocess.run(["objdump", "-p", harness.KOLLECT], capture_output=True, text=True, check=True).stdout
        direct = {line.split()[1] for line in direct.splitlines() if line.strip().startswith("NEEDED")}
        paths = {line.split()[0]: os.path.realpath(line.split()[2]) for line in needed.splitlines() if "=>" in line}
        self.assertGreater(len(direct), 10)
        for library in direct:
            package = self.package_of(paths[library])
            self.assertTrue(package in installed or package in ("libc6", "libgcc-s1"), f"{library} is of {package}, which the Containerfile does not install")
        self.assertIn("USER 65532:65532", last)

    @staticmethod
    def package_of(path):
        # Packages know the name below /usr or the one that links there.
        for name in (path, path.removeprefix("/usr")):
            found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
            if found.returncode == 0:
                return found.stdout.split(":")[0]
        raise AssertionError(f"no package has {path}")


if __name__ == "__main__":
    harness.main()
