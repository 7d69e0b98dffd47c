#!/usr/bin/env python3
"""Many listen to every change of the read API's inventory: each must end with the true table, none may miss a change, and the operator may
not grow. Slow listeners are dropped, come back where they were and end with the same table.

    stream_test.py [--clients 20] [--slow 2] [--rate 200] [--seconds 10] [--objects 2000]

`make stream-load` is 200 clients, 1000 changes a second, five minutes.
"""
import argparse
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import manifests as m  # noqa: E402
import operator_test as op  # noqa: E402
from sandbox import Sandbox  # noqa: E402

LOAD = os.environ.get("STREAM_LOAD", str(harness.ROOT / "build/release/bench/stream_load"))
BUFFER = 2 << 20  # bytes of changes that the operator keeps for listeners
OPTIONS = None


def manifests():
    attributes = [{"name": name, "path": path, "optional": True} for name, path in (
        ("image", "$.spec.template.spec.containers[0].image"), ("replicas", "$.spec.replicas"), ("labels", "$.metadata.labels"),
        ("ready", "$.status.readyReplicas"), ("generation", "$.metadata.generation"), ("version", "$.metadata.resourceVersion"))]
    return (m.namespace("ops") + m.profile("ops", "apps", "Deployment", *attributes, group="apps") + m.target("ops", "apps", "apps")
            + m.inventory("ops"))


class Stream(harness.Case):
    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return json.load(answer)

    def up(self):
        try:
            return self.ask("/v1alpha1/inventory?limit=1").get("pagination", {}).get("total", 0) >= OPTIONS.objects
        except OSError:
            return False

    def used(self, pid):
        """(megabytes resident, seconds of processor)"""
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return kilobytes / 1024, (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def state(self):
        """<epoch>-<version> as a new listener is told it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/v1alpha1/changes/watch")
        answer = connection.getresponse()
        while not (line := answer.readline()).startswith(b"data:"):
            self.assertTrue(line)
        connection.close()
        return json.loads(line[5:])["state"]

    def settled(self):
        """The state when everything that was changed has arrived."""
        truth = sorted(uid for uid in self.sandbox.deployments())
        op.until("all rows", lambda: self.ask("/v1alpha1/inventory?limit=1")["pagination"]["total"] == len(truth))
        last = ""
        while (now := self.state()) != last:
            last = now
            time.sleep(1)
        return last

    def test_nobody_misses_a_change(self):
        self.sandbox = Sandbox(self.folder, manifests(), "--generate", f"Deployment={OPTIONS.objects}")
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.port = harness.free_port()
        operator = op.Operator(
            self.folder, "--inventory-http-enabled", "--inventory-http-port", str(self.port), "--inventory-auth-mode", "disabled", "--inventory-max-streams",
            str(OPTIONS.clients + OPTIONS.slow + 8), "--inventory-stream-buffer-bytes", str(BUFFER), "--log-level", "info")
        self.addCleanup(operator.stop)
        op.until("the rows", self.up)
        pid = operator.process.pid
        load = subprocess.Popen([LOAD, str(self.port), str(OPTIONS.clients), str(OPTIONS.slow)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (load.kill(), load.wait(), load.stdin.close(), load.stdout.close()))
        self.assertEqual(load.stdout.readline(), "ready\n")
        memory = [self.used(pid)]
        began, done = time.monotonic(), 0
        while (passed := time.monotonic() - began) < OPTIONS.seconds:
            due = int(passed * OPTIONS.rate) - done
            if due > 0:
                self.sandbox.call("POST", f"/sandbox/change?count={due}")
                done += due
            if len(memory) == 1 and passed > OPTIONS.seconds / 2:
                memory.append(self.used(pid))
            time.sleep(0.02)
        took = time.monotonic() - began
        memory.append(self.used(pid))
        load.stdin.write("wake\n")
        load.stdin.flush()
        load.stdin.write(f"end {self.settled()}\n")
        load.stdin.flush()
        told = json.loads(load.stdout.readline())
        memory.append(self.used(pid))
        print(f"{OPTIONS.clients} listeners and {OPTIONS.slow} slow ones, {OPTIONS.objects} rows, {done} changes in {took:.0f} s ({done / took:.0f}/s): {json.dumps(told)}; "
              f"memory of the operator at the start, the middle, the end and behind it {', '.join(f'{one[0]:.0f}' for one in memory)} MiB, "
              f"{(memory[2][1] - memory[0][1]) / took:.2f} processors", flush=True)
        self.assertEqual((told["equal"], told["different"], told["late"]), (OPTIONS.clients + OPTIONS.slow, 0, False), told)
        self.assertEqual(load.wait(timeout=60), 0)
        self.assertGreaterEqual(told["events"], OPTIONS.clients * done // 4)  # rows that change twice at once are told once
        growth = max(one[0] for one in memory[1:]) - memory[0][0]
        self.assertLess(growth, 32 + 4 * BUFFER / (1 << 20) + OPTIONS.clients * 0.5)
        if OPTIONS.slow and OPTIONS.rate * OPTIONS.seconds * 300 > 4 * BUFFER:
            self.assertGreaterEqual(told["returned"], OPTIONS.slow)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, value in (("clients", 20), ("slow", 2), ("rate", 200), ("seconds", 10), ("objects", 2000)):
        parser.add_argument(f"--{flag}", type=int, default=value)
    OPTIONS = parser.parse_args()
    unittest.main(argv=["load"], verbosity=2)
