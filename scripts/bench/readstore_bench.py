#!/usr/bin/env python3
"""Filtered pages of a large table through `kollect serve`, from SQLite and PostgreSQL, with the documented indexes.

    readstore_bench.py KOLLECT [--rows 1000000] [--rounds 12] [--limit 100] [--stores sqlite,postgres] [--keep FOLDER]

Fills the tables as the sinks have them (6 attributes, 5 clusters, 200 namespaces, 20 kinds), makes the indexes by
`kollect serve --create-indexes` and asks over HTTP, one request after the other: every filter alone and with others, first pages and deep
ones, sorted, searched; each page once with values that nobody has asked for (cold) and once more (warm). Prints p50 and p99 in milliseconds
per kind of page, of all, and beside them the processor time of the server per page; the bar is a p99 of 100 ms. Wall time counts only on a
quiet machine.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
BAR = 100.0
CLUSTERS, NAMESPACES, KINDS, TEAMS = 5, 200, 20, 40
AT = "2026-11-01T00:00:00.000000Z"
EXACT = "search, very many, exact total"  # counts a third of all rows: not under the bar
TIERS = ("gold", "silver", "bronze")
# What a third of the rows has, as one types it; none of them is counted exactly.
PARTS = [tier[at:at + length] for tier in TIERS for length in range(3, len(tier)) for at in range(len(tier) - length + 1)]
COLUMNS = "inventory_namespace, inventory_name, target_name, source_uid, cluster, resource_namespace, payload, exported_at"
EXPORTS = "cluster, inventory_namespace, inventory_name, generation, checksum, item_count, exported_at"
TABLES = """
CREATE TABLE inventory (inventory_namespace text NOT NULL, inventory_name text NOT NULL, target_name text NOT NULL, source_uid text NOT NULL,
  cluster text NOT NULL DEFAULT '', resource_namespace text NOT NULL DEFAULT '', payload {json} NOT NULL, exported_at {time} NOT NULL,
  PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, source_uid));
CREATE TABLE inventory_exports (cluster text NOT NULL, inventory_namespace text NOT NULL, inventory_name text NOT NULL, generation {int} NOT NULL,
  checksum text NOT NULL, item_count {int} NOT NULL, exported_at {time} NOT NULL, PRIMARY KEY (cluster, inventory_namespace, inventory_name));
"""


def row(number):
    """A row as a sink writes it: the columns of the table."""
    cluster, kind, space = number % CLUSTERS, number // CLUSTERS % KINDS, number // (CLUSTERS * KINDS) % NAMESPACES
    uid = f"{number * 2654435761 % 2**32:08x}-{number % 65536:04x}-4000-8000-{number:012x}"
    payload = {"targetNamespace": "kollect-system", "targetName": f"kind-{kind:02}", "namespace": f"team-{space:03}",
               "name": f"{('api', 'web', 'worker', 'cache')[number % 4]}-{number * 7919 % 1000003:06}", "group": "apps", "version": "v1", "kind": f"Kind{kind:02}", "uid": uid,
               "attributes": {"image": f"registry.example/team-{space:03}/app:{number * 31 % 997}.{number % 10}", "owner": f"owner-{number * 17 % 5003}",
                              "replicas": number % 7, "team": f"crew-{number * 13 % TEAMS:02}", "tier": TIERS[number % 3], "version": f"1.{number * 11 % 50}.0"}}
    return ("kollect-system", f"inventory-{kind // 4}", f"kind-{kind:02}", uid, f"eu-{cluster + 1}", f"team-{space:03}", json.dumps(payload, separators=(",", ":")), AT)


def exports(rows):
    counts = {}
    for number in range(min(rows, CLUSTERS * KINDS)):
        one = row(number)
        key = one[4], one[0], one[1]
        counts[key] = counts.get(key, 0) + len(range(number, rows, CLUSTERS * KINDS))
    return [(*key, 1, "set:bench", count, AT) for key, count in counts.items()]


class Sqlite:
    name = "SQLite"

    def __init__(self, folder):
        self.file = pathlib.Path(folder) / "rows.db"
        self.store = f"sqlite:{self.file}"

    def fill(self, rows):
        if self.file.exists():
            return
        db = sqlite3.connect(self.file)
        db.execute("PRAGMA journal_mode = wal")
        db.executescript(TABLES.format(json="text", time="text", int="integer"))
        with db:
            db.executemany(f"INSERT INTO inventory ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(row, range(rows)))
            db.executemany(f"INSERT INTO inventory_exports ({EXPORTS}) VALUES (?, ?, ?, ?, ?, ?, ?)", exports(rows))
        db.close()

    def size(self):
        return self.file.stat().st_size

    def processes(self):
        return []


class PostgreSQL:
    name = "PostgreSQL"

    def __init__(self, _folder):
        from fleet_postgres import Postgres
        self.server = Postgres("readstore-bench")
        self.server.sql("ALTER SYSTEM SET shared_buffers = '1GB'")
        self.server.sql("ALTER SYSTEM SET maintenance_work_mem = '512MB'")
        self.server.script("stop", KEEP="1")
        self.server.start()
        self.store = self.server.values["DATABASE_URL"]

    def fill(self, rows):
        self.server.sql(TABLES.format(json="jsonb", time="timestamptz", int="bigint"))
        env = {**os.environ, **self.server.values}
        psql = [self.server.values["PG_BIN"] + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c"]
        copy = subprocess.Popen([*psql, f"COPY inventory ({COLUMNS}) FROM STDIN"], env=env, stdin=subprocess.PIPE, text=True)
        for number in range(rows):
            copy.stdin.write("\t".join(row(number)) + "\n")
        copy.stdin.close()
        if copy.wait() != 0:
            raise SystemExit("COPY failed")
        for one in exports(rows):
            self.server.sql("INSERT INTO inventory_exports VALUES (" + ", ".join(f"'{value}'" for value in one) + ")")
        self.server.sql("CREATE EXTENSION IF NOT EXISTS pg_trgm")

    def size(self):
        return int(self.server.sql("SELECT pg_database_size(current_database())")[0][0])

    def processes(self):
        main = int((pathlib.Path(self.server.values["PG_SOCKETS"]).parent / "server.pid").read_text())
        return [main, *map(int, subprocess.run(["pgrep", "-P", str(main)], capture_output=True, text=True, check=False).stdout.split())]


def processor_seconds(pid):
    """User and system time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pages(rows, pick):
    """Kinds of pages: a query each, with values that differ from call to call."""
    cluster, kind = f"eu-{pick(CLUSTERS) + 1}", f"Kind{pick(KINDS):02}"
    space, team = f"team-{pick(NAMESPACES):03}", f"crew-{pick(TEAMS):02}"
    one = row(pick(rows))
    known = json.loads(one[6])
    return {
        "first page": {},
        "cluster": {"cluster": cluster},
        "namespace": {"namespace": space},
        "namespace of the targets": {"namespace": "kollect-system"},
        "kind": {"kind": kind},
        "target": {"target": f"kind-{pick(KINDS):02}"},
        "inventory": {"inventoryNamespace": "kollect-system", "inventory": f"inventory-{pick(KINDS // 4)}"},
        "name": {"name": known["name"]},
        "uid": {"uid": known["uid"]},
        "attribute": {"attr.team": team},
        "cluster, namespace": {"cluster": cluster, "namespace": space},
        "cluster, kind": {"cluster": cluster, "kind": kind},
        "cluster, namespace, kind": {"cluster": cluster, "namespace": space, "kind": kind},
        "kind, attribute": {"kind": kind, "attr.team": team},
        "namespace, attribute": {"namespace": space, "attr.team": team},
        "deep": {"offset": pick(rows)},
        "deep, kind": {"kind": kind, "offset": pick(rows // KINDS)},
        "deep, attribute": {"attr.team": team, "offset": pick(rows // TEAMS)},
        "sort by name": {"sort": "name"},
        "sort by name, descending, kind": {"sort": "-name", "kind": kind},
        "sort by name, namespace": {"sort": "name", "namespace": space},
        "sort by namespace, cluster": {"sort": "namespace", "cluster": cluster},
        "sort by kind, deep": {"sort": "-kind", "offset": pick(rows)},
        "sort by time": {"sort": "-exportedAt", "cluster": cluster},
        "sort by attribute": {"sort": "attributes.team"},
        "search, few": {"q": known["name"]},
        "search, some": {"q": f"owner-{pick(5003)}"},
        "search in a namespace": {"q": "silver", "namespace": space},
        "search, very many": {"q": PARTS[pick(len(PARTS))], "total": "bounded"},
        EXACT: {"q": TIERS[pick(len(TIERS))]},
    }


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def ask(connection, query):
    began = time.monotonic()
    connection.request("GET", "/v1alpha1/inventory?" + urllib.parse.urlencode(query))
    answer = connection.getresponse()
    body = answer.read()
    took = (time.monotonic() - began) * 1000
    if answer.status != 200:
        raise SystemExit(f"{query}: {answer.status} {body[:300]}")
    return took


def measure(place, options, folder):
    from serve_test import Serve
    began = time.monotonic()
    place.fill(options.rows)
    filled = time.monotonic()
    made = subprocess.run([options.kollect, "serve", "--store", place.store, "--create-indexes", "--index-attributes", "team", "--index-search"], check=False,
                          capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    indexed = time.monotonic()
    server = Serve(folder, "--store", place.store)
    print(f"== {place.name}: {options.rows} rows, filled in {filled - began:.0f} s, indexes in {indexed - filled:.0f} s, {place.size() / 2**20:.0f} MiB, "
          f"up after {time.monotonic() - indexed:.1f} s")
    pick = random.Random(11).randrange
    times, kinds = {}, {}
    connection = server.connect()
    processes = [server.process.pid, *place.processes()]
    busy = {}
    for _ in range(options.rounds):
        for kind, query in pages(options.rows, pick).items():
            query = {"limit": options.limit, **query}
            for state in ("cold", "warm"):
                before = sum(map(processor_seconds, [p for p in {*processes, *place.processes()} if pathlib.Path(f"/proc/{p}").exists()]))
                times.setdefault((kind, state), []).append(ask(connection, query))
                after = sum(map(processor_seconds, [p for p in {*processes, *place.processes()} if pathlib.Path(f"/proc/{p}").exists()]))
                busy.setdefault((kind, state), []).append((after - before) * 1000)
                kinds[kind] = None
    print(f"{'page':38} {'cold p50':>9} {'cold p99':>9} {'warm p50':>9} {'warm p99':>9} {'processor':>10}")
    for kind in kinds:
        cells = [percentile(times[kind, state], share) for state in ("cold", "warm") for share in (0.5, 0.99)]
        spent = sum(busy[kind, "cold"]) / len(busy[kind, "cold"])
        print(f"{kind:38} " + " ".join(f"{cell:9.1f}" for cell in cells) + f" {spent:7.1f} ms")
    everything = [one for list_ in times.values() for one in list_]
    filters = [one for (kind, _), list_ in times.items() if kind != EXACT for one in list_]
    rss = int(next(line.split()[1] for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")))
    print(f"all {len(everything)} pages: p50 {percentile(everything, 0.5):.1f} ms, p99 {percentile(everything, 0.99):.1f} ms; without exact totals of searches that "
          f"very many rows match: p99 {percentile(filters, 0.99):.1f} ms (bar {BAR:.0f} ms); memory of the server at most {rss / 1024:.0f} MiB")
    server.stop()
    return percentile(filters, 0.99) <= BAR


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kollect")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--keep", help="folder for the file of SQLite, which is used again when it is there")
    options = parser.parse_args()
    options.kollect = str(pathlib.Path(options.kollect).resolve())
    os.environ["KOLLECT"] = options.kollect
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    good = True
    with tempfile.TemporaryDirectory(prefix="kollect-readstore-") as folder:
        for name in options.stores.split(","):
            place = {"sqlite": Sqlite, "postgres": PostgreSQL}[name](options.keep or folder)
            good = measure(place, options, folder) and good
    print(f"load of the machine: {os.getloadavg()[0]:.1f}; " + ("within the bar" if good else "NOT within the bar"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
