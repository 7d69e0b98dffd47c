#!/usr/bin/env python3
"""Streams of the read API to who does not read them: an operator tells a slow client so as the last thing, and lets it come back."""
import json
import pathlib
import socket
import tempfile
import urllib.request

import harness
import manifests as m
import operator_test as op
import read_api
from sandbox import Sandbox

KEPT = 1 << 20  # bytes of changes that the operator keeps
LARGE = 150_000  # bytes of a row
# More than the two sockets in between and the operator can hold.
CHANGES = 100
WATCH = "/v1alpha1/changes/watch?namespace=ops"
G = {}


def setUpModule():
    G["folder"] = tempfile.TemporaryDirectory(prefix="kollect-read-stream-", ignore_cleanup_errors=True)
    folder = pathlib.Path(G["folder"].name)
    text = (m.namespace("ops") + m.profile("ops", "maps", "ConfigMap", {"name": "v", "path": "$.data.v"}, {"name": "n", "path": "$.data.n"})
            + m.target("ops", "maps", "maps", includedNamespaces=["ops"]) + m.inventory("ops") + m.config_map("ops", "one", v="", n="0"))
    G["sandbox"] = Sandbox(folder, text)
    op.KUBE["KUBECONFIG"] = str(G["sandbox"].kubeconfig)
    G["metrics"] = harness.free_port()
    G["operator"], port = read_api.operator(folder, "--inventory-stream-buffer-bytes", str(KEPT), "--metrics-bind-address", f"127.0.0.1:{G['metrics']}",
                                            "--metrics-secure=false")
    G["api"] = read_api.Api(port)

    def there():
        try:
            return len(G["api"].get("inventory", namespace="ops")["items"]) == 1
        except (OSError, AssertionError):
            return False

    op.until("the row", there)


def tearDownModule():
    if "operator" in G:
        G["operator"].stop()
    G["sandbox"].stop()
    G["folder"].cleanup()


def too_slow():
    """Streams that the operator has ended for it, by its metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{G['metrics']}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith("kollect_inventory_http_streams_dropped_total")))


class SlowSocket:
    """A client whose socket takes little; it reads when it is told to."""

    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def rest(self):
        """Frames until the body ends as it should, [{"event", "id", "data"}]."""
        with self.socket, self.socket.makefile("rb") as stream:
            assert b" 200 " in stream.readline()
            while stream.readline() != b"\r\n":
                pass
            body = b""
            while size := int(stream.readline(), 16):
                body += stream.read(size)
                assert stream.readline() == b"\r\n"
            assert stream.readline() == b"\r\n"
        frames = [part for part in body.decode().split("\n\n") if part and not part.startswith(":")]
        return [{name: json.loads(value) if name == "data" else value for name, _, value in (line.partition(": ") for line in frame.split("\n"))}
                for frame in frames]


class Slow(harness.Case):
    def setUp(self):
        super().setUp()
        self.number = int(G["api"].get("inventory", namespace="ops")["items"][0]["attributes"]["n"])

    def listen(self, **headers):
        stream = G["api"].stream(WATCH, **headers)
        self.addCleanup(stream.close)
        self.assertEqual(stream.next()["event"], "hello")
        return stream

    def change(self, listener, large=False):
        """Changes the row and waits until the listener has seen that; its frame."""
        self.number += 1
        G["sandbox"].patch("/api/v1/namespaces/ops/configmaps/one", data={"n": str(self.number), "v": str(self.number % 10) * LARGE if large else ""})
        frame = listener.next()
        self.assertEqual((frame["event"], frame["data"]["item"]["attributes"]["n"]), ("change", str(self.number)))
        return frame

    def numbers(self, frames):
        return [int(frame["data"]["item"]["attributes"]["n"]) for frame in frames if frame["event"] == "change"]

    def test_who_reads_nothing_is_told_so_and_comes_back(self):
        quick, before, first = self.listen(), too_slow(), self.number
        slow = SlowSocket(G["api"].port)
        self.change(quick)
        for _ in range(CHANGES):
            last = self.change(quick, large=True)
        frames = slow.rest()
        self.assertEqual((frames[0]["event"], frames[-1]["event"], frames[-1]["data"]["reason"]), ("hello", "dropped", "TooSlow"))
        G["api"].described.value(read_api.DOCUMENT["components"]["schemas"]["StreamEnd"], frames[-1]["data"], "dropped")
        # What came before has no gap, and is not everything.
        seen = self.numbers(frames)
        self.assertEqual(seen, list(range(first + 1, first + 1 + len(seen))))
        self.assertLess(seen[-1] if seen else 0, self.number)
        self.assertEqual(too_slow(), before + 1)
        # With the last thing that it has seen it comes back too late, is told so, and the stream goes on from now.
        back = self.listen(Last_Event_ID=next(frame["id"] for frame in reversed(frames) if "id" in frame))
        told = back.next()
        self.assertEqual((told["event"], told["data"]["reason"]), ("reset", "Expired"))
        self.assertEqual(told["id"], last["id"])
        self.assertEqual(G["api"].get("inventory", namespace="ops")["items"][0]["attributes"]["n"], str(self.number))
        now = self.change(quick)
        self.assertEqual(back.next(), now)

    def test_who_comes_back_in_time_misses_nothing(self):
        quick, gone = self.listen(), self.listen()
        last = self.change(quick)
        self.assertEqual(gone.next(), last)
        gone.close()
        missed = [self.change(quick) for _ in range(20)]
        back = self.listen(Last_Event_ID=last["id"])
        self.assertEqual([back.next() for _ in missed], missed)
        after = self.change(quick)
        self.assertEqual(back.next(), after)


if __name__ == "__main__":
    harness.main()
