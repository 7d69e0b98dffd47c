#!/usr/bin/env python3
"""The operator killed a hundred times at random moments while objects change (field-backend-crash-between-two-steps).

Its sinks are a Git repository and a SQLite file. Every kill is followed by nothing but a start. Now and then it may finish: then
both must come to equal the list of the API server.
CRASH_ROUNDS sets the number of kills, CRASH_SEED what happens.
"""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "100"))
SEED = int(os.environ.get("CRASH_SEED", "25"))
GRACE = 30  # seconds; what a pod is given to end
NS = "crash"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NS}/deployments"


def manifests(folder):
    return (m.namespace(NS)
            + m.profile(NS, "apps", "Deployment", {"name": "version", "path": "$.metadata.labels['app.kubernetes.io/version']"},
                        {"name": "text", "path": "$.metadata.annotations.text", "optional": True}, group="apps")
            + m.target(NS, "apps", "apps", includedNamespaces=[NS])
            + m.sqlite_sink(NS, "crash.db") + m.git_sink(NS, f"file://{folder}/crash.git")
            + m.inventory(NS, exportMinInterval="0s", databaseSinkRefs=["file"], snapshotSinkRefs=["git"]))


class WithSinks(op.Scenario):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.folder)
        self.random = random.Random(SEED)
        self.repo = self.folder / "crash.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.repo)], check=True)
        self.sandbox = Sandbox(self.folder, manifests(self.folder))
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.names = [f"d{i:03}" for i in range(120)]
        self.alive = set()
        self.versions = 0
        for name in self.names[:80]:
            self.change(name)

    def tearDown(self):
        super().tearDown()
        self.sandbox.stop()

    # What happens to the objects.
    def change(self, name):
        self.versions += 1
        metadata = {"labels": {"app.kubernetes.io/version": f"v{self.versions}"}}
        if name not in self.alive:
            labels = {"app": name}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            self.sandbox.call("POST", DEPLOYMENTS, {
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, **metadata},
                "spec": {"selector": {"matchLabels": labels}, "template": template}})
            self.alive.add(name)
        elif self.random.random() < 0.25:
            self.sandbox.call("DELETE", f"{DEPLOYMENTS}/{name}")
            self.alive.discard(name)
        else:
            self.sandbox.patch(f"{DEPLOYMENTS}/{name}", metadata=metadata)

    def keep_changing(self, until):
        while time.monotonic() < until:
            for name in self.random.sample(self.names, 3):
                self.change(name)
            time.sleep(0.01)

    # What the sinks hold.
    def truth(self):
        return self.sandbox.deployments(DEPLOYMENTS)

    def table(self):
        return harness.by_uid(harness.sqlite_rows(self.folder / "crash.db", "select uid, name, attributes->>'version' from inventory_rows"))

    def rows_in(self, texts):
        found = []
        for text in texts:
            fields = dict(re.findall(r"^ *(version|name|uid): \"?([^\"\n]*)", text.replace("\nversion: v1\n", "\n"), re.M))
            found.append((fields["uid"], fields["name"], fields["version"]))
        return harness.by_uid(found)

    def repository(self):
        work = self.folder / "checkout"
        shutil.rmtree(work, ignore_errors=True)
        cloned = subprocess.run(["git", "clone", "-q", str(self.repo), str(work)], capture_output=True, check=False)
        return self.rows_in(p.read_text(encoding="utf-8") for p in work.rglob("*.yaml")) if cloned.returncode == 0 else None

    def all_become_right(self, when):
        truth = self.truth()
        for name, sink in (("repository", self.repository), ("file", self.table)):
            op.until(f"{when}: the {name} equals the list", lambda sink=sink: sink() == truth)

    def start(self, **options):
        for old in self.operators:
            old.log.close()
        self.operators.clear()
        return self.operator("--allow-local-sinks", "--sqlite-dir", str(self.folder), **options)

    def told_of(self, count):
        """Messages of failed exports, when there are so many."""
        status = self.sandbox.call("GET", f"/apis/kollect.dev/v1alpha1/namespaces/{NS}/kollectinventories/all").get("status", {})
        failed = [json.dumps(e) for e in status.get("sinkExports", [])
                  if any(c["status"] == "False" for c in e.get("conditions", []))]
        return failed if len(failed) == count else None


class Crash(WithSinks):
    def test_killed_at_random_moments(self):
        mirrors = self.folder / "mirrors"
        self.start()
        self.all_become_right("at first")
        self.operators[-1].kill()
        for number in range(1, ROUNDS + 1):
            if number % 30 == 0:
                shutil.rmtree(mirrors)
                mirrors.write_bytes(b"")
            operator = self.start()
            self.keep_changing(time.monotonic() + self.random.uniform(0.02, 0.8))
            if number % 20 == 0:
                self.all_become_right(f"after {number} kills")  # repairs, no-human
            operator.kill()
            if number % 25 == 0:
                self.ends_in_time(self.start())
        self.start()
        self.all_become_right(f"after {ROUNDS} kills")
        self.ends_in_time(self.operators[-1])
        harness.git(self.repo, "fsck", "--strict", "--no-dangling")
        trees = harness.git(self.repo, "log", "--format=%T", "main").split()
        self.assertGreater(len(trees), ROUNDS // 4)
        self.assertNotIn(True, [a == b for a, b in zip(trees, trees[1:])], "a commit without a difference")

    def test_full_disk(self):
        """The status says so, and work goes on after space is made. A limit of file sizes stands for the disk's end."""
        process = self.start(before_start=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)).process.pid
        self.all_become_right("at first")
        commits = harness.git(self.repo, "rev-list", "--count", "main")
        infinite = resource.RLIM_INFINITY
        resource.prlimit(process, resource.RLIMIT_FSIZE, (150_000, infinite))
        text = "".join(self.random.choices("0123456789abcdefghijklmnopqrstuvwxyz", k=400_000))
        self.sandbox.patch(f"{DEPLOYMENTS}/{self.names[0]}", metadata={"labels": {"app.kubernetes.io/version": "large"}, "annotations": {"text": text}})
        told = op.until("the status tells of both sinks", lambda: self.told_of(2))
        for message in told:
            self.assertRegex(message, "(?i)too large|no space|full|disk")
        self.assertEqual(harness.git(self.repo, "rev-list", "--count", "main"), commits)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (infinite, infinite))
        self.all_become_right("after space was made")
        self.assertEqual(self.operators[-1].stop(), 0)

    def ends_in_time(self, operator):
        """term: SIGTERM in the middle of everything, but not before the program has begun to listen to it."""
        op.until("it runs", lambda: "operator starts" in operator.text())
        self.keep_changing(time.monotonic() + self.random.uniform(0.02, 0.8))
        began = time.monotonic()
        code = operator.stop()
        self.assertLess(time.monotonic() - began, GRACE)
        self.assertEqual(code, 0)


class Refused(WithSinks):
    def test_protected_branch(self):
        """field-push-races: protected. A refusal for good is told, and not tried for ever."""
        tries = self.folder / "tries"
        hook = self.repo / "hooks/pre-receive"
        hook.write_text(f"#!/bin/sh\necho x >>{tries}\necho 'branch is protected' >&2\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
        self.start()
        told = op.until("the status tells why", lambda: self.told_of(1))
        self.assertIn("branch is protected", told[0])
        time.sleep(4)  # a transient failure would have been tried again
        self.assertLessEqual(len(tries.read_text(encoding="utf-8").split()), 3)
        self.assertIn("branch is protected", self.told_of(1)[0])
        hook.unlink()
        self.change(self.names[0])  # the next change tries again
        self.all_become_right("after the branch was opened")


if __name__ == "__main__":
    harness.main()
