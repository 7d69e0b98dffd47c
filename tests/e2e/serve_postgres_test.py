#!/usr/bin/env python3
"""`kollect serve` over the PostgreSQL table into which several clusters were collected."""
import json
import shutil
import signal

import harness
from fleet_postgres import Postgres
from serve_test import Serve, ServeCase

SINK = """\
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {{name: cmdb, namespace: kollect-system}}
spec:
  type: postgres
  postgres: {{databaseRef: {{name: dsn}}, schema: fleet, table: resources}}
  options: {{history: "true", createSchema: "true"}}
---
apiVersion: v1
kind: Secret
metadata: {{name: dsn, namespace: kollect-system}}
stringData: {{dsn: "host={sockets} port={port} user=test password=secret dbname=test"}}
"""


class OverPostgres(ServeCase):
    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres("serve")

    @classmethod
    def tearDownClass(cls):
        cls.postgres.script("stop")

    def setUp(self):
        super().setUp()
        values = self.postgres.values
        self.store = values["DATABASE_URL"]
        config = self.folder / "config"
        shutil.copytree(harness.EXAMPLES / "inventory/deployment-images", config)
        text = "\n---\n".join(path.read_text() for path in sorted(config.glob("*.yaml")))
        namespace = next(line.split("namespace:")[1].strip(" }\n") for line in text.splitlines() if "namespace:" in line)
        sink = SINK.format(sockets=values["PG_SOCKETS"], port=values["PGPORT"]).replace("kollect-system", namespace)
        harness.write(config / "sink.yaml", sink)
        for cluster in ("east", "west"):
            done = harness.run("collect", "--config", config, "--manifests", harness.EXAMPLES / "dump", "--cluster", cluster)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.rows = int(self.postgres.sql("SELECT count(*) FROM fleet.resources")[0][0])
        self.assertGreater(self.rows, 4)

    def test_the_whole_fleet_with_its_history(self):
        tokens = harness.write(self.folder / "tokens", "all all-token\neast east-token clusters=east\n")
        server = self.serve("--store", self.store, "--table", "fleet.resources", "--token-file", tokens)
        meta = server.get("/v1alpha1/meta", "all-token")
        self.assertEqual((meta["store"], meta["abilities"]["history"]), ("postgres", True))
        self.assertEqual(server.get("/v1alpha1/inventory", "all-token")["pagination"]["total"], self.rows)
        self.assertEqual(server.get("/v1alpha1/inventory", "east-token")["pagination"]["total"], self.rows // 2)
        self.assertEqual({one["cluster"] for one in server.get("/v1alpha1/inventory", "east-token")["items"]}, {"east"})
        self.assertEqual(len(server.get("/v1alpha1/changes", "all-token", since="2020-01-01T00:00:00Z", limit=5000)["items"]), self.rows)
        before = server.get("/v1alpha1/inventory", "all-token", sort="name", limit=5000)["items"]
        made = harness.run("serve", "--store", self.store, "--table", "fleet.resources", "--create-indexes", "--index-attributes", "images")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(server.get("/v1alpha1/inventory", "all-token", sort="name", limit=5000)["items"], before)
        text = server.log.read_text()
        self.assertNotIn("secret", text)

    def test_the_server_goes_away_and_comes_back(self):
        server = self.serve("--store", self.store, "--table", "fleet.resources")
        self.assertEqual(server.ask("/readyz")[0], 200)
        self.postgres.script("kill")
        for path in ("/v1alpha1/inventory", "/readyz"):
            status, _, body = server.ask(path)
            self.assertEqual(status, 503, body)
            self.assertNotIn(b"secret", body)
        self.postgres.script("start")
        self.assertEqual(server.get("/v1alpha1/inventory")["pagination"]["total"], self.rows)
        self.assertEqual(server.ask("/readyz")[0], 200)

    def test_a_reader_needs_no_more_than_select(self):
        self.postgres.sql("DROP ROLE IF EXISTS reader")
        self.postgres.sql("CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA fleet TO reader; "
                          "GRANT SELECT ON fleet.resources, fleet.resources_exports TO reader")
        self.addCleanup(self.postgres.sql, "DROP OWNED BY reader; DROP ROLE reader")
        store = self.store.replace("test:", "reader:", 1)
        server = self.serve("--store", store, "--table", "fleet.resources")
        self.assertEqual(server.get("/v1alpha1/inventory")["pagination"]["total"], self.rows)
        status, _, body = server.ask("/v1alpha1/changes?since=2020-01-01T00:00:00Z")
        self.assertEqual((status, json.loads(body)["error"]["reason"]), (501, "NoHistory"))
        server.stop(signal.SIGTERM)

    def test_what_cannot_start_says_why(self):
        self.assertIn("no table nothing", self.fails("--store", self.store, "--table", "nothing"))
        self.assertIn("no table nowhere.resources", self.fails("--store", self.store, "--table", "nowhere.resources"))
        wrong = self.fails("--store", self.store.replace("secret", "WRONG"), "--table", "fleet.resources")
        self.assertNotIn("WRONG", wrong)


if __name__ == "__main__":
    harness.main()
