#!/usr/bin/env python3
"""Limits of `kollect fleet serve`: clients that are slow, idle or too large, and how the service ends."""
import concurrent.futures
import contextlib
import gzip
import json
import pathlib
import resource
import signal
import socket
import sqlite3
import time
import unittest

import fleet_test
import harness

READ = fleet_test.READ
POLL = "/api/v2/flux/clusters/oslo-prod.harbour.test/platform-components"


def text_of(method, path, **headers):
    headers = {"Host": "h", "Authorization": f"Bearer {'read' if method in ('GET', 'HEAD') else 'write'}-token", **headers}
    return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items()) + "\r\n").encode()


def rest_of(connection):
    """All bytes until the server closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            found += part
    return found


class Limits(harness.Case):
    def start(self, **settings):
        self.server = fleet_test.Server(self.folder, "sqlite", "harbour.json", **settings)
        self.addCleanup(lambda: self.server.process.poll() is None and self.server.stop())
        self.addCleanup(lambda: [one.close() for one in self.open])
        self.open = []

    def connect(self, text=b""):
        connection = socket.create_connection(("127.0.0.1", self.server.port), 60)
        self.open.append(connection)
        connection.sendall(text)
        return connection

    def test_heads_that_do_not_end(self):
        self.start(HEADER_TIMEOUT="400ms")
        slow = [self.connect(b"GET / HTTP/1.1\r\nHost: h\r\n") for _ in range(50)]
        ended = set()
        while len(ended) < len(slow):  # a byte now and then does not help
            for one in set(slow) - ended:
                one.setblocking(False)
                try:
                    one.send(b"x")
                    if one.recv(1) == b"":
                        ended.add(one)
                except BlockingIOError:
                    pass
                except OSError:
                    ended.add(one)
            self.assertEqual(self.server.ask("GET", "/clusters", headers=READ)[0], 200, "others are served meanwhile")

    def test_bodies_that_do_not_end_and_clients_that_say_nothing(self):
        self.start(BODY_TIMEOUT="200ms", IDLE_TIMEOUT="200ms")
        self.assertEqual(rest_of(self.connect(text_of("POST", "/namespaces", Content_Length=10) + b"{")), b"")
        self.assertEqual(rest_of(self.connect()), b"")
        answer = rest_of(self.connect(text_of("GET", "/health")))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200") and b"Connection: close" not in answer)

    def test_what_is_too_large(self):
        self.start()
        self.assertIn(b" 431 ", rest_of(self.connect(text_of("GET", "/health", X="x" * 40000))).split(b"\r\n")[0])
        self.assertIn(b" 413 ", rest_of(self.connect(text_of("POST", "/namespaces", Content_Length=100 << 20))).split(b"\r\n")[0])
        endless = self.connect(text_of("POST", "/namespaces", Transfer_Encoding="chunked"))
        with contextlib.suppress(OSError):
            while True:
                endless.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        self.assertEqual(self.server.ask("GET", "/clusters", headers=READ)[0], 200)

    def test_a_bound_on_connections(self):
        self.start(MAX_CONNECTIONS="8")
        idle = [self.connect() for _ in range(40)]
        for _ in range(20):
            self.assertEqual(self.server.ask("GET", "/clusters", headers=READ)[0], 200, "idle ones make room")
        for one in idle[:30]:
            self.assertEqual(rest_of(one), b"")

    def test_idle_connections_are_cheap(self):
        count = 2000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
        self.start()

        def memory():
            status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text(encoding="utf-8")
            return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

        self.server.ask("GET", POLL, headers=READ)
        before = memory()
        for _ in range(count):
            one = self.connect(text_of("GET", POLL, Accept_Encoding="gzip"))
            self.assertTrue(one.recv(65536).startswith(b"HTTP/1.1 200"))
        self.assertLess((memory() - before) / count, 16, "KiB for each")

    def test_gzip_and_head(self):
        self.start()
        plain = self.server.ask("GET", POLL, headers=READ)
        for _ in range(2):  # put together first, ready then
            status, headers, body = self.server.ask("GET", POLL, headers={**READ, "Accept-Encoding": "br, gzip;q=0.5"})
            self.assertEqual((status, headers["content-encoding"], gzip.decompress(body)), (200, "gzip", plain[2]))
            self.assertLess(len(body), len(plain[2]))
            self.assertEqual((headers["content-length"], headers["vary"]), (str(len(body)), "Accept-Encoding"))
            self.assertEqual(self.server.ask("GET", POLL, headers={**READ, "Accept-Encoding": "gzip", "If-None-Match": headers["etag"]})[::2], (304, b""))
            self.assertEqual(self.server.ask("GET", POLL, headers={**READ, "If-None-Match": headers["etag"]})[0], 200, "the other form")
            self.assertEqual(self.server.ask("GET", POLL, headers={**READ, "If-None-Match": plain[1]["etag"]})[0], 304)
            for none in ("identity", "gzip;q=0", "br"):
                self.assertEqual(self.server.ask("GET", POLL, headers={**READ, "Accept-Encoding": none})[2], plain[2])
            status, headers, body = self.server.ask("HEAD", POLL, headers=READ)
            self.assertEqual((status, headers["content-length"], headers["etag"], body), (200, str(len(plain[2])), plain[1]["etag"], b""))
            self.assertEqual(self.server.ask("GET", POLL, headers={"Authorization": "Bearer wrong"})[0], 401)
            self.assertEqual(self.server.ask("GET", POLL)[0], 401)
        self.server.write("PUT", "/clusters/oslo-prod", {"cluster_name": "NEW"})
        body = gzip.decompress(self.server.ask("GET", POLL, headers={**READ, "Accept-Encoding": "gzip"})[2])
        self.assertEqual({one["cluster"]["name"] for one in json.loads(body)["inputs"]}, {"NEW"})

    def test_polls_by_many_at_once(self):
        self.start()
        wanted = self.server.ask("GET", POLL, headers=READ)[2]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: self.server.ask("GET", POLL, headers=READ), range(1500)))
        self.assertEqual({(status, body) for status, _, body in answers}, {(200, wanted)})

    def test_the_end(self):
        self.start(BODY_TIMEOUT="60s")
        body = json.dumps({"id": "late"}).encode()
        running = self.connect(text_of("POST", "/namespaces", Content_Type="application/json", Content_Length=len(body), Expect="100-continue"))
        self.assertTrue(running.recv(1000).startswith(b"HTTP/1.1 100"))
        idle = self.connect(text_of("GET", "/health"))
        self.assertTrue(idle.recv(1000).startswith(b"HTTP/1.1 200"))
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(rest_of(idle), b"")
        self.assertEqual(self.server.ask("GET", "/ready")[0], 503)
        self.assertEqual(self.server.ask("GET", POLL, headers=READ)[0], 200, "others are served as long as one is under way")
        running.sendall(body)
        answer = rest_of(running)
        self.assertTrue(answer.startswith(b"HTTP/1.1 200") and b"Connection: close" in answer, answer)
        self.assertEqual(self.server.process.wait(timeout=60), 0)
        self.server.process.stdout.close()
        self.server = fleet_test.Server(self.folder, "sqlite", "harbour.json")
        self.assertEqual(self.server.read("/namespaces/late")[0], 200)

    def test_alive_though_all_workers_wait_for_the_store(self):
        self.start()
        held = sqlite3.connect(self.folder / "fleet.db", isolation_level=None)
        self.addCleanup(held.close)
        held.execute("BEGIN IMMEDIATE")
        writes = [self.connect(text_of("POST", "/namespaces", Content_Type="application/json", Content_Length=len(body)) + body)
                  for body in (b'{"id": "w%d"}' % n for n in range(4))]
        for _ in range(20):
            self.assertEqual(self.server.ask("GET", "/health")[0], 200)
        for one in writes:
            one.setblocking(False)
            with self.assertRaises(BlockingIOError, msg="the writes wait still"):
                one.recv(1)
        held.execute("ROLLBACK")
        for one in writes:
            one.setblocking(True)
            self.assertIn(one.recv(12), (b"HTTP/1.1 200", b"HTTP/1.1 500"))

    def test_the_end_does_not_wait_for_ever(self):
        self.start(BODY_TIMEOUT="1s")
        stuck = self.connect(text_of("POST", "/namespaces", Content_Length=10) + b"{")
        self.server.ask("GET", "/health")
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(rest_of(stuck), b"")

    def test_time_between_readiness_and_the_end(self):
        self.start(SHUTDOWN_DELAY="1s")
        self.server.process.send_signal(signal.SIGTERM)
        while self.server.ask("GET", "/ready")[0] == 200:
            time.sleep(0.02)
        self.assertEqual(self.server.ask("GET", POLL, headers=READ)[0], 200)
        self.assertEqual(self.server.process.wait(timeout=60), 0)
        self.server.process.stdout.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
