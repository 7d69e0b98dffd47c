#!/usr/bin/env python3
"""Names and clusters that are no file names, through collect into a folder (field-names-with-colons-and-slashes)."""
import json
import pathlib
import re

import harness
import yaml

NAMES = ["system:controller:job-controller", "Admin%2Fall", "con", "aux.x", "ends.", 'q?*<>|"name', "..", ".git"]
LONG = "a" * 253
CLUSTERS = ["arn:aws:eks:eu-north-1:000000000000:cluster/prod", "rak5/c28r7ot20s0mbcas9940", "kind-dev@home", ".."]
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)


def config(cluster):
    return f"""\
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {{name: roles, namespace: x}}
spec:
  targetGVK: {{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}}
  attributes: [{{name: n, path: "$.metadata.name"}}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {{name: maps, namespace: x}}
spec:
  targetGVK: {{version: v1, kind: ConfigMap}}
  attributes: [{{name: n, path: "$.metadata.name"}}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {{name: roles, namespace: x}}
spec: {{profileRef: roles}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {{name: maps, namespace: x}}
spec: {{profileRef: maps}}
"""


def objects(without=None):
    items = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name, "uid": f"u{i}"}}
             for i, name in enumerate(NAMES) if name != without]
    if without != LONG:
        items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LONG, "namespace": "n", "uid": "u99"}})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


class OddNames(harness.Case):
    def collect(self, cluster, without=None):
        """Path to row of every row's file."""
        folder = harness.write(self.folder / "config/c.yaml", config(cluster)).parent
        manifests = harness.write(self.folder / "objects.json", objects(without))
        self.out = self.folder / "below/out"
        self.ends(harness.run("collect", "--config", folder, "--manifests", manifests, "--output", self.out, "--cluster", cluster,
                              "--layout", "perResource", "--summary", "none"), 0)
        return {path: yaml.safe_load(text) for path, text in harness.tree(self.out).items() if path.endswith(".yaml")}

    def portable(self, path):
        for segment in pathlib.PurePosixPath(path).parts:
            self.assertNotRegex(segment, r'[\x00-\x1f<>:"|?*\\]', path)
            self.assertLessEqual(len(segment.encode()), 255, path)
            self.assertFalse(segment.endswith((".", " ")) or segment.lower() == ".git", path)
            self.assertIsNone(DEVICES.fullmatch(segment), path)

    def test_files(self):
        for cluster in CLUSTERS:
            with self.subTest(cluster=cluster):
                others = harness.tree(self.folder / "below/out")
                rows = {path: row for path, row in self.collect(cluster).items() if path not in others}
                for path in harness.tree(self.out):
                    self.portable(path)
                # content
                self.assertEqual(sorted(row["name"] for row in rows.values()), sorted([*NAMES, LONG]))
                # inside
                self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["below", "config", "objects.json"])
                self.assertEqual([p.name for p in (self.folder / "below").iterdir()], ["out"])
                # delete
                before = set(harness.tree(self.out))
                for gone in [*NAMES, LONG]:
                    self.collect(cluster, gone)
                    file = [path for path, row in rows.items() if row["name"] == gone]
                    self.assertEqual(set(harness.tree(self.out)), before - set(file))
                    self.collect(cluster)

    def test_name_as_in_the_reference(self):
        paths = [pathlib.PurePosixPath(path).name for path in self.collect("kind-dev@home")]
        self.assertIn("system-controller-job-controller.yaml", paths)


if __name__ == "__main__":
    harness.main()
