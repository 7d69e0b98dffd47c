#!/usr/bin/env python3
"""Polls of the fleet API beside a server with one static answer, in one run.

  fleet_bench.py BUILD-DIR [--clusters N]... [--components N] [--requests N] [--no-gzip]

Server and client have a core each. Rates are requests a second; the ratio is to the static server, which answers with the bytes
of one poll and shares the HTTP library, so that it says what reading tokens, names and answers costs.
"""
import argparse
import gzip
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import urllib.request

SERVER_CORE, CLIENT_CORE = "0", "1"


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

    def measure(self, pid, port, paths):
        requests, found = self.args.requests, {}
        for name, connections, count, kind in (("1", 1, requests // 4, "keep"), ("16", 16, requests, "keep"), ("64", 64, requests, "keep"),
                                               ("new", 16, min(requests // 4, 20000), "new")):
            before = cpu_seconds(pid)
            found[name] = self.ask(port, connections, count, kind, paths)
            found[name]["cpu_us"] = (cpu_seconds(pid) - before) / count * 1e6
        return found

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
        port = int(json.loads(line)["port"])
        try:
            self.ask(port, 16, clusters, "keep", paths)  # every answer is put together once
            memory = next(int(one.split()[1]) for one in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
            request = urllib.request.Request(f"http://127.0.0.1:{port}{paths.read_text().splitlines()[0]}",
                                             headers=dict(one.split(": ") for one in self.headers.read_text().splitlines()))
            with urllib.request.urlopen(request) as answer:
                body = answer.read()
            return self.measure(process.pid, port, paths), memory / 1024, body
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def static(self, body):
        (self.folder / "body").write_bytes(body)
        (self.folder / "paths-static").write_text("/api/v2/flux/clusters/cluster-00000.example.test/platform-components\n", encoding="utf-8")
        process = self.start([self.build / "bench/fleet_load", "static", self.folder / "body"])
        try:
            return self.measure(process.pid, int(process.stdout.readline()), self.folder / "paths-static")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def row(name, measured, static, memory):
    cells = [name]
    for key in ("1", "16", "64", "new"):
        one = measured[key]
        cells.append(f"{one['rate']:,} ({one['p50_us']}, {one['p99_us']}; {one['cpu_us']:.1f})")
    cells.append("" if memory is None else f"{memory:.0f}")
    for what in (lambda key: measured[key]["rate"] / static[key]["rate"], lambda key: static[key]["cpu_us"] / measured[key]["cpu_us"]):
        cells.append(" ".join(f"{what(key):.2f}" for key in ("1", "16", "64", "new")))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--clusters", type=int, action="append")
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--requests", type=int, default=200000)
    parser.add_argument("--no-gzip", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kollect-fleet-bench-") as folder:
        bench = Bench(args.build.resolve(), pathlib.Path(folder), args)
        found = {clusters: bench.fleet(clusters) for clusters in args.clusters or [100, 10000]}
        body = next(iter(found.values()))[2]
        static = bench.static(body)
        size = f"{len(body):,} bytes" + ("" if args.no_gzip else f", {len(gzip.decompress(body)):,} unpacked")
        print(f"one answer: {size}. Requests a second (p50, p99; processor time of the server, in microseconds) at 1, 16, 64 kept connections, 16 with a new one for each request")
        print("| clusters | 1 | 16 | 64 | new | MiB | rate to static | processor to static |\n|---|---|---|---|---|---|---|---|")
        for clusters, (measured, memory, _) in found.items():
            print(row(f"{clusters:,}", measured, static, memory))
        print(row("static answer", static, static, None))


if __name__ == "__main__":
    main()
