#!/usr/bin/env python3
"""The read API of two operators, one of which leads: the other refuses, takes over, and a stream of the first goes on there with a reset (X-33, X-52)."""
import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import harness
import manifests as m
from sandbox import Sandbox

TIMES = ["--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "250ms"]
MANIFESTS = (m.namespace("shop") + m.profile("shop", "maps", "ConfigMap", {"name": "colour", "path": "$.data.colour", "optional": True}) +
             m.target("shop", "maps", "maps", includedNamespaces=["shop"]) + m.inventory("shop", "main") + m.config_map("shop", "one", colour="red"))


class Operator:
    def __init__(self, kubeconfig):
        self.port = harness.free_port()
        self.process = subprocess.Popen(
            [harness.KOLLECT, "operator", "--kubeconfig", str(kubeconfig), "--validating-webhooks-enabled=false", "--health-probe-bind-address=0",
             "--leader-elect", "--leader-elect-namespace=default", *TIMES, "--inventory-http-enabled", "--inventory-auth-mode=disabled",
             "--inventory-bind-address=127.0.0.1", f"--inventory-http-port={self.port}", "--log-level=error"], env=harness.environment())

    def open(self, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={name.replace("_", "-"): value for name, value in headers.items()})
        return urllib.request.urlopen(request, timeout=30)

    def ask(self, path):
        """(status, headers, answer); status 0: nobody listens."""
        try:
            with self.open(path) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.headers, json.load(error)
        except OSError:
            return 0, {}, None

    def until(self, path, wanted):
        end = time.monotonic() + 60
        while not wanted(got := self.ask(path)):
            if time.monotonic() > end:
                raise AssertionError(f"{path}: still {got}")
            time.sleep(0.05)
        return got


def event(stream):
    """The next event as (name, id, data)."""
    found = {}
    for line in stream:
        line = line.decode().rstrip("\n")
        if not line and found:
            return found.get("event"), found.get("id"), json.loads(found["data"])
        name, _, value = line.partition(": ")
        if name:
            found[name] = value
    return None


class Standby(unittest.TestCase):
    def test_one_answers_and_the_other_takes_over(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=harness.HOME.name))
        sandbox = Sandbox(folder, MANIFESTS)
        self.addCleanup(sandbox.stop)
        first = Operator(sandbox.kubeconfig)
        self.addCleanup(first.process.wait)
        self.addCleanup(first.process.kill)
        rows = "/v1alpha1/inventory/shop/main"
        first.until(rows, lambda got: got[0] == 200 and got[2]["itemCount"] == 1)
        second = Operator(sandbox.kubeconfig)
        self.addCleanup(second.process.wait)
        self.addCleanup(second.process.kill)
        status, headers, answer = second.until(rows, lambda got: got[0] != 0)
        self.assertEqual((status, answer["error"]["reason"]), (503, "NotServing"))
        self.assertIn("Retry-After", headers)
        # The description is everybody's.
        self.assertEqual(second.ask("/openapi/v1alpha1/inventory.json")[0], 200)

        stream = first.open("/v1alpha1/changes/watch?namespace=shop")
        self.assertEqual(event(stream)[0], "hello")
        path = "/api/v1/namespaces/shop/configmaps/one"
        sandbox.patch(path, data={"colour": "blue"})
        name, state, data = event(stream)
        self.assertEqual((name, data["op"], data["item"]["attributes"]), ("change", "upsert", {"colour": "blue"}))
        first.process.send_signal(signal.SIGTERM)
        self.assertIsNone(event(stream))  # ended in good order
        self.assertEqual(first.process.wait(30), 0)

        _, _, answer = second.until(rows, lambda got: got[0] == 200 and got[2]["itemCount"] == 1)
        self.assertEqual(answer["items"][0]["attributes"], {"colour": "blue"})
        stream = second.open("/v1alpha1/changes/watch", Last_Event_ID=state)
        self.assertEqual(event(stream)[0], "hello")
        name, _, data = event(stream)
        self.assertEqual((name, data["reason"]), ("reset", "Expired"))
        sandbox.call("DELETE", path)
        name, state, data = event(stream)
        self.assertEqual((name, data["op"], data["item"]["name"]), ("change", "delete", "one"))
        # The same process knows its own states.
        sandbox.call("POST", "/api/v1/namespaces/shop/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}})
        event(stream)
        stream = second.open("/v1alpha1/changes/watch", Last_Event_ID=state)
        self.assertEqual(event(stream)[0], "hello")
        name, _, data = event(stream)
        self.assertEqual((name, data["item"]["name"]), ("change", "two"))


if __name__ == "__main__":
    unittest.main()
