#!/usr/bin/env python3
"""An idle hour: the operator runs on a clock that makes a minute of a second (tests/support/fast_main.cc), so it goes through all its
intervals, refreshes, looks and retries of an hour while nothing changes. Nothing is written: no row, no file, no commit, no status, no
event."""
import datetime
import json
import pathlib
import subprocess

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

OPS = "/apis/kollect.dev/v1alpha1/namespaces/ops/"
ROLLUPS = "/apis/kollect.dev/v1alpha1/kollectclusterinventories"
HOUR = datetime.timedelta(hours=1)
SINKS = ("database/pg", "database/file", "snapshot/git", "database/rollup")


def manifests(folder):
    return (m.namespace("ops")
            + m.profile("ops", "apps", "Deployment", {"name": "replicas", "path": "$.spec.replicas", "type": "int"}, group="apps")
            + m.target("ops", "apps", "apps")
            + m.postgres_sink("ops", op.dsn(), "idle") + m.sqlite_sink("ops", "rows.db") + m.git_sink("ops", f"file://{folder}/rows.git")
            + m.inventory("ops", databaseSinkRefs=["pg", "file"], snapshotSinkRefs=["git"])
            # The same over all namespaces, one row of each object of two targets.
            + "".join(m.document("KollectClusterTarget", None, name, {"profileRef": {"namespace": "ops", "name": "apps"}}) for name in ("one", "two"))
            + m.sqlite_sink("ops", "rollup.db", "rollup")
            + m.document("KollectClusterInventory", None, "all", {"sinkNamespace": "ops", "databaseSinkRefs": ["rollup"], "dedupe": "byResourceUID"}))


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
        files = [folder / "rows.db", folder / "rollup.db"]
        rows = [harness.sqlite_rows(file, "SELECT count(*), max(exported_at) FROM inventory_rows") for file in files]
        history = [harness.sqlite_rows(file, "SELECT count(*) FROM inventory_changes") for file in files]
        return {
            "table": op.sql("select count(*), max(exported_at), max(xmin::text::bigint) from idle"),
            "file": (rows, history),
            "commits": subprocess.run(["git", "-C", str(folder / "rows.git"), "rev-list", "--count", "main"], capture_output=True, text=True, check=True).stdout,
            "objects": self.sandbox.call("GET", "/sandbox/stats")["events"],
        }

    def test_an_idle_hour_writes_nothing(self):
        folder = pathlib.Path(self.folder)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "rows.git")], check=True)
        self.sandbox = Sandbox(folder, manifests(folder), "--generate", "Deployment=500", bookmarks="200ms")
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        operator = self.operator("--allow-local-sinks", "--sqlite-dir", self.folder, program=harness.FAST)

        def now():
            """The operator's time, by its last log line."""
            return [json.loads(line)["ts"][:19] for line in operator.text().splitlines() if line.endswith("}")][-1]

        def refreshes(since=""):
            lines = [line for line in operator.text().splitlines() if '"why":"refresh"' in line and line.endswith("}")]
            lines = [line for line in lines if json.loads(line)["ts"] > since]
            return {sink: sum(f'"sink":"{sink}"' in line for line in lines) for sink in SINKS}

        def settled():
            entries = [entry for path in (OPS + "kollectinventories", ROLLUPS)
                       for entry in self.sandbox.call("GET", path + "/all").get("status", {}).get("sinkExports", [])]
            return min(refreshes().values()) >= 2 and len(entries) == 4 and all("Debounced" in str(one) for one in entries)

        op.until("everything is exported and said", settled)
        before, began = self.written(), now()
        self.assertEqual(before["table"][0].split("\t")[0], "500")
        self.assertEqual([count for (count, _), in before["file"][0]], [500, 500])
        end = (datetime.datetime.fromisoformat(began) + HOUR).isoformat()
        # The clock stretches passes as well: on a busy machine sixty refreshes may take more than the hour.
        op.until("an hour and sixty refreshes", lambda: now() > end and min(refreshes(began).values()) >= 60, 300)
        self.assertEqual(self.written(), before)
        # It was not asleep.
        self.sandbox.call("POST", "/sandbox/change?count=1")
        op.until("a change is written", lambda: self.written()["table"] != before["table"])


if __name__ == "__main__":
    harness.main()
