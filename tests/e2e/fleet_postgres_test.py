#!/usr/bin/env python3
"""`kollect fleet serve` on PostgreSQL: what every store must do."""
import time

import fleet_test
import fleet_writes_test
import harness
from fleet_postgres import Postgres


def setUpModule():
    global server
    server = Postgres("fleet")
    fleet_test.DATABASES["postgres"] = server.url


def tearDownModule():
    server.script("stop")


class SameAsEveryStore(fleet_test.OnEveryStore):
    def test_transcripts(self):
        self.replay("postgres")

    def test_a_deleted_cluster_stays_deleted(self):
        self.deleted_stays_deleted("postgres")

    def test_what_was_acknowledged_survives_a_kill(self):
        self.survives_a_kill("postgres")

    def test_trail(self):
        self.trail("postgres")

    def test_no_acknowledged_change_is_lost(self):
        self.races("postgres")


class Access(harness.Case):
    def refused(self, url, *words):
        """It does not start and says why, but nothing of the URL."""
        env = harness.environment(AUTH_TOKEN="t", DATABASE_URL=url, SEED_FILE=str(fleet_test.CASES / "harbour.json"), LISTEN_ADDR="127.0.0.1:0")
        ended = harness.run("fleet", "serve", env=env, timeout=60)
        self.ends(ended, 2)
        for word in ("DATABASE_URL", *words):
            self.assertIn(word, ended.stderr)
        for word in ("s3cret", "secret", "127.0.0.1", "nobody", server.values["PGPORT"]):
            self.assertNotIn(word, ended.stderr)

    def test_what_goes_wrong_is_told_without_the_url(self):
        port = server.values["PGPORT"]
        self.refused(f"postgresql://test:s3cret@127.0.0.1:{port}/test", "password", "28P01")
        self.refused(f"postgres://nobody:secret@127.0.0.1:{port}/test", "28P01")
        self.refused(f"postgres://test:secret@127.0.0.1:{port}/none", "database")
        self.refused("postgres://test:secret@127.0.0.1:1/test", "refused")
        self.refused("postgres://test:secret@127.0.0.1:port/test?nonsense=1", "connection string")
        self.refused(server.url(self.folder) + "&sslmode=verify-full", "certificate")

    def test_tls(self):
        url = server.url(self.folder) + f"&sslmode=verify-full&sslrootcert={server.values['PG_CA']}&application_name=over-tls"
        one = fleet_test.Server(self.folder, "postgres", "harbour.json", DATABASE_URL=url)
        self.addCleanup(one.stop)
        self.assertEqual(server.sql("SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE application_name = 'over-tls'"), [["t"]])

    def test_a_reader_needs_no_more_than_select(self):
        schema = server.schema(self.folder)
        server.sql("CREATE ROLE onlooker LOGIN PASSWORD 'secret'")
        server.sql(f"GRANT USAGE ON SCHEMA {schema} TO onlooker")
        self.refused(server.url(self.folder, "onlooker"), "privilege")
        writer = fleet_test.Server(self.folder, "postgres", "harbour.json")
        self.addCleanup(writer.stop)
        server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO onlooker")
        reader = fleet_test.Server(self.folder, "postgres", "harbour.json", API_MODE="read-only", DATABASE_URL=server.url(self.folder, "onlooker"))
        self.addCleanup(reader.stop)
        self.assertEqual(writer.write("DELETE", "/clusters/lyon-qa")[0], 200)
        began = time.monotonic()
        while reader.read("/api/v2/flux/clusters/lyon-qa.harbour.test/platform-components") != (200, {"inputs": []}):
            self.assertLess(time.monotonic() - began, 60)


class Parts(fleet_writes_test.Parts):
    STORE = "postgres"


class Batches(fleet_writes_test.Batches):
    STORE = "postgres"


class Rollouts(fleet_writes_test.Rollouts):
    STORE = "postgres"


class Restoring(fleet_writes_test.Restoring):
    STORE = "postgres"


class Polled(fleet_writes_test.Polled):
    STORE = "postgres"


if __name__ == "__main__":
    harness.main()
