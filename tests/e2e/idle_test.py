#!/usr/bin/env python3
"""An idle hour, shortened: sixty refreshes of an inventory of which nothing changes. They compare and write nothing: no row, no file, no
commit, no status, no event."""
import pathlib
import subprocess

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

OPS = "/apis/kollect.dev/v1alpha1/namespaces/ops/"
REFRESHES = 60


def manifests(folder):
    return (m.namespace("ops")
            + m.profile("ops", "apps", "Deployment", {"name": "replicas", "path": "$.spec.replicas", "type": "int"}, group="apps")
            + m.target("ops", "apps", "apps")
            + m.postgres_sink("ops", op.dsn(), "idle") + m.sqlite_sink("ops", "rows.db") + m.git_sink("ops", f"file://{folder}/rows.git")
            + m.inventory("ops", exportMinInterval="1s", databaseSinkRefs=["pg", "file"], snapshotSinkRefs=["git"]))


class Idle(op.Scenario):
    @classmethod
    def setUpClass(cls):
        op.PG.update(op.exports(op.server("postgres.sh", "start")))

    @classmethod
    def tearDownClass(cls):
        op.server("postgres.sh", "stop")

    def written(self):
        """Everything that would tell of a write."""
        folder = pathlib.Path(self.folder)
        rows = harness.sqlite_rows(folder / "rows.db", "SELECT count(*), max(exported_at) FROM inventory_rows")
        history = harness.sqlite_rows(folder / "rows.db", "SELECT count(*) FROM inventory_changes")
        return {
            "table": op.sql("select count(*), max(exported_at), max(xmin::text::bigint) from idle"),
            "file": (rows, history),
            "commits": subprocess.run(["git", "-C", str(folder / "rows.git"), "rev-list", "--count", "main"], capture_output=True, text=True, check=True).stdout,
            "objects": self.sandbox.call("GET", "/sandbox/stats")["events"],
        }

    def test_an_idle_hour_writes_nothing(self):
        folder = pathlib.Path(self.folder)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "rows.git")], check=True)
        self.sandbox = Sandbox(folder, manifests(folder), "--generate", "Deployment=500")
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        operator = self.operator("--allow-local-sinks", "--sqlite-dir", self.folder)

        def refreshes():
            lines = [line for line in operator.text().splitlines() if '"why":"refresh"' in line]
            return min(sum(f'"sink":"{sink}"' in line for line in lines) for sink in ("database/pg", "database/file", "snapshot/git"))

        def settled():
            inventory = self.sandbox.call("GET", OPS + "kollectinventories/all").get("status", {})
            return refreshes() >= 5 and all("Debounced" in str(one) for one in inventory.get("sinkExports", [])) and len(inventory["sinkExports"]) == 3

        op.until("everything is exported and said", settled)
        before, seen = self.written(), refreshes()
        self.assertEqual(before["table"][0].split("\t")[0], "500")
        op.until("sixty refreshes", lambda: refreshes() >= seen + REFRESHES, 200)
        self.assertEqual(self.written(), before)
        # It was not asleep.
        self.sandbox.call("POST", "/sandbox/change?count=1")
        op.until("a change is written", lambda: self.written()["table"] != before["table"])


if __name__ == "__main__":
    harness.main()
