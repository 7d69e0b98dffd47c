#!/usr/bin/env python3
"""Taking over a table and repositories that the Go operator filled: the same manifests on a real kube-apiserver, and nothing that has not changed
is written again. Its table has a key of four columns; it leaves no table of exports and no manifest of a tree."""
import json
import subprocess

import harness
import operator_test as op
from manifests import document, git_sink, inventory, namespace, postgres_sink, profile, secret, target

setUpModule, tearDownModule = op.setUpModule, op.tearDownModule

LONG_AGO = "2025-01-02 03:04:05+00"
GONE = "5f1c8a60-0000-4000-8000-00000000dead"
TABLE = """CREATE TABLE {table} (inventory_namespace text NOT NULL, inventory_name text NOT NULL, target_name text NOT NULL, source_uid text NOT NULL,
 cluster text NOT NULL DEFAULT '', resource_namespace text NOT NULL DEFAULT '', payload jsonb NOT NULL, exported_at timestamptz NOT NULL,
 PRIMARY KEY (inventory_namespace, inventory_name, target_name, source_uid))"""
INSERT = "INSERT INTO {table} VALUES ('{ns}', '{inventory}', 'maps', '{uid}', 'pier-7', '{ns}', $json${payload}$json$, '{at}')"
FILE = """\
attributes:
  v: "{v}"
kind: ConfigMap
name: {name}
namespace: {ns}
targetName: maps
targetNamespace: {ns}
uid: {uid}
version: v1
"""


class Migration(op.Scenario):
    def team(self, ns, layout):
        """What the cluster has had since the old operator's days."""
        with open(op.GIT["GIT_CA"], encoding="utf-8") as file:
            authority = file.read()
        spec = {"cluster": "pier-7", "secretRef": {"name": "git"}, "tls": {"caSecretRef": {"name": "ca"}}, "layout": layout}
        op.apply(namespace(ns) + secret(ns, "git", username=op.GIT["GIT_USER"], password=op.GIT["GIT_PASS"]) + secret(ns, "ca", **{"ca.crt": authority})
                 + profile(ns, "maps", "ConfigMap", {"name": "v", "path": "$.data.v"})
                 + target(ns, "maps", "maps", includedNamespaces=[ns], labelSelector={"matchLabels": {"app": "harbor"}})
                 + postgres_sink(ns, op.dsn(), f"{ns}_rows", cluster="pier-7") + git_sink(ns, f"{op.GIT['GIT_HTTPS_URL']}/{ns}.git", **spec)
                 + inventory(ns, databaseSinkRefs=["pg"], snapshotSinkRefs=["git"]))

    def harbor_maps(self, ns, **values):
        """Their uids, by name."""
        op.apply("".join(document("ConfigMap", ns, name, api="v1", data={"v": v}) for name, v in values.items()))
        op.kubectl("label", "configmap", "-n", ns, *values, "app=harbor")
        return {name: op.kubectl("get", "configmap", name, "-n", ns, "-o", "jsonpath={.metadata.uid}") for name in values}

    def old_table(self, ns, *rows):
        """Each row: inventory, name, uid, value."""
        statements = [TABLE.format(table=f"{ns}_rows")]
        for inventory_name, name, uid, v in rows:
            payload = {"targetNamespace": ns, "targetName": "maps", "namespace": ns, "name": name, "version": "v1", "kind": "ConfigMap", "uid": uid,
                       "attributes": {"v": v}}
            statements.append(INSERT.format(table=f"{ns}_rows", ns=ns, inventory=inventory_name, uid=uid, payload=json.dumps(payload), at=LONG_AGO))
        for statement in statements:
            self.assertIsNotNone(op.sql(statement), statement)

    def old_files(self, ns, files):
        """The bare repository with one commit that holds them; the commit."""
        repo, work = self.repo(ns), self.folder / ns
        for path, text in files.items():
            harness.write(work / path, text)
        git = ["git", "-C", str(work), "-c", "user.name=kollect", "-c", "user.email=kollect@kollect.dev"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", f"chore(pier-7/{ns}/all): export"],
                        ["push", "-q", str(repo), "main"]):
            subprocess.run([*git, *command], check=True, capture_output=True, env=harness.environment())
        return repo, harness.git(work, "rev-parse", "HEAD").strip()

    def table(self, ns):
        """(xmin, value, whether the old time stands) of each row, by inventory and name."""
        lines = op.sql(f"SELECT inventory_name || '/' || (payload->>'name'), xmin, payload->'attributes'->>'v', exported_at = '{LONG_AGO}' FROM {ns}_rows")
        return {name: tuple(rest) for name, *rest in (line.split("\t") for line in lines)}

    def taken_over(self, ns):
        """Both sinks were compared, the inventory says so."""
        def done():
            told = json.loads(op.kubectl("get", "kollectinventory", "all", "-n", ns, "-o", "json")).get("status", {})
            return sum("lastChecksum" in e for e in told.get("sinkExports", [])) == 2 and any(
                c["type"] == "Ready" and c["reason"] == "Exported" for c in told["conditions"])

        op.until(f"{ns} is taken over", done)

    def test_only_what_differs_is_written(self):
        self.team("harbor", {"mode": "perResource", "content": "item"})
        uids = self.harbor_maps("harbor", kept="1", other="2", new="3")
        self.old_table("harbor", ("all", "kept", uids["kept"], "1"), ("all", "other", uids["other"], "old"), ("all", "gone", GONE, "x"),
                       ("foreign", "kept", uids["kept"], "1"))
        folder = "pier-7/harbor/configmap"
        old = {name: FILE.format(ns="harbor", name=name, v=v, uid=uid)
               for name, v, uid in (("kept", "1", uids["kept"]), ("other", "old", uids["other"]), ("gone", "x", GONE))}
        # A folder that gets no file any more, and a file of people, are not known to be the inventory's.
        strange = {f"{folder}/README.md": "ours\n", "pier-7/left/configmap/gone.yaml": FILE.format(ns="left", name="gone", v="x", uid=GONE)}
        repo, head = self.old_files("harbor", {**{f"{folder}/{name}.yaml": text for name, text in old.items()}, **strange})
        before = self.table("harbor")
        self.operator()
        self.taken_over("harbor")
        after = self.table("harbor")
        self.assertEqual({name: row[1:] for name, row in after.items()},
                         {"all/kept": ("1", "t"), "all/other": ("2", "f"), "all/new": ("3", "f"), "foreign/kept": ("1", "t")})
        for name in ("all/kept", "foreign/kept"):
            self.assertEqual(after[name], before[name])
        self.assertEqual(harness.git(repo, "diff", "--no-renames", "--name-status", head, "main").splitlines(),
                         ["A\tinventory/harbor/all.manifest.json", f"D\t{folder}/gone.yaml", f"A\t{folder}/new.yaml", f"M\t{folder}/other.yaml"])
        self.assertEqual(harness.git(repo, "rev-list", "--count", f"{head}..main").strip(), "1")
        self.assertEqual(harness.git(repo, "show", f"main:{folder}/new.yaml"), FILE.format(ns="harbor", name="new", v="3", uid=uids["new"]))

    def test_where_nothing_differs_nothing_is_written(self):
        self.team("quay", {"mode": "document", "content": "item"})
        uids = self.harbor_maps("quay", a="1", b="2")
        self.old_table("quay", *(("all", name, uids[name], v) for name, v in (("a", "1"), ("b", "2"))))
        items = [FILE.format(ns="quay", name=name, v=v, uid=uids[name]) for name, v in (("a", "1"), ("b", "2"))]
        whole = "".join("- " + text.rstrip("\n").replace("\n", "\n  ") + "\n" for text in items)
        repo, head = self.old_files("quay", {"inventory/quay/all.yaml": whole})
        before = self.table("quay")
        self.operator()
        self.taken_over("quay")
        self.assertEqual(self.table("quay"), before)
        self.assertEqual(harness.git(repo, "rev-parse", "main").strip(), head)
        # The takeover is a real one: the next change is written to both.
        self.harbor_maps("quay", a="changed")
        op.until("the change in the table", lambda: self.table("quay")["all/a"][1:] == ("changed", "f"))
        op.until("the change in the repository", lambda: "changed" in harness.git(repo, "show", "main:inventory/quay/all.yaml"))
        self.assertEqual(self.table("quay")["all/b"], before["all/b"])


if __name__ == "__main__":
    harness.main()
