#!/usr/bin/env python3
"""`kollect fleet serve` on PostgreSQL: what every store must do, and many processes on one database."""
import hashlib
import os
import re
import subprocess

import fleet_test
import harness

SCRIPT = harness.ROOT / "scripts/servers/postgres.sh"


class Postgres:
    """A server of one's own; every folder has a schema in it."""

    def __init__(self, name):
        self.name = f"{name}-{os.getpid()}"
        self.values = {}
        self.start()

    def script(self, command, **env):
        return subprocess.run([str(SCRIPT), command, self.name], env={**os.environ, "OWNER_PID": str(os.getpid()), **env}, check=True,
                              capture_output=True, text=True).stdout

    def start(self):
        for name, value in re.findall(r"(\w+)=(\S+)", self.script("start")):
            self.values[name] = value

    def sql(self, text, schema="public"):
        """Rows as lists of texts."""
        env = {**harness.environment(), **self.values, "PGOPTIONS": f"-csearch_path={schema}"}
        out = subprocess.run([self.values["PG_BIN"] + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text], env=env, check=True,
                             capture_output=True, text=True).stdout
        return [line.split("|") for line in out.splitlines()]

    def schema(self, folder):
        name = "s" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        self.sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
        return name

    def url(self, folder, user="test"):
        return f"postgres://{user}:secret@127.0.0.1:{self.values['PGPORT']}/test?options=-csearch_path%3D{self.schema(folder)}"


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


if __name__ == "__main__":
    harness.main()
