#!/usr/bin/env python3
"""`kubectl kollect`: the program under the name of a plugin, on the sandbox."""
import os
import pathlib
import subprocess
import unittest

import harness
from sandbox import Sandbox

PLUGIN = str(pathlib.Path(harness.KOLLECT).parent / "kubectl-kollect")
OURS = "/apis/kollect.dev/v1alpha1/namespaces/shop"

MANIFESTS = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop}
data: {v: "1"}
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
        self.assertIn("no targets and no inventories in namespace other", self.plugin("status", "-n", "other"))
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
