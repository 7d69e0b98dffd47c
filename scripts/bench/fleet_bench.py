#!/usr/bin/env python3
"""Polls of the fleet API beside a server with one static answer, in one run.

  fleet_bench.py BUILD-DIR [--clusters N]... [--components N] [--requests N] [--rounds N] [--no-gzip]

Server and client have a core each. Rates are requests a second; the ratio is to the static server, which answers with the bytes
of one poll and shares the HTTP library, so that it says what reading tokens, names and answers costs.
"""
import argparse
import gzip
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import urllib.request

SERVER_CORE, CLIENT_CORE = "0", "1"
# Name, connections, part of the requests, kept or new connections.
LOADS = (("1", 1, 4, "keep"), ("16", 16, 1, "keep"), ("64", 64, 1, "keep"), ("new", 16, 10, "new"))


def seed(clusters, components):
    catalog = [{"_id": f"component-{number:02}", "component_path": f"platform/component-{number:02}/1.4.{number}", "component_version": f"1.4.{number}",
                "oci_url": "oci://registry.example.test/platform", "oci_tag": "v4.0.0", "depends_on": ["component-00"] if number else []}
               for number in range(components)]
    return {"platform_components": catalog,
            "clusters": [{"_id": f"cluster-{number:05}", "cluster_name": f"CLUSTER-{number:05}", "cluster_dns": f"cluster-{number:05}.example.test",
                          "environment": ("dev", "qa", "uat", "prod")[number % 4],
                          "platform_components": [{"id": one["_id"], "enabled": True} for one in catalog],
                          "patches": {"component-01": {"replicaCount": str(number % 7)}}} for number in range(clusters)]}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, build, folder, args):
        self.build, self.folder, self.args = build, folder, args
        self.headers = folder / "headers"
        self.headers.write_text("Accept: application/json\nUser-Agent: flux-operator/v0.43.0\nAuthorization: Bearer read-token-of-the-bench\n"
                                + ("" if args.no_gzip else "Accept-Encoding: gzip\n"), encoding="utf-8")

    def start(self, command, **env):
        process = subprocess.Popen(["taskset", "-c", SERVER_CORE, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **env})
        return process

    def ask(self, port, connections, requests, kind, paths):
        out = subprocess.run(["taskset", "-c", CLIENT_CORE, str(self.build / "bench/fleet_load"), "ask", str(port), str(connections), str(requests), kind,
                              str(paths), str(self.headers)], capture_output=True, text=True, check=True).stdout
        answer = json.loads(out)
        if answer["errors"]:
            raise SystemExit(f"{answer['errors']} requests failed")
        return answer

    def measure(self, server):
        """One round of all loads."""
        for name, connections, part, kind in LOADS:
            count = self.args.requests // part
            before = cpu_seconds(server["process"].pid)
            found = self.ask(server["port"], connections, count, kind, server["paths"])
            found["cpu_us"] = (cpu_seconds(server["process"].pid) - before) / count * 1e6
            server["rounds"][name].append(found)

    def serve(self, name, process, port, paths):
        return {"name": name, "process": process, "port": port, "paths": paths, "memory": None, "rounds": {load[0]: [] for load in LOADS}}

    def fleet(self, clusters):
        seed_file, paths = self.folder / f"seed-{clusters}.json", self.folder / f"paths-{clusters}"
        seed_file.write_text(json.dumps(seed(clusters, self.args.components)), encoding="utf-8")
        paths.write_text("".join(f"/api/v2/flux/clusters/cluster-{number:05}.example.test/platform-components\n" for number in range(clusters)),
                         encoding="utf-8")
        process = self.start([self.build / "kollect", "fleet", "serve"], AUTH_TOKEN="read-token-of-the-bench", STORE_BACKEND="sqlite",
                             DATABASE_URL=f"sqlite://{self.folder}/fleet-{clusters}.db?mode=rwc", SEED_FILE=str(seed_file), LISTEN_ADDR="127.0.0.1:0")
        line = ""
        while '"port"' not in line:
            line = process.stderr.readline()
            if not line:
                raise SystemExit("the server has ended")
        server = self.serve(f"{clusters:,}", process, int(json.loads(line)["port"]), paths)
        self.ask(server["port"], 16, clusters, "keep", paths)  # every answer is put together once
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
        server["memory"] = next(int(one.split()[1]) for one in status if one.startswith("VmRSS")) / 1024
        return server

    def body_of(self, server):
        request = urllib.request.Request(f"http://127.0.0.1:{server['port']}{server['paths'].read_text().splitlines()[0]}",
                                         headers=dict(one.split(": ") for one in self.headers.read_text().splitlines()))
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def static(self, body):
        (self.folder / "body").write_bytes(body)
        (self.folder / "paths-static").write_text("/api/v2/flux/clusters/cluster-00000.example.test/platform-components\n", encoding="utf-8")
        process = self.start([self.build / "bench/fleet_load", "static", self.folder / "body"])
        return self.serve("static answer", process, int(process.stdout.readline()), self.folder / "paths-static")


def middle(server, load, what):
    return statistics.median(one[what] for one in server["rounds"][load])


def row(server, static):
    cells = [server["name"]]
    for load, *_ in LOADS:
        rate, p50, p99, cpu = (middle(server, load, what) for what in ("rate", "p50_us", "p99_us", "cpu_us"))
        cells.append(f"{rate:,.0f} ({p50:.0f}, {p99:.0f}; {cpu:.1f})")
    cells.append("" if server["memory"] is None else f"{server['memory']:.0f}")
    cells.append(" ".join(f"{middle(server, load, 'rate') / middle(static, load, 'rate'):.2f}" for load, *_ in LOADS))
    cells.append(" ".join(f"{middle(static, load, 'cpu_us') / middle(server, load, 'cpu_us'):.2f}" for load, *_ in LOADS))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--clusters", type=int, action="append")
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--requests", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-gzip", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kollect-fleet-bench-") as folder:
        bench = Bench(args.build.resolve(), pathlib.Path(folder), args)
        servers = []
        try:
            for clusters in args.clusters or [100, 10000]:
                servers.append(bench.fleet(clusters))
            body = bench.body_of(servers[0])
            static = bench.static(body)
            servers.append(static)
            for _ in range(args.rounds):
                for server in servers:
                    bench.measure(server)
        finally:
            for server in servers:
                server["process"].send_signal(signal.SIGTERM)
                server["process"].wait()
        size = f"{len(body):,} bytes" + ("" if args.no_gzip else f", {len(gzip.decompress(body)):,} unpacked")
        print(f"One answer: {size}. Requests a second (p50, p99; processor time of the server for one, in microseconds) at 1, 16 and 64 kept connections\n"
              f"and at 16 with a new connection for each request; medians of {args.rounds} rounds in turn.")
        print("| clusters | 1 | 16 | 64 | new | MiB | rate to static | processor to static |\n|---|---|---|---|---|---|---|---|")
        for server in servers:
            print(row(server, static))


if __name__ == "__main__":
    main()
