#!/usr/bin/env python3
"""Every route of the read API as its description says, on an operator."""
import json
import re

import harness
import operator_test as op
import read_api
from read_api import ROWS, Ground
from read_routes import G, Routes


def setUpModule():
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    G["folder"] = harness.tempfile.TemporaryDirectory(prefix="kollect-read-api-", ignore_cleanup_errors=True)
    dsn = f"postgresql://{op.PG['PGUSER']}:{op.PG['PGPASSWORD']}@127.0.0.1:{op.PG['PGPORT']}/{op.PG['PGDATABASE']}"
    G["ground"] = Ground(harness.pathlib.Path(G["folder"].name), dsn, serves=True)


def tearDownModule():
    if "ground" in G:
        G["ground"].stop()
    op.server("postgres.sh", "stop")
    G["folder"].cleanup()


class OfTheOperator(Routes, harness.Case):
    store, name, objects, place = "ground", "operator", True, "namespace"

    def test_objects(self):
        for kind, count in (("inventories", 2), ("targets", 2), ("profiles", 2), ("sinks", 4), ("clusterinventories", 1), ("clustertargets", 1), ("scopes", 0)):
            listed = self.api.get(f"status/{kind}")
            self.assertEqual(len(listed["items"]), count, kind)
            self.assertEqual(listed.get("pagination", {"total": 0})["total"], count)
        one = self.api.get("status/inventories", namespace="ops")["items"]
        self.assertEqual([(item["name"], item["itemCount"]) for item in one], [("all", ROWS)])
        self.assertEqual({export["status"] for export in one[0]["sinkExports"]} - {"ok", "debounced"}, set())
        self.assertEqual(len(self.api.get("status/sinks", limit=3, offset=2)["items"]), 2)
        sinks = {(sink["namespace"], sink["name"]): sink for sink in self.api.get("status/sinks")["items"]}
        self.assertIn("ops/all", str(sinks["ops", "file"]["usedBy"]))
        self.assertNotIn(op.PG["PGPASSWORD"], json.dumps(list(sinks.values())))

    def test_how_exports_go(self):
        told = self.api.get("inventory/ops/all", limit=1)["exportStatus"]
        self.assertEqual({one["sinkName"] for one in told}, {"file", "pg"})
        self.assertTrue({one["status"] for one in told} <= {"ok", "debounced"})

    def test_cluster_inventories(self):
        self.assertEqual(self.api.get("clusterinventory/rollup")["pagination"]["total"], ROWS)

    def test_no_history(self):
        for path, more in (("changes", {"since": "2026-01-01T00:00:00Z"}), ("history", {"uid": "x"}), ("groups", {"by": "kind", "at": "2026-01-01T00:00:00Z"}), ("inventory", {"at": "2026-01-01T00:00:00Z"})):
            self.assertEqual(self.api.get(path, 501, **more)["error"]["reason"], "NoHistory")

    def test_changes_as_they_happen(self):
        schemas = read_api.DOCUMENT["components"]["schemas"]
        stream = self.api.stream("/v1alpha1/changes/watch?namespace=ops")
        self.addCleanup(stream.close)
        hello = stream.next()
        self.assertEqual(hello["event"], "hello")
        self.api.described.value(schemas["StreamHello"], hello["data"], "hello")
        self.assertRegex(hello["data"]["state"], r".-\d+$")
        G["ground"].sandbox.call("POST", "/sandbox/change?count=20")
        seen = []
        for _ in range(3):
            frame = stream.next()
            self.assertEqual(frame["event"], "change")
            self.api.described.value(schemas["StreamChange"], frame["data"], "change")
            seen.append(frame)
        epochs = {re.sub(r"-\d+$", "", frame["id"]) for frame in seen} | {re.sub(r"-\d+$", "", hello["data"]["state"])}
        self.assertEqual(len(epochs), 1)
        # From the second on again, by header and by query: the same third.
        for path, headers in ((f"/v1alpha1/changes/watch?namespace=ops&lastEventId={seen[1]['id']}", {}),
                              ("/v1alpha1/changes/watch?namespace=ops", {"Last_Event_ID": seen[1]["id"]})):
            again = self.api.stream(path, **headers)
            frames = [again.next(), again.next()]
            again.close()
            self.assertIn(seen[2]["id"], [frame.get("id") for frame in frames])
        for unknown in ("0-1", "x", epochs.pop() + "-999999999"):
            lost = self.api.stream("/v1alpha1/changes/watch", Last_Event_ID=unknown)
            frames = [lost.next(), lost.next()] if unknown else []
            lost.close()
            reset = next(frame for frame in frames if frame["event"] == "reset")
            self.api.described.value(schemas["StreamEnd"], reset["data"], "reset")
            self.assertEqual(reset["data"]["reason"], "Expired")

    def test_the_terminal_tells_the_same(self):
        told = json.loads(self.ends(harness.run("top", "--server", f"http://127.0.0.1:{self.api.port}", "-o", "json"), 0).stdout)
        own = json.loads(self.ends(harness.run("top", "--kubeconfig", str(G["ground"].sandbox.kubeconfig), "-o", "json"), 0).stdout)
        for part in ("targets", "rows"):
            self.assertEqual(told[part], own[part], part)
        names = [{(one["namespace"], one["name"]) + ((one["rows"], one["state"])) for one in told["inventories"]} for told in (told, own)]
        self.assertEqual(*names)
        self.assertEqual(*[{(one["sink"], one["type"], one["state"]) for one in told["sinks"]} for told in (told, own)])


if __name__ == "__main__":
    harness.main()
