#!/usr/bin/env python3
"""What changes of a fleet cost on each store: one call that changes 1,000 clusters, and changes one by one.

    fleet_store_bench.py KOLLECT [--clusters 1000] [--rounds 5]

The servers write to the disk before they acknowledge (PostgreSQL with fsync and synchronous_commit). A batch is compared with as many
single calls; the bar is one second for 1,000 clusters.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
BAR = 1.0


def cluster(number):
    return {"_id": f"c{number:05}", "cluster_name": f"C{number}", "cluster_dns": f"c{number}.test", "environment": "dev",
            "platform_components": [{"id": f"p{i}", "enabled": True} for i in range(20)], "namespaces": [], "rolebindings": [],
            "patches": {"p0": {"replicas": "3"}}}


def component(name):
    return {"_id": name, "component_path": "a/b", "component_version": "1", "oci_url": "oci://x", "oci_tag": "v1", "depends_on": []}


def timed(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def measure(server, options):
    def change(method, path, body):
        status, answer = server.write(method, path, body)
        if status != 200:
            raise SystemExit(f"{method} {path}: {status} {str(answer)[:300]}")

    def batch(number):
        change("POST", "/batch", {"operations": [{"op": "assign_component", "selector": {"environment": "dev"},
                                                  "component": {"id": "extra", "oci_tag": f"v{number}"}}]})

    many = [timed(lambda number=number: batch(number)) for number in range(options.rounds)]
    single = [timed(lambda number=number: change("PUT", f"/clusters/c{number:05}", {"node_count": number + 1})) for number in range(100)]
    return statistics.median(many), max(many), statistics.median(single)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kollect")
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["KOLLECT"] = str(pathlib.Path(options.kollect).resolve())
    import fleet_postgres
    import fleet_test
    postgres = fleet_postgres.Postgres("fleetbench")
    good = True
    try:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            postgres.sql(f"ALTER SYSTEM SET {setting} = on")
        postgres.sql("SELECT pg_reload_conf()")
        fleet_test.DATABASES["postgres"] = postgres.url
        for store in ("postgres", "sqlite"):
            with tempfile.TemporaryDirectory(prefix="kollect-fleetbench-") as folder:
                (pathlib.Path(folder) / "seed.json").write_text(json.dumps({
                    "clusters": [cluster(number) for number in range(options.clusters)],
                    "platform_components": [component(name) for name in [f"p{i}" for i in range(20)] + ["extra"]]}))
                server = fleet_test.Server(folder, store, "", LOG_LEVEL="error")
                try:
                    median, worst, single = measure(server, options)
                finally:
                    server.stop()
            print(f"{store}: batch of {options.clusters} clusters {median * 1000:.0f} ms (slowest of {options.rounds}: {worst * 1000:.0f} ms), "
                  f"a single change {single * 1000:.1f} ms: as many of them take {single * options.clusters / median:.0f} times as long")
            good = good and median < BAR
    finally:
        postgres.script("stop")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
