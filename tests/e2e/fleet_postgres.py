"""A PostgreSQL for tests of `kollect fleet serve`."""
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import subprocess

import harness

SCRIPT = harness.ROOT / "scripts/servers/postgres.sh"


class Postgres:
    """A server of one's own; every folder has a schema in it."""

    def __init__(self, name, **settings):
        self.name = f"{name}-{os.getpid()}"
        self.values = {}
        self.start(**settings)

    def script(self, command, **env):
        done = subprocess.run([str(SCRIPT), command, self.name], env={**os.environ, "OWNER_PID": str(os.getpid()), **env}, check=False,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{done.args}: {done.stderr}")
        return done.stdout

    def start(self, **settings):
        for name, value in re.findall(r"(\w+)=(\S+)", self.script("start", **settings)):
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

    @contextlib.contextmanager
    def frozen(self):
        """All its processes stand still."""
        main = int((pathlib.Path(self.values["PG_SOCKETS"]).parent / "server.pid").read_text())
        os.kill(main, signal.SIGSTOP)  # first, so that there are no new ones
        everybody = [main, *map(int, subprocess.run(["pgrep", "-P", str(main)], capture_output=True, text=True, check=False).stdout.split())]
        self.signal(everybody[1:], signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(everybody, signal.SIGCONT)

    def signal(self, processes, number):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def url(self, folder, user="test"):
        return f"postgres://{user}:secret@127.0.0.1:{self.values['PGPORT']}/test?options=-csearch_path%3D{self.schema(folder)}"
