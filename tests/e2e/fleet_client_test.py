#!/usr/bin/env python3
"""The client commands of `kollect fleet` for people: tables, plans, rollouts, dry runs, completion."""
import json

import harness
from fleet_test import Server


class Client(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = Server(self.folder, "sqlite", "harbour.json")
        self.addCleanup(self.server.stop)

    def fleet(self, *args, code=0):
        env = harness.environment(FLUX_API_URL=f"http://127.0.0.1:{self.server.port}", FLUX_API_TOKEN="read-token", FLUX_API_WRITE_TOKEN="write-token")
        ended = harness.run("fleet", *args, env=env)
        self.ends(ended, code)
        return ended

    def said(self, *args):
        return self.fleet(*args).stdout.splitlines()

    def told(self, *args):
        return json.loads(self.fleet(*args, "-o", "json").stdout)

    def version(self, cluster):
        return self.fleet("cluster", "get", cluster, "--version-only").stdout.strip()

    def trail(self):
        return len(self.told("audit")["entries"])

    def test_what_is_misspelt_is_named(self):
        for arguments, words in (
                (["cluster", "list", "--filter", "enviroment=dev"], 'fleet: --filter: there is no key "enviroment"; did you mean environment?'),
                (["audit", "--filter", "colour=red"], 'there is no key "colour"; keys are family, id, actor, batch, since, until, limit, cursor'),
                (["poll-componets", "x"], 'fleet: there is no command "poll-componets"; did you mean poll-components?; see kollect fleet --help'),
                (["cluster", "lst"], 'fleet cluster: there is no command "lst"; did you mean list?'),
                (["cluster"], "fleet cluster: A subcommand is required; see kollect fleet cluster --help"),
                (["cluster", "create", "x", "--name", "X"], "kollect fleet cluster create: --dns is required; see kollect fleet cluster create --help"),
                (["--api-url", "127.0.0.1:1", "audit"], "--api-url (FLUX_API_URL): write https://HOST or http://HOST:PORT")):
            self.assertIn(words, self.fleet(*arguments, code=2).stderr)

    def test_lists_are_tables(self):
        self.assertEqual(self.said("cluster", "list", "--filter", "environment=dev"), [
            "ID        NAME      DNS                    ENVIRONMENT  COMPONENTS  NAMESPACES  ROLEBINDINGS",
            "cork-dev  CORK-DEV  cork-dev.harbour.test  dev          2           1           0"])
        self.assertEqual(self.said("component", "list", "--filter", "component_version=3.2.0")[1].split(),
                         ["edge-proxy", "3.2.0", "net/edge-proxy/3.2.0", "v4.0.0", "oci://registry.harbour.test/platform", "certs"])
        self.assertEqual(self.said("namespace", "list")[-1].split(), ["payments", "pci=true,team=pay", "owner=pay@harbour.test"])
        self.assertEqual(self.said("rolebinding", "list")[1], "ci-view    view           ServiceAccount:build/ci,User:zoë")
        self.fleet("namespace", "create", "a\x1bb\nc")
        self.assertIn("a?b?c", self.said("namespace", "list")[1])
        self.assertEqual(self.said("audit")[1].split()[2:7], ["writer", "POST", "namespaces", "a?b?c", "1"])
        self.assertEqual(self.said("tombstones"), ["DNS  CLUSTER  DELETED  BY  LAST-POLL"])
        self.assertEqual(self.said("unknown-polls"), ["DNS  POLLS  FIRST  LAST"])
        self.fleet("cluster", "list", "-o", "yaml", code=2)

    def test_clusters(self):
        args = ("cluster", "create", "rome", "--name", "ROME", "--dns", "rome.test", "--environment", "qa", "--node-count", "3")
        self.assertEqual(self.said(*args, "--dry-run")[0], "created cluster rome")
        self.fleet("cluster", "get", "rome", code=1)
        self.assertEqual(self.told(*args)["node_count"], 3)
        self.assertIn("already", self.fleet(*args, code=1).stderr)
        self.assertEqual(self.said("cluster", "set", "rome", "--vm-image", "flat", "--clear", "node_count", "--dry-run")[:3], [
            "changed cluster rome", "  node_count: 3 -> (none)", '  vm_image: (none) -> "flat"'])
        self.assertEqual(self.version("rome"), "1")
        self.assertNotIn("node_count", self.told("cluster", "set", "rome", "--vm-image", "flat", "--clear", "node_count"))
        self.assertIn("version 2", self.fleet("cluster", "set", "rome", "--node-count", "4", "--if-match", "1", code=1).stderr)
        self.assertIn("version 2", self.fleet("cluster", "set", "rome", "--node-count", "4", "--if-match", "1", "--dry-run", code=1).stderr)
        self.assertEqual(self.told("cluster", "set", "rome", "--node-count", "4", "--if-match", self.version("rome"))["node_count"], 4)
        self.assertEqual(self.said("cluster", "delete", "rome", "--dry-run")[0], "deleted cluster rome")
        self.fleet("cluster", "delete", "rome", "--if-match", "1", code=1)
        self.assertEqual(self.told("cluster", "delete", "rome")["id"], "rome")
        self.assertEqual(self.told("restore", "cluster", "rome", "--version", "2")["vm_image"], "flat")
        for wrong in (("set", "rome"), ("set", "rome", "--node-count", "x"), ("set", "rome", "--node-count", "1", "--if-match", "x"), ("create", "x")):
            self.fleet("cluster", *wrong, code=2)

    def test_references_dry_and_with_a_version(self):
        self.assertEqual(self.said("component", "assign", "edge-proxy", "--cluster", "oslo-prod", "--dry-run")[:2], [
            "changed cluster oslo-prod", '  platform_components/edge-proxy/oci_tag: "v4.0.1" -> (none)'])
        self.assertEqual(self.said("namespace", "unassign", "bare", "--cluster", "oslo-prod", "--dry-run")[1], '  namespaces/bare: {"id":"bare"} -> (none)')
        self.assertEqual(self.said("component", "patch", "dash", "--cluster", "oslo-prod", "--set", "a=b", "--dry-run")[1],
                         '  patches/dash: (none) -> {"a":"b"}')
        self.assertEqual(self.trail(), 0)
        for what in (("component", "assign", "spare", "--cluster", "oslo-prod"), ("namespace", "unassign", "bare", "--cluster", "oslo-prod"),
                     ("rolebinding", "assign", "nobody", "--cluster", "oslo-prod"), ("component", "patch", "dash", "--cluster", "oslo-prod", "--set", "a=b")):
            self.assertIn("version", self.fleet(*what, "--if-match", "7", code=1).stderr)
            self.assertIn("version", self.fleet(*what, "--if-match", "7", "--dry-run", code=1).stderr)
            self.fleet(*what, "--if-match", self.version("oslo-prod"))
        self.assertEqual(self.trail(), 4)
        warned = self.fleet("component", "patch", "dash", "--cluster", "oslo-prod", "--set", "db.password=x")
        self.assertIn("warning: cluster oslo-prod: the patch db.password of dash looks like a secret", warned.stderr)
        self.assertEqual(self.told("component", "set", "spare", "--oci-tag", "v9")["oci_tag"], "v9")
        made = self.told("rolebinding", "create", "team", "--role", "edit", "--subject", "Group:team", "--subject", "ServiceAccount:build/ci")
        self.assertEqual(made["subjects"], [{"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"},
                                            {"kind": "ServiceAccount", "name": "ci", "namespace": "build"}])
        self.fleet("rolebinding", "create", "x", "--role", "edit", "--subject", "ServiceAccount:ci", code=2)

    def test_plan_and_apply(self):
        file = harness.write(self.folder / "fleet.yaml", """\
namespaces:
  - {id: payments, labels: {team: pay}}
clusters:
  - {_id: cork-dev, node_count: 2}
  - {id: rome-qa, cluster_name: ROME, cluster_dns: rome.test, environment: qa, platform_components: [{id: certs}]}
""")
        plan = ["changed namespace payments", '  labels/pci: "true" -> (none)', "changed cluster cork-dev", "  node_count: 1 -> 2", "created cluster rome-qa",
                "created 1, changed 2, deleted 0, unchanged 0", "clusters that get another answer: 2 (prod 1, qa 1)"]
        dry = plan + ["a dry run: nothing was changed"]
        self.assertEqual(self.said("plan", "-f", file), dry)
        self.assertEqual(self.said("apply", "-f", file, "--dry-run"), dry)
        self.assertEqual(self.trail(), 0)
        self.assertEqual(self.said("apply", "-f", file, "--note", "first")[:-1], plan)
        self.assertEqual(self.said("plan", "-f", file)[0], "created 0, changed 0, deleted 0, unchanged 3")
        self.assertEqual(self.said("rollout", "list")[1].split()[2:], ["writer", "batch", "1", "2", "0", "first"])
        bad = harness.write(self.folder / "bad.yaml", "namespaces: [{id: fine}]\nclusters: [{id: rome-qa, environment: stage}]\n")
        self.assertIn("cluster rome-qa: environment", self.fleet("apply", "-f", bad, code=1).stderr)
        self.fleet("namespace", "get", "fine", code=1)
        for text in ("cluster: []", "clusters: {}", "[]", "clusters: []"):
            self.fleet("plan", "-f", harness.write(self.folder / "odd.yaml", text), code=2)
        self.fleet("plan", "-f", self.folder / "none.yaml", code=1)

    def test_batch(self):
        file = harness.write(self.folder / "batch.yaml", "- {op: assign_component, selector: {environment: [dev, uat]}, component: spare}\n")
        self.assertEqual(self.said("batch", "-f", file, "--dry-run")[-1], "a dry run: nothing was changed")
        self.assertEqual(self.told("batch", "-f", file)["changed"], 2)
        file = harness.write(self.folder / "batch.json", json.dumps({"operations": [{"op": "delete", "family": "clusters", "selector": {}}]}))
        self.assertIn("says nothing", self.fleet("batch", "-f", file, code=1).stderr)

    def test_rollouts(self):
        self.assertIn("say which clusters", self.fleet("hotfix", "certs", "--oci-tag", "x", code=2).stderr)
        plan = self.said("rollout", "component", "spare", "--environment", "dev", "--oci-tag", "v2", "--set", "a=b", "--dry-run")
        self.assertEqual(plan[:3], ["changed cluster cork-dev", '  platform_components/spare: (none) -> {"id":"spare","enabled":true,"oci_tag":"v2"}',
                                    '  patches/spare: (none) -> {"a":"b"}'])
        self.fleet("rollout", "component", "spare", "--environment", "dev", "--oci-tag", "v2")
        self.assertIn("no cluster of qa", self.fleet("promote", "spare", "--from", "dev", "--to", "qa", code=1).stderr)
        self.fleet("promote", "spare", "--from", "dev", "--to", "qa", "--assign-missing", "--note", "to qa")
        self.assertEqual(self.told("cluster", "get", "lyon-qa")["platform_components"][-1], {"id": "spare", "enabled": True, "oci_tag": "v2"})
        self.fleet("rollout", "canary", "dash", "--cluster", "cork-dev", "--component-path", "obs/dash/18")
        self.fleet("canary", "certs", "--select", "has_component=certs", "--limit", "1", "--oci-tag", "rc")
        self.assertIn('"rc"', json.dumps(self.told("cluster", "get", "cork-dev")))
        self.fleet("hotfix", "certs", "--all", "--oci-tag", "v4.0.1")
        self.fleet("rollout", "upgrade", "dash", "--component-path", "obs/dash/18", "--component-version", "18", "--clear-overrides")
        self.assertEqual(self.told("poll-components", "oslo-prod.harbour.test")["inputs"][2]["component_path"], "obs/dash/18")
        self.fleet("rollout", "decommission", "--cluster", "lyon-qa")
        self.assertEqual(self.told("poll-components", "lyon-qa.harbour.test"), {"inputs": []})
        listed = self.told("rollout", "list")["rollouts"]
        self.assertEqual([one["kind"] for one in listed], ["decommission", "upgrade", "hotfix", "canary", "canary", "promote", "component"])
        self.assertEqual(self.said("rollout", "undo", listed[0]["id"], "--dry-run")[0], "created cluster lyon-qa")
        self.fleet("rollout", "undo", listed[0]["id"])
        self.assertEqual([one["id"] for one in self.told("rollout", "get", listed[0]["id"])["members"]], ["lyon-qa"])
        said = self.fleet("rollout", "undo", listed[3]["id"], code=1).stderr
        self.assertIn("platform_components/certs/oci_tag", said)
        file = harness.write(self.folder / "rollout.yaml", "{kind: hotfix, component: certs, oci_tag: v5, environment: prod, note: now}\n")
        self.assertEqual(self.said("rollout", "start", "-f", file)[0], "changed cluster oslo-prod")
        self.assertEqual(self.said("rollout", "list", "--filter", "limit=1")[1].split()[-1], "now")

    def test_restore(self):
        for wrong in (("cluster", "cork-dev"), ("cluster", "cork-dev", "--version", "1", "--seq", "1"), ("clutser", "cork-dev", "--version", "1"),
                      ("cluster", "cork-dev", "--version", "0")):
            self.fleet("restore", *wrong, code=2)
        before = self.told("cluster", "get", "cork-dev")
        self.fleet("cluster", "set", "cork-dev", "--node-count", "9")
        self.assertIn("version 2", self.fleet("restore", "cluster", "cork-dev", "--version", "1", "--if-match", "1", code=1).stderr)
        self.assertEqual(self.told("restore", "clusters", "cork-dev", "--version", "1"), before)

    def test_edits_of_many_at_once_are_all_kept(self):
        env = harness.environment(FLUX_API_URL=f"http://127.0.0.1:{self.server.port}", FLUX_API_TOKEN="read-token", FLUX_API_WRITE_TOKEN="write-token")
        running = [harness.start("fleet", "component", "patch", "dash", "--cluster", "cork-dev", "--set", f"key{number}=x", env=env) for number in range(8)]
        for one in running:
            out, err = one.communicate(timeout=60)
            self.assertEqual(one.returncode, 0, (out, err))
        self.assertEqual(sorted(self.told("cluster", "get", "cork-dev")["patches"]["dash"]), [f"key{number}" for number in range(8)])

    def test_completion_knows_the_nouns(self):
        def words(*typed):
            return harness.run("__complete", str(len(typed)), *typed).stdout.splitlines()
        self.assertLessEqual({"cluster", "rollout", "serve", "--output"}, set(words("fleet", "")))
        self.assertLessEqual({"list", "set", "delete"}, set(words("fleet", "cluster", "")))
        self.assertIn("--node-count", words("fleet", "cluster", "set", "x", "--"))
        self.assertNotIn("list", words("fleet", "cluster", "set", ""))
        self.assertLessEqual({"promote", "undo"}, set(words("fleet", "rollout", "")))


if __name__ == "__main__":
    harness.main()
