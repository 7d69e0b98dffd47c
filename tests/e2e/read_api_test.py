#!/usr/bin/env python3
"""Every route of the read API as its description says, on a SQLite file and a PostgreSQL database with the same rows."""
import harness
import operator_test as op
from read_api import Ground, Serve
from read_routes import G, Routes


def setUpModule(serves=False):
    """`serves`: the operator as well."""
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    G["folder"] = harness.tempfile.TemporaryDirectory(prefix="kollect-read-api-", ignore_cleanup_errors=True)
    folder = harness.pathlib.Path(G["folder"].name)
    dsn = f"postgresql://{op.PG['PGUSER']}:{op.PG['PGPASSWORD']}@127.0.0.1:{op.PG['PGPORT']}/{op.PG['PGDATABASE']}"
    G["ground"] = Ground(folder, dsn, serves)
    G["sqlite"] = Serve(folder, "--store", f"sqlite:{folder}/rows.db")
    G["postgres"] = Serve(folder, "--store", f"postgres:{dsn}", "--table", "read_rows")


def tearDownModule():
    for name in ("postgres", "sqlite", "ground"):
        if name in G:
            G[name].stop()
    op.server("postgres.sh", "stop")
    G["folder"].cleanup()


class OfDatabases(Routes):
    def test_only_rows(self):
        self.assertEqual(self.api.get("status/targets", 501)["error"]["reason"], "NoObjects")

    def test_history(self):
        self.assertEqual(self.api.get("changes", 400)["error"]["reason"], "BadRequest")
        self.assertEqual(self.api.get("history", 400)["error"]["reason"], "BadRequest")
        G["ground"].sandbox.call("POST", "/sandbox/change?count=10")  # the fiftieth change of all would delete
        since = "2026-01-01T00:00:00Z"

        def changed():
            changes = self.api.get("changes", since=since, limit=5000, kind="Deployment")["items"]
            return [one for one in changes if one["change"] == "changed"]

        change = op.until("a change", changed)[-1]
        self.assertIsNotNone(change["before"])
        states = self.api.get("history", uid=change["item"]["uid"])["items"]
        self.assertGreaterEqual(len(states), 2)
        self.assertEqual([one["validTo"] for one in states if one["inventoryNamespace"] == "ops"][-1], None)
        pages, cursor = [], ""
        while True:
            page = self.api.get("changes", since=since, limit=7, namespace="pay", cursor=cursor)
            pages += page["items"]
            cursor = page["next"]
            if not cursor:
                break
        self.assertEqual(pages, self.api.get("changes", since=since, limit=5000, namespace="pay")["items"])
        then = self.api.get("inventory", at=change["at"], uid=change["item"]["uid"])
        self.assertIn(change["item"]["attributes"], [item["attributes"] for item in then["items"]])
        self.assertEqual(self.api.get("inventory", at="2001-01-01T00:00:00Z")["items"], [])
        # Another inventory may have been written with that row later.
        one = {"uid": change["item"]["uid"], "inventoryNamespace": change["inventoryNamespace"], "inventory": change["inventory"]}
        groups = [self.api.get("groups", by="attributes.version", at=at, **one) for at in ("2001-01-01T00:00:00Z", change["at"])]
        self.assertEqual([(told["items"], told["rows"]) for told in groups], [([], 0), ([{"values": [change["item"]["attributes"]["version"]], "rows": 1}], 1)])
        self.assertEqual(self.api.get("changes", 400, since=since, cursor="odd")["error"]["reason"], "BadCursor")


class OfSqlite(OfDatabases, harness.Case):
    store = name = "sqlite"


class OfPostgres(OfDatabases, harness.Case):
    store = name = "postgres"


if __name__ == "__main__":
    harness.main()
