#!/usr/bin/env python3
"""`kollect fleet serve` on PostgreSQL: what every store must do."""
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


class Parts(fleet_writes_test.Parts):
    STORE = "postgres"


class Batches(fleet_writes_test.Batches):
    STORE = "postgres"


class Rollouts(fleet_writes_test.Rollouts):
    STORE = "postgres"


class Restoring(fleet_writes_test.Restoring):
    STORE = "postgres"


if __name__ == "__main__":
    harness.main()
