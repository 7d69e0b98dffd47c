#!/usr/bin/env python3
"""What users of comparable tools met, through the whole operator: `kollect sandbox` plays the server's part. Each test names its case
(field-...) and each assertion the check that it stands for."""
import json
import pathlib
import re
import subprocess
import urllib.request

import harness
import manifests as m
import operator_test as op
from relay import Relay
from sandbox import Sandbox

MAPS = "/api/v1/namespaces/sea/configmaps"
BOATS = "/apis/harbour.example/v1/namespaces/sea/boats"
TARGETS = "/apis/kollect.dev/v1alpha1/namespaces/ops/kollecttargets"
BOAT_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.harbour.example"},
    "spec": {"group": "harbour.example", "scope": "Namespaced", "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def profile(name, group, version, kind, attribute="data", path="$.data"):
    return m.profile("ops", name, kind, {"name": attribute, "path": path, "type": "map", "optional": True}, group=group, version=version)


def target(name, profile_name, **spec):
    return m.target("ops", name, profile_name, includedNamespaces=["sea"], **spec)


def base(folder):
    return (m.namespace("sea") + m.namespace("ops") + m.sqlite_sink("ops", "rows.db") + m.git_sink("ops", f"file://{folder}/rows.git")
            + m.inventory("ops", databaseSinkRefs=["file"], snapshotSinkRefs=["git"]))


class Served(op.Scenario):
    def begin(self, manifests, *flags, operator=True, maps=(), sandbox_flags=(), script=None):
        """With a `script` the operator talks to the sandbox through self.relay (relay.py)."""
        folder = pathlib.Path(self.folder)
        self.repo = folder / "rows.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.repo)], check=True)
        self.sandbox = Sandbox(folder, base(folder) + manifests, *sandbox_flags)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        if script:
            self.relay = Relay(self.sandbox.url, script)
            self.addCleanup(self.relay.stop)
            self.in_kubeconfig(self.sandbox.url, self.relay.url)
        for name in maps:
            self.map(name)
        self.flags = flags
        if operator:
            self.run_operator()

    def in_kubeconfig(self, old, new):
        text = self.sandbox.kubeconfig.read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.sandbox.kubeconfig.write_text(text.replace(old, new), encoding="utf-8")

    def run_operator(self, *flags, **options):
        return self.operator("--allow-local-sinks", "--sqlite-dir", str(self.folder), *self.flags, *flags, **options)

    def map(self, name, value="1", labels=None):
        return self.sandbox.call("POST", MAPS, {"metadata": {"name": name, "labels": labels or {}}, "data": {"v": value}})

    def faults(self, *rules):
        self.sandbox.call("PUT", "/sandbox/faults", {"seed": 1, "rules": list(rules)})

    def struck(self):
        return {r["id"]: (r["matches"], r["strikes"]) for r in self.sandbox.call("GET", "/sandbox/faults")["rules"]}

    def ask(self, query):
        return harness.sqlite_rows(pathlib.Path(self.folder) / "rows.db", query)

    def names(self, kind="ConfigMap"):
        found = self.ask(f"SELECT name FROM inventory_rows WHERE kind = '{kind}' ORDER BY name")
        return None if found is None else [name for name, in found]

    def files_now(self):
        return sorted(pathlib.PurePath(p).name for p in self.files(self.repo) if p.endswith(".yaml"))

    def contents(self):
        """Path to text of every row's file."""
        return {f: harness.git(self.repo, "show", f"main:{f}") for f in self.files(self.repo) if f.endswith(".yaml")}

    def target_conditions(self, name):
        status = self.sandbox.call("GET", f"{TARGETS}/{name}").get("status", {})
        return {c["type"]: (f"{c['status']}/{c['reason']}", c["message"]) for c in status.get("conditions", [])}

    def state(self, name, kind):
        return self.target_conditions(name).get(kind, ("", ""))[0]


class FieldCases(Served):
    def expired_revision(self, paged):
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), f"--watch-list={str(not paged).lower()}", maps=("a", "b"))
        op.until("rows", lambda: self.names() == ["a", "b"])
        # An error frame, then an answer of 410, in lists too.
        self.faults({"id": "frame", "do": "gone", "verbs": ["watch"], "resources": ["configmaps"], "times": 1},
                    {"id": "answer", "do": "error", "code": 410, "verbs": ["watch"], "resources": ["configmaps"], "times": 1},
                    {"id": "list", "do": "gone", "verbs": ["list"], "resources": ["configmaps"], "times": 1},
                    {"id": "asked", "do": "error", "verbs": ["list", "watch"], "resources": ["configmaps"], "times": 0})
        self.sandbox.call("POST", "/sandbox/restart")
        self.sandbox.call("DELETE", MAPS + "/b")
        self.map("c")
        op.until("rows: the file", lambda: self.names() == ["a", "c"])
        op.until("rows: the repository", lambda: self.files_now() == ["a.yaml", "c.yaml"])
        self.assertLess(self.struck()["asked"][0], 12, "bounded")
        op.until("visible", lambda: self.state("maps", "Ready") == "True/Collecting")

    def test_watch_expired_revision_streamed(self):
        """field-watch-expired-revision"""
        self.expired_revision(False)

    def test_watch_expired_revision_paged(self):
        """field-watch-expired-revision"""
        self.expired_revision(True)

    def test_continue_token_expires(self):
        """field-continue-token-expires"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), "--watch-list=false", operator=False,
                   maps=[f"m{i:03}" for i in range(620)])
        self.faults({"id": "page-2", "do": "gone", "verbs": ["list"], "resources": ["configmaps"], "skip": 1, "times": 1})
        self.run_operator()
        sizes = set()

        def complete():
            sizes.add(len(self.names() or []))
            return max(sizes) == 620

        op.until("complete", complete)
        self.assertEqual(sizes - {0, 620}, set(), "no-early-export")
        self.assertEqual(self.struck()["page-2"][1], 1)
        self.assertEqual(self.ask("SELECT count(*), count(DISTINCT uid) FROM inventory_rows"), [(620, 620)], "complete")
        self.assertEqual(self.ask("SELECT count(*), count(DISTINCT at) FROM inventory_changes"), [(620, 1)], "no-early-export: one write of everything")
        # A second list breaks on its second page: what stands there is not taken away.
        self.faults({"id": "forgotten", "do": "gone", "verbs": ["watch"], "resources": ["configmaps"], "times": 1},
                    {"id": "page-2", "do": "gone", "verbs": ["list"], "resources": ["configmaps"], "skip": 1, "times": 1})
        self.sandbox.call("POST", "/sandbox/restart")
        self.sandbox.call("DELETE", MAPS + "/m000")
        sizes.clear()

        def without_one():
            sizes.add(len(self.names()))
            return "m000" not in self.names()

        op.until("no-false-delete: the right one goes", without_one)
        self.assertLessEqual(sizes, {619, 620}, "no-false-delete")
        self.assertEqual(self.struck()["page-2"][1], 1)
        self.assertEqual(self.ask("SELECT name FROM inventory_changes WHERE change <> 'appeared'"), [("m000",)], "no-false-delete")

    def test_crd_deleted_and_recreated(self):
        """field-crd-deleted-and-recreated: the flat check's hundred rounds"""
        self.begin(profile("boats", "harbour.example", "v1", "Boat", "berth", "$.spec") + target("boats", "boats")
                   + profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), maps=("still-there",), script=lambda request: None)
        memory = {}
        for number in range(1, 101):
            self.sandbox.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", BOAT_CRD)
            boats = [f"boat-{number}-{i}" for i in range(3)]
            for name in boats:
                self.sandbox.call("POST", BOATS, {"apiVersion": "harbour.example/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"berth": {"n": 1}}})
            op.until(f"three, found-again: round {number}", lambda boats=boats: self.names("Boat") == boats, 30)
            self.assertEqual(self.names(), ["still-there"])
            self.assertEqual(self.relay.most_open["boats"], 1, "one-watch")
            memory[number] = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.operators[-1].process.pid}/status").read_text(encoding="utf-8")).group(1))
            self.sandbox.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.harbour.example")
            op.until(f"the rows go: round {number}", lambda: self.names("Boat") == [], 30)
            if number == 3:
                op.until("the kind is missed", lambda: self.state("boats", "Degraded") == "True/InformerRegistrationFailed")
        self.assertLess(memory[100] - memory[10], 10 * 1024, "flat")
        op.until("others go on", lambda: self.state("maps", "Ready") == "True/Collecting")

    def test_crd_deleted_while_we_were_down(self):
        """field-crd-deleted-and-recreated: three, others. Who has never read the kind does not know what became of its objects: their rows stay
        until it is served again."""
        self.begin(profile("boats", "harbour.example", "v1", "Boat", "berth", "$.spec") + target("boats", "boats")
                   + profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), maps=("a",), operator=False)

        def boats(number):
            self.sandbox.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", BOAT_CRD)
            names = [f"boat-{number}-{i}" for i in range(3)]
            for name in names:
                self.sandbox.call("POST", BOATS, {"apiVersion": "harbour.example/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"berth": {"n": 1}}})
            return names

        first = boats(1)
        operator = self.run_operator()
        op.until("three", lambda: self.names("Boat") == first)
        operator.kill()
        self.sandbox.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.harbour.example")
        self.map("b")
        self.run_operator()
        op.until("other targets go on", lambda: self.names() == ["a", "b"])
        op.until("the target is not Ready", lambda: self.state("boats", "Degraded") == "True/InformerRegistrationFailed")
        self.assertEqual(self.state("boats", "Ready"), "")
        self.assertEqual(self.names("Boat"), first)
        second = boats(2)
        op.until("three, found-again", lambda: self.names("Boat") == second, 30)
        op.until("the target is Ready", lambda: self.state("boats", "Ready") == "True/Collecting")

    def test_missing_kind_does_not_stop_others(self):
        """field-missing-kind-does-not-stop-others"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps")
                   + profile("imagepolicies", "image.toolkit.fluxcd.io", "v1", "ImagePolicy") + target("imagepolicies", "imagepolicies")
                   + profile("typo", "apps", "v1", "Deploiment") + target("typo", "typo"),
                   maps=("a",))
        op.until("exported", lambda: self.names() == ["a"], 10)
        op.until("Ready", lambda: self.state("maps", "Ready") == "True/Collecting")
        for name in ("imagepolicies", "typo"):
            op.until(f"{name} is told", lambda name=name: self.state(name, "Degraded") == "True/InformerRegistrationFailed")
            self.assertIn("not served", self.target_conditions(name)["Degraded"][1])
        self.assertIn("Deployment", self.target_conditions("typo")["Degraded"][1], "a near miss is named")

        def named():
            status = self.sandbox.call("GET", "/apis/kollect.dev/v1alpha1/namespaces/ops/kollectinventories/all").get("status", {})
            return all(name in json.dumps(status) for name in ("imagepolicies", "typo"))

        op.until("the inventory names the missing inputs", named)

    def test_missing_kind_leaves_the_probe_green(self):
        """field-missing-kind-does-not-stop-others: ready-probe"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps") + profile("typo", "apps", "v1", "Deploiment") + target("typo", "typo"),
                   maps=("a",), operator=False)
        port = harness.free_port()
        self.run_operator("--health-probe-bind-address", f"127.0.0.1:{port}")
        op.until("exported", lambda: self.names() == ["a"], 10)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            self.assertEqual(answer.status, 200)

    def no_end_mark(self, *rules, program=harness.KOLLECT):
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), operator=False, maps=("b", "a"))
        self.faults(*({"id": str(number), "verbs": ["watch"], "resources": ["configmaps"], **rule} for number, rule in enumerate(rules)))
        self.run_operator(program=program)
        sizes = set()

        def synced():
            sizes.add(len(self.names() or []))
            return self.names() == ["a", "b"] and self.state("maps", "Ready") == "True/Collecting"

        op.until("synced", synced, 30)
        self.assertLessEqual(sizes, {0, 2}, "no-partial")
        self.map("c")
        op.until("the watch that follows", lambda: self.names() == ["a", "b", "c"])

    def test_streaming_list_without_end_mark_a(self):
        """field-streaming-list-without-end-mark: variant A"""
        self.no_end_mark({"do": "no-list-end"}, {"do": "no-bookmarks"}, program=harness.FAST)  # it waits ten seconds for the mark

    def test_streaming_list_without_end_mark_b(self):
        """field-streaming-list-without-end-mark: variant B"""
        self.no_end_mark({"do": "no-list-end"})

    def test_streaming_list_without_end_mark_c(self):
        """field-streaming-list-without-end-mark: variant C"""
        self.no_end_mark({"do": "error", "code": 400, "times": 1})

    def test_service_account_token_rotates(self):
        """field-service-account-token-rotates: no-gap, watch-open, not-empty, never-logged"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), operator=False, maps=("a",), script=lambda request: None)
        mount = pathlib.Path(self.folder) / "mount"
        self.in_kubeconfig("user: {}", f"user: {{tokenFile: {mount}/token}}")

        def mounted(revision, text):
            """As the kubelet does it: a new folder, then a link that is renamed into place."""
            (mount / revision).mkdir(parents=True)
            (mount / revision / "token").write_text(text, encoding="utf-8")
            (mount / "..data_tmp").symlink_to(revision)
            (mount / "..data_tmp").rename(mount / "..data")

        mounted("..2026_01", "token-one")
        (mount / "token").symlink_to("..data/token")

        def valid(*tokens):
            self.sandbox.call("PUT", "/sandbox/access", {"users": [{"name": "kollect", "token": t} for t in tokens] or [{"name": "x", "token": "nobody"}]})

        valid("token-one")
        self.run_operator()
        op.until("rows", lambda: self.names() == ["a"])
        watches = self.relay.requests("configmaps", True)
        mounted("..2026_02", "token-two\n")
        valid("token-two")
        self.map("b")
        op.until("watch-open", lambda: self.names() == ["a", "b"])
        self.assertEqual(self.relay.requests("configmaps", True), watches, "watch-open")
        self.assertTrue(watches[-1].is_open(), "watch-open")
        self.sandbox.call("POST", "/sandbox/restart")
        self.map("c")
        op.until("no-gap: with the second token", lambda: self.names() == ["a", "b", "c"])
        (mount / "..2026_02/token").write_text("", encoding="utf-8")
        self.sandbox.call("POST", "/sandbox/restart")
        self.map("d")
        op.until("no-gap: while the file is empty", lambda: self.names() == ["a", "b", "c", "d"])
        (mount / "..2026_02/token").write_text("token-three", encoding="utf-8")
        valid()
        self.sandbox.call("POST", "/sandbox/restart")
        self.map("e")
        op.until("it is refused", lambda: '"ending":"unauthorized"' in self.operators[-1].text())
        self.assertIsNone(self.operators[-1].process.poll(), "no exit")
        self.assertEqual(self.names(), ["a", "b", "c", "d"])
        valid("token-three")
        op.until("no-gap: with the third token", lambda: self.names() == ["a", "b", "c", "d", "e"])
        self.assertEqual({r.headers.get("authorization") for r in self.relay.passed}, {f"Bearer token-{n}" for n in ("one", "two", "three")}, "not-empty")
        text = self.operators[-1].text() + json.dumps(self.target_conditions("maps"))
        self.assertNotRegex(text, "token-(one|two|three)", "never-logged")

    def test_same_kind_in_two_groups(self):
        """field-same-kind-in-two-groups"""
        crds = "".join("---\n" + json.dumps({
            **BOAT_CRD, "metadata": {"name": f"{plural}.{group}"},
            "spec": {**BOAT_CRD["spec"], "group": group, "names": {"plural": plural, "kind": kind}}}) + "\n"
            for group, plural, kind in (("serving.knative.dev", "services", "Service"), ("gateway.networking.k8s.io", "gateways", "Gateway"),
                                        ("networking.istio.io", "gateways", "Gateway")))
        pairs = {"core": ("", "Service", "/api/v1/namespaces/sea/services", "shop"),
                 "knative": ("serving.knative.dev", "Service", "/apis/serving.knative.dev/v1/namespaces/sea/services", "shop"),
                 "gateway": ("gateway.networking.k8s.io", "Gateway", "/apis/gateway.networking.k8s.io/v1/namespaces/sea/gateways", "edge"),
                 "istio": ("networking.istio.io", "Gateway", "/apis/networking.istio.io/v1/namespaces/sea/gateways", "edge")}
        self.begin(crds + "".join(profile(name, group, "v1", kind, "spec", "$.spec") + target(name, name) for name, (group, kind, _, _) in pairs.items()),
                   operator=False)
        for name in reversed(pairs):
            group, kind, path, called = pairs[name]
            self.sandbox.call("POST", path, {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": {"name": called},
                                             "spec": {"ports": [{"port": 80}], "from": name}})
        self.run_operator()
        op.until("four-rows", lambda: (self.ask("SELECT count(*) FROM inventory_rows") or [(0,)])[0][0] == 4)

        op.until("four-files", lambda: len(self.files_now()) == 4)
        before = self.contents()
        self.assertEqual(sorted("".join(re.findall(r"^group: \"?([^\"\n]*)", text, re.M)) for text in before.values()), sorted(g for g, _, _, _ in pairs.values()))

        def warned():
            status = self.sandbox.call("GET", "/apis/kollect.dev/v1alpha1/namespaces/ops/kollectinventories/all").get("status", {})
            told = self.operators[-1].text() + "\n" + json.dumps(status, indent=0)
            # Both objects of a pair in one line.
            return all(any(all(name in line for name in pair) for line in told.splitlines())
                       for pair in (("Service sea/shop", "Service.serving.knative.dev sea/shop"),
                                    ("Gateway.gateway.networking.k8s.io sea/edge", "Gateway.networking.istio.io sea/edge")))

        op.until("warned", warned)
        self.sandbox.call("DELETE", pairs["istio"][2] + "/edge")
        op.until("one of a pair goes", lambda: len(self.files_now()) == 3)
        after = self.contents()
        self.assertEqual({f: t for f, t in before.items() if "networking.istio.io" not in t}, after, "stable")

    def test_same_kind_in_two_groups_one_after_the_other(self):
        """field-same-kind-in-two-groups: stable. The objects come one by one, in two orders; each is exported before the next one comes."""
        crd = "---\n" + json.dumps({**BOAT_CRD, "metadata": {"name": "services.serving.knative.dev"}, "spec": {
            **BOAT_CRD["spec"], "group": "serving.knative.dev", "names": {"plural": "services", "kind": "Service"}}}) + "\n"
        shown = {"matchLabels": {"shown": "yes"}}
        self.begin(crd + "".join(profile(name, group, "v1", "Service", "spec", "$.spec") + target(name, name, labelSelector=shown)
                                 for name, group in (("core", ""), ("knative", "serving.knative.dev"))))
        paths = {name: f"{api}/namespaces/sea/services" for name, api in (("core", "/api/v1"), ("knative", "/apis/serving.knative.dev/v1"))}
        for name, path in paths.items():
            self.sandbox.call("POST", path, {"apiVersion": path.split("/namespaces")[0].split("/", 2)[2], "kind": "Service", "metadata": {"name": "shop"},
                                             "spec": {"ports": [{"port": 80}], "from": name}})
        seen = []
        for order in (("core", "knative"), ("knative", "core")):
            for count, name in enumerate(order, 1):
                self.sandbox.patch(f"{paths[name]}/shop", metadata={"labels": {"shown": "yes"}})
                op.until("files", lambda count=count: len(self.files_now()) == count)
            op.until("each with its own object", lambda: len({re.search("from: \\w+", text).group() for text in self.contents().values()}) == 2)
            seen.append(self.contents())
            for path in paths.values():
                self.sandbox.patch(f"{path}/shop", metadata={"labels": {"shown": None}})
            op.until("all gone", lambda: not self.files_now())
        self.assertEqual(*seen, "stable")

    def test_recreated_under_the_same_name(self):
        """field-recreated-under-the-same-name"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), maps=("job", "other"))
        op.until("files", lambda: self.files_now() == ["job.yaml", "other.yaml"])
        for number in range(5):
            self.sandbox.call("DELETE", MAPS + "/job")
            uid = self.map("job", f"new-{number}")["metadata"]["uid"]
            op.until("one-row", lambda uid=uid: self.ask("SELECT uid FROM inventory_rows WHERE name = 'job'") == [(uid,)])
            op.until("file", lambda uid=uid: uid in subprocess.run(["git", "-C", str(self.repo), "grep", "-h", "uid:", "main", "--", "*job.yaml"],
                                                                   capture_output=True, text=True, check=False).stdout)
        # Variant B: the frames are lost, the next list shows the second one.
        self.faults({"id": "forgotten", "do": "gone", "verbs": ["watch"], "resources": ["configmaps"], "times": 1})
        self.sandbox.call("POST", "/sandbox/restart")
        self.sandbox.call("DELETE", MAPS + "/job")
        uid = self.map("job", "last")["metadata"]["uid"]
        op.until("one-row", lambda: self.ask("SELECT uid FROM inventory_rows WHERE name = 'job'") == [(uid,)])
        self.assertEqual(self.files_now(), ["job.yaml", "other.yaml"])

    def test_recreated_within_one_export(self):
        """field-recreated-under-the-same-name: one-row, file; variant C"""
        self.begin(profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), maps=("job", "other"), script=lambda request: None)
        op.until("files", lambda: self.files_now() == ["job.yaml", "other.yaml"])
        op.until("rows", lambda: self.names() == ["job", "other"])
        commits = harness.git(self.repo, "rev-list", "--count", "main")
        self.relay.let_through.clear()
        self.sandbox.call("DELETE", MAPS + "/job")
        uid = self.map("job", "new")["metadata"]["uid"]
        op.until("both events are on their way", lambda: uid in self.relay.held_back())
        self.relay.let_through.set()
        op.until("one-row", lambda: self.ask("SELECT uid FROM inventory_rows WHERE name = 'job'") == [(uid,)])
        op.until("file", lambda: uid in subprocess.run(["git", "-C", str(self.repo), "grep", "-h", "uid:", "main", "--", "*job.yaml"],
                                                       capture_output=True, text=True, check=False).stdout)
        self.assertEqual(int(harness.git(self.repo, "rev-list", "--count", "main")), int(commits) + 1)
        self.assertEqual(harness.git(self.repo, "log", "--diff-filter=D", "--format=%h", "main", "--", "*job.yaml"), "", "file: never missing")


class OnPostgres(Served):
    """With a real database."""

    @classmethod
    def setUpClass(cls):
        op.PG.update(op.exports(op.server("postgres.sh", "start")))

    @classmethod
    def tearDownClass(cls):
        op.server("postgres.sh", "stop")

    def table(self, columns):
        return [tuple(line.split("\t")) for line in op.sql(f"select {columns} from deploys order by 1, 2") or []]

    def test_deleted_while_we_were_down(self):
        """field-deleted-while-we-were-down: on PostgreSQL, a file and Git"""
        sink = m.postgres_sink("ops", op.dsn(), "deploys", cluster="berlin")
        self.begin(sink + profile("maps", "", "v1", "ConfigMap") + target("deploys", "maps", names=["web", "gone", "api"])
                   + target("removed-target", "maps", names=["orphan"]), maps=("web", "gone", "orphan"), operator=False)
        self.sandbox.patch("/apis/kollect.dev/v1alpha1/namespaces/ops/kollectinventories/all", spec={"databaseSinkRefs": ["pg", "file"]})
        operator = self.run_operator("--watch-list=false")
        op.until("the backend before", lambda: len(self.table("cluster, payload->>'name'")) == 3)
        op.until("the file before", lambda: self.names() == ["gone", "orphan", "web"])
        op.until("the repository before", lambda: self.files_now() == ["gone.yaml", "orphan.yaml", "web.yaml"])
        self.assertIsNotNone(op.sql(
            "insert into deploys (inventory_namespace, inventory_name, target_name, source_uid, cluster, resource_namespace, payload, exported_at) "
            "values ('ops', 'all', 'deploys', 'u9', 'paris', 'sea', '{\"name\": \"web\"}', now())"))
        operator.kill()
        before = self.table("cluster, payload->>'name', xmin, exported_at, payload")
        self.sandbox.call("DELETE", MAPS + "/gone")
        self.sandbox.patch(f"{TARGETS}/removed-target", metadata={"finalizers": None})
        self.sandbox.call("DELETE", f"{TARGETS}/removed-target")
        self.map("api")
        for number in range(600):
            self.map(f"unasked-{number:03}")  # more than a page
        self.faults({"id": "page-2", "do": "error", "verbs": ["list"], "resources": ["configmaps"], "skip": 1})
        operator = self.run_operator("--watch-list=false")
        op.until("lists that break on their second page", lambda: self.struck()["page-2"][1] >= 2)
        self.assertEqual(self.table("cluster, payload->>'name', xmin, exported_at, payload"), before, "order")
        self.assertEqual(self.names(), ["gone", "orphan", "web"], "order: the file")
        self.assertEqual(self.files_now(), ["gone.yaml", "orphan.yaml", "web.yaml"], "order: the repository")
        self.assertNotIn('"why":"first"', operator.text(), "order")
        self.faults()
        op.until("difference", lambda: self.table("cluster, payload->>'name'") == [("berlin", "api"), ("berlin", "web"), ("paris", "web")])
        op.until("difference: the file", lambda: self.names() == ["api", "web"])
        op.until("difference: the repository", lambda: self.files_now() == ["api.yaml", "web.yaml"])
        after = self.table("cluster, payload->>'name', xmin, exported_at, payload")
        same = [row for row in before if row[1] == "web"]
        self.assertEqual([row for row in after if row[1] == "web"], same, "not-rewritten")
        changes = "SELECT * FROM inventory_changes ORDER BY at, name"
        history = self.ask(changes)
        self.assertEqual(self.ask("SELECT change FROM inventory_changes WHERE name = 'web'"), [("appeared",)], "not-rewritten: the file")
        tip = harness.git(self.repo, "rev-parse", "main")
        operator.kill()
        operator = self.run_operator()
        op.until("the second start has compared", lambda: operator.text().count('"why":"first"') >= 3)
        self.assertEqual(self.table("cluster, payload->>'name', xmin, exported_at, payload"), after, "second-start")
        self.assertEqual(self.ask(changes), history, "second-start: the file")
        self.assertEqual(harness.git(self.repo, "rev-parse", "main"), tip, "second-start: the repository")

    def test_characters_that_jsonb_cannot_hold(self):
        """field-nul-and-lone-surrogates-in-jsonb: three, literal, reported (the log line), stable. No lone surrogate comes from a server."""
        self.begin(m.postgres_sink("ops", op.dsn(), "odd") + profile("maps", "", "v1", "ConfigMap") + target("maps", "maps"), operator=False)
        self.sandbox.patch("/apis/kollect.dev/v1alpha1/namespaces/ops/kollectinventories/all", spec={"databaseSinkRefs": ["pg"], "snapshotSinkRefs": None})
        for name, data in (("nul", {"k\0ey": "a\0b", "literal": "C:\\u0000 is text"}), ("emoji", {"ok": "\U0001f600"}), ("fine", {"a": "b"})):
            self.sandbox.call("POST", MAPS, {"metadata": {"name": name}, "data": data})
        value = "coalesce(payload #>> '{attributes,data,literal}', payload #>> '{attributes,data,ok}', payload #>> '{attributes,data,a}')"
        rows = f"select payload->>'name', {value}, payload #> '{{attributes,data}}' ->> U&'k\\FFFDey', xmin, exported_at from odd order by 1"

        def told():
            return [line for o in self.operators for line in o.text().splitlines() if '"level":"debug"' not in line and "U+0000" in line]

        written = None
        for start in ("first", "second"):
            operator = self.run_operator()
            op.until(f"the pass of the {start} start", lambda operator=operator: '"why":"first"' in operator.text())
            now = op.sql(rows)
            self.assertEqual([line.split("\t")[:3] for line in now],
                             [["emoji", "\U0001f600", ""], ["fine", "b", ""], ["nul", "C:\\u0000 is text", "a\ufffdb"]], "three, literal")
            self.assertEqual(now, written or now, "stable")
            written = now
            op.until("reported", told)
            operator.kill()
        self.assertEqual(len(told()), 1, "reported: one line")
        self.assertIn("sea/nul, attribute data", told()[0], "reported")


if __name__ == "__main__":
    harness.main()
