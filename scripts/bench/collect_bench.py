#!/usr/bin/env python3
"""`kollect collect` beside a raw paginated list of the same objects over one connection.

    collect_bench.py KOLLECT --objects 10000 [--namespaces 100] [--modes attributes,resource] [--repeat 3]

Starts a kube-apiserver of its own, fills it, then lists and collects in turn. Per mode a line: wall time of both and their
ratio (medians), CPU seconds and peak memory of collect, and that peak less what an empty process of the program takes.
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import os

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import fill  # noqa: E402

SIX_ATTRIBUTES = """\
  attributes:
    - {name: images, path: "$[].spec.template.spec.containers[*].image", type: list}
    - {name: replicas, path: "$.spec.replicas", type: int}
    - {name: version, path: "$.metadata.labels['app.kubernetes.io/version']", optional: true}
    - {name: partOf, path: "$.metadata.labels['app.kubernetes.io/part-of']", optional: true}
    - {name: serviceAccount, path: "$.spec.template.spec.serviceAccountName", optional: true}
    - {name: created, path: "$.metadata.creationTimestamp", type: timestamp}
"""
RESOURCE = """\
  export:
    mode: Resource
    prune:
      jsonPointers: [/spec/template/spec/containers/0/resources]
"""
PROFILE = """\
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: bench, namespace: bench}
spec:
  targetGVK: {group: apps, version: v1, kind: Deployment}
"""
TARGET = """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: bench, namespace: bench}
spec: {profileRef: bench}
"""
PAGE = 500


def start_server(name):
    out = subprocess.run([str(ROOT / "scripts/servers/kube.sh"), "start", name], check=True, capture_output=True, text=True,
                         env={**os.environ, "OWNER_PID": str(os.getpid())}).stdout
    for key, value in re.findall(r"^export (\w+)=(.*)$", out, re.M):
        if key != "PATH":
            os.environ[key] = value


def stop_server(name):
    subprocess.run([str(ROOT / "scripts/servers/kube.sh"), "stop", name], check=False, capture_output=True)


def raw_list():
    """(seconds, bytes, pages) of a list page after page over one connection; nothing is parsed but the token."""
    api = fill.Api()
    api.call("GET", "/version")
    began = time.monotonic()
    size, pages, token = 0, 0, ""
    while True:
        path = f"/apis/apps/v1/deployments?limit={PAGE}" + (f"&continue={token}" if token else "")
        status, body = api.call("GET", path)
        if status != 200:
            sys.exit(f"bench: raw list: {status}")
        size += len(body)
        pages += 1
        found = re.search(rb'"continue":"([^"]*)"', body[:2000])
        if not found or not found[1]:
            return time.monotonic() - began, size, pages
        token = found[1].decode()


def high_water(pid):
    """VmHWM in MiB; the kernel's own peak, so a late look misses nothing but the last moments."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.M)
    return int(found[1]) / 1024 if found else 0.0


def measured(command):
    """(seconds, CPU seconds, peak MiB, exit code, stderr)"""
    with tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL)
        peak = 0.0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, high_water(process.pid))
            time.sleep(0.01)
        seconds = time.monotonic() - began
        err.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, peak, os.waitstatus_to_exitcode(status), err.read()


def empty_process(kollect, folder):
    """Resident MiB of the program while it waits for its first input."""
    spec = folder / "spec.yaml"
    spec.write_text("targetGVK: {version: v1, kind: ConfigMap}\n")
    process = subprocess.Popen([kollect, "extract", "--profile-spec", str(spec), "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    size = high_water(process.pid)
    process.stdin.close()
    process.wait()
    return size


def compare(kollect, mode, repeat, folder, empty):
    config = folder / mode
    config.mkdir(exist_ok=True)
    (config / "bench.yaml").write_text(PROFILE + (SIX_ATTRIBUTES if mode == "attributes" else RESOURCE) + TARGET)
    lists, runs = [], []
    for _ in range(repeat):
        lists.append(raw_list())
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        run = measured([kollect, "collect", "--config", str(config), "--kubeconfig", os.environ["KUBECONFIG"],
                        "--output", str(out), "--summary", "none"])
        if run[3] != 0:
            sys.exit(f"bench: collect ended with {run[3]}:\n{run[4]}")
        runs.append(run)
    raw = statistics.median(l[0] for l in lists)
    wall = statistics.median(r[0] for r in runs)
    cpu = statistics.median(r[1] for r in runs)
    peak = max(r[2] for r in runs)
    written = sum(p.stat().st_size for p in (folder / "out").rglob("*") if p.is_file())
    return {"mode": mode, "list_mib": lists[0][1] / 2**20, "raw": raw, "wall": wall, "ratio": wall / raw, "cpu": cpu,
            "peak": peak, "above": peak - empty, "out_mib": written / 2**20}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kollect")
    parser.add_argument("--objects", type=int, action="append", required=True, help="repeatable, ascending")
    parser.add_argument("--namespaces", type=int, default=100)
    parser.add_argument("--modes", default="attributes,resource")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    kollect = str(pathlib.Path(options.kollect).resolve())
    name = f"bench-{os.getpid()}"
    start_server(name)
    try:
        with tempfile.TemporaryDirectory(prefix="kollect-bench-") as temporary:
            folder = pathlib.Path(temporary)
            empty = empty_process(kollect, folder)
            print("objects  mode        list MiB  raw s  collect s  ratio  CPU s  peak MiB  above empty  output MiB")
            for objects in sorted(options.objects):
                subprocess.run([sys.executable, str(HERE / "fill.py"), "--objects", str(objects), "--namespaces",
                                str(options.namespaces)], check=True)
                raw_list()  # the server's caches are warm for both
                for mode in options.modes.split(","):
                    r = compare(kollect, mode, options.repeat, folder, empty)
                    print(f"{objects:7}  {r['mode']:<10}  {r['list_mib']:8.1f}  {r['raw']:5.2f}  {r['wall']:9.2f}  "
                          f"{r['ratio']:5.2f}  {r['cpu']:5.2f}  {r['peak']:8.1f}  {r['above']:11.1f}  {r['out_mib']:10.1f}",
                          flush=True)
    finally:
        stop_server(name)


if __name__ == "__main__":
    main()
