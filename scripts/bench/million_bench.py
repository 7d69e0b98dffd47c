#!/usr/bin/env python3
"""The operator on a sandbox of a million objects: first sync, memory, latency of a change, and a steady load of changes.

    million_bench.py KOLLECT [--sink postgres|sqlite] [--objects 1000000] [--rate 2000] [--seconds 60] [--changes 100]

`kollect sandbox` makes the objects (Deployments, six attributes each) when they are asked for and changes --rate of them a second in a
second phase; the sink is a PostgreSQL of its own or a SQLite file. Measured: start to all rows, peak and steady memory of the operator,
its processor time; change-to-row time of single changes while nothing else changes, in the middle of refreshes, and under the load; at its end
rows picked at random must equal the objects. Each line ends with the limit that it is held against.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import operator_bench as op  # noqa: E402

MEMORY_LIMIT = 512
LATENCY_LIMIT = 1000


KEY = {"cluster": "", "inventory_namespace": op.NS, "inventory_name": "bench", "target_name": "bench"}


class SqliteRows:
    """The file of the SQLite sink, read while it is written."""

    def __init__(self, path):
        self.path = path
        self.connection = None

    def ask(self, query, *values):
        try:
            if self.connection is None:
                if not self.path.exists():
                    return []
                self.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=60)
            return self.connection.execute(query, values).fetchall()
        except sqlite3.OperationalError:
            return []  # not made yet

    def count(self):
        found = self.ask("select count(*) from rows")
        return found[0][0] if found else -1

    def payload(self, uid):
        found = self.ask("select payload from rows where " + " and ".join(f"{column}=?" for column in KEY) + " and source_uid=?", *KEY.values(), uid)
        return json.loads(found[0][0]) if found else None


class PostgresRows:
    def __init__(self, _):
        self.database = op.Database()

    def count(self):
        return self.database.number("select count(*) from rows")

    def payload(self, uid):
        where = " and ".join(f"{column}='{value}'" for column, value in KEY.items())
        lines = self.database.ask(f"select payload from rows where {where} and source_uid='{uid}'")
        return json.loads(lines[0]) if lines else None


SQLITE_SINK = f"""\
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {{name: sink, namespace: {op.NS}}}
spec:
  type: sqlite
  sqlite: {{path: bench.db, table: rows}}
"""


class Sandbox:
    def __init__(self, options, folder):
        self.config = folder / "sandbox.kubeconfig"
        self.process = subprocess.Popen(
            [options.kollect, "sandbox", "--generate", f"Deployment={options.objects}", "--namespaces", str(options.namespaces),
             "--kubeconfig-out", str(self.config), "--log-level", "warn"], stdout=subprocess.PIPE, stderr=None, text=True)
        self.url = self.process.stdout.readline().strip()
        os.environ["KUBECONFIG"] = str(self.config)

    def cpu(self):
        return op.Operator.cpu(self)

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text()).group(1)) / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Objects:
    """Looks at objects and changes them, over one connection."""

    def __init__(self, options, url):
        self.options = options
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
        self.random = random.Random(1)

    def call(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/merge-patch+json"})
        response = self.connection.getresponse()
        return response.status, response.read()

    def place(self):
        index = self.random.randrange(self.options.objects)
        per = -(-self.options.objects // self.options.namespaces)
        return f"load-{index // per:04}", f"deployment-{index:08}"

    def patch(self, place, version):
        """The uid; none if the object is not there."""
        status, body = self.call("PATCH", op.path_of(place), json.dumps({"metadata": {"labels": {"app.kubernetes.io/version": version}}}))
        return json.loads(body)["metadata"]["uid"] if status == 200 else None

    def look(self, place):
        """(uid, version), none if the object is not there."""
        status, body = self.call("GET", op.path_of(place))
        if status != 200:
            return None
        metadata = json.loads(body)["metadata"]
        return metadata["uid"], metadata["labels"]["app.kubernetes.io/version"]


def row_version(rows, uid):
    payload = rows.payload(uid)
    return payload["attributes"].get("version") if payload else None


def change_to_row(options, objects, rows, mark, pause):
    waits = []
    while len(waits) < options.changes:
        version = f"{mark}{len(waits)}"
        began = time.monotonic()
        uid = objects.patch(objects.place(), version)
        if uid is None:
            continue
        op.until(lambda uid=uid, version=version: row_version(rows, uid) == version, limit=60)
        waits.append((time.monotonic() - began) * 1000)
        time.sleep(pause)
    waits.sort()
    return statistics.median(waits), waits[min(len(waits) - 1, int(len(waits) * 0.99))]


def change_in_refresh(operator, objects, rows, version):
    """Milliseconds of a change that is made while the operator compares the whole set: it is busy although nothing has changed."""
    busy = 0
    while busy < 3:
        before = operator.cpu()
        time.sleep(0.1)
        busy = busy + 1 if operator.cpu() - before >= 0.05 else 0
    while True:
        began = time.monotonic()
        uid = objects.patch(objects.place(), version)
        if uid is not None:
            break
    op.until(lambda: row_version(rows, uid) == version, limit=60)
    return (time.monotonic() - began) * 1000


class Load(threading.Thread):
    """Changes at a rate, until stopped."""

    TICK = 0.02

    def __init__(self, options, url):
        super().__init__()
        self.rate, self.objects = options.rate, Objects(options, url)
        self.made, self.ending, self.seconds = 0, threading.Event(), 0.0

    def run(self):
        began = time.monotonic()
        while not self.ending.wait(self.TICK):
            due = int((time.monotonic() - began) * self.rate) - self.made
            if due > 0 and self.objects.call("POST", f"/sandbox/change?count={due}")[0] == 200:
                self.made += due
        self.seconds = time.monotonic() - began


def measure(options, folder):
    sandbox = Sandbox(options, folder)
    crds = subprocess.run([options.kollect, "crds"], check=True, capture_output=True, text=True).stdout
    try:
        op.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
        op.kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=60s")
        op.kubectl("apply", "-f", "-", stdin=op.manifests(SQLITE_SINK if options.sink == "sqlite" else op.postgres_sink()))
        run(options, folder, sandbox)
    finally:
        sandbox.stop()


def run(options, folder, sandbox):
    flags = ["--sqlite-dir", str(folder)] if options.sink == "sqlite" else []
    operator = op.Operator(options.kollect, options.log or folder / "operator.log", *flags)
    rows = SqliteRows(folder / "bench.db") if options.sink == "sqlite" else PostgresRows(folder)
    said = time.monotonic()
    while rows.count() < options.objects:
        if operator.process.poll() is not None:
            raise SystemExit("the operator ended: see its log (--log)")
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"million: {rows.count()} rows, operator {operator.memory():.0f} MiB", file=sys.stderr)
        time.sleep(0.1)
    op.show(f"start to all {options.objects} rows in {options.sink}",
            f"{time.monotonic() - operator.started:.1f} s, {operator.cpu():.1f} CPU s (sandbox {sandbox.memory():.0f} MiB)")
    time.sleep(10)
    op.show("memory: steady", f"{operator.memory():.0f} MiB", f"{MEMORY_LIMIT} MiB", operator.memory() <= MEMORY_LIMIT)

    objects = Objects(options, sandbox.url)
    cpu = operator.cpu()
    median, p99 = change_to_row(options, objects, rows, "c", 0)
    op.show(f"change to row, {options.changes} single changes", f"median {median:.0f} ms, p99 {p99:.0f} ms", f"p99 {LATENCY_LIMIT} ms", p99 <= LATENCY_LIMIT)
    op.show("CPU per change", f"{(operator.cpu() - cpu) * 1000 / options.changes:.2f} ms")

    waits = [change_in_refresh(operator, objects, rows, f"r{number}") for number in range(options.refreshes)]
    if waits:
        op.show(f"change to row, {len(waits)} in the middle of a refresh", f"{', '.join(f'{wait:.0f}' for wait in waits)} ms", f"each {LATENCY_LIMIT} ms",
                max(waits) <= LATENCY_LIMIT)

    load(options, sandbox, operator, objects, rows)
    peak = operator.memory("VmHWM")
    op.show("memory: peak", f"{peak:.0f} MiB", f"{MEMORY_LIMIT} MiB", peak <= MEMORY_LIMIT)
    operator.stop()


def load(options, sandbox, operator, objects, rows):
    cpu = (operator.cpu(), sandbox.cpu())
    load = Load(options, sandbox.url)
    load.start()
    median, p99 = change_to_row(options, objects, rows, "l", options.seconds / options.changes)
    load.ending.set()
    load.join()
    rate = load.made / load.seconds
    op.show(f"load of {options.rate} changes/s", f"{rate:.0f} a second for {load.seconds:.0f} s", f"{0.98 * options.rate:.0f}", rate >= 0.98 * options.rate)
    op.show("  processor of operator, of sandbox", f"{(operator.cpu() - cpu[0]) / load.seconds:.2f}, {(sandbox.cpu() - cpu[1]) / load.seconds:.2f} of a core")
    op.show(f"  change to row, {options.changes} changes", f"median {median:.0f} ms, p99 {p99:.0f} ms", f"p99 {LATENCY_LIMIT} ms", p99 <= LATENCY_LIMIT)
    # A second after the last change every row must be as its object.
    time.sleep(1)
    seen = [found for found in (objects.look(objects.place()) for _ in range(5000)) if found]
    wrong = sum(row_version(rows, uid) != version for uid, version in seen)
    op.show(f"  {len(seen)} rows at random, 1 s after", f"{wrong} differ from their objects", "0", wrong == 0)
    op.show("  rows, objects", f"{rows.count()}, {count_objects(objects)}", "equal", rows.count() == count_objects(objects))


def count_objects(objects):
    head = json.loads(objects.call("GET", "/apis/apps/v1/deployments?limit=1")[1])
    return len(head["items"]) + head["metadata"].get("remainingItemCount", 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kollect")
    parser.add_argument("--sink", choices=("postgres", "sqlite"), default="postgres")
    parser.add_argument("--objects", type=int, default=1000000)
    parser.add_argument("--namespaces", type=int, default=100)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--refreshes", type=int, default=3, help="changes in the middle of a refresh (half a minute each)")
    parser.add_argument("--log", help="where the operator's log goes (default: nowhere)")
    options = parser.parse_args()
    options.kollect = str(pathlib.Path(options.kollect).resolve())
    name = f"million-{os.getpid()}"
    script = str(ROOT / "scripts/servers/postgres.sh")
    if options.sink == "postgres":
        out = subprocess.run([script, "start", name], check=True, capture_output=True, text=True,
                             env={**os.environ, "OWNER_PID": str(os.getpid())}).stdout
        for key, value in re.findall(r"(PG\w+)=(\S+)", out):
            os.environ[key] = value
    try:
        with tempfile.TemporaryDirectory(prefix="kollect-million-") as folder:
            measure(options, pathlib.Path(folder))
    finally:
        if options.sink == "postgres":
            subprocess.run([script, "stop", name], check=False, capture_output=True)
    sys.exit(0 if all(op.SHOWN) else 1)


if __name__ == "__main__":
    main()
