#!/usr/bin/env python3
"""`kollect serve`: rows that `kollect collect` and sinks have written, over HTTP, from SQLite and PostgreSQL."""
import gzip
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.parse

import harness
from fleet_postgres import Postgres

TOKENS = """\
auditor all-token
team team-token namespaces=cluster-addons
east east-token clusters=east
nobody none-token namespaces=nowhere
"""


class Serve:
    """The command with a file for its log; `port` when it answers."""

    def __init__(self, folder, *flags, wait=True):
        self.log = pathlib.Path(folder) / f"serve-{time.monotonic_ns()}.log"
        self.tls = "--tls-cert" in flags
        with self.log.open("wb") as log:
            self.process = harness.start("serve", "--listen", "127.0.0.1:0", *flags, stderr=log)
        while wait:
            text = self.log.read_text()
            for line in text.splitlines():
                if '"port"' in line:
                    self.port = int(json.loads(line)["port"])
                    return
            if self.process.poll() is not None:
                raise AssertionError(text)
            time.sleep(0.02)

    def connect(self):
        if self.tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, token=None, method="GET", **headers):
        """(status, headers, bytes)"""
        connection = self.connect()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return result

    def get(self, path, token=None, **query):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        status, _, body = self.ask(path, token)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body[:300]}")
        return json.loads(body)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code


class ServeCase(harness.Case):
    def serve(self, *flags, **options):
        server = Serve(self.folder, *flags, **options)
        self.addCleanup(lambda: server.process.poll() is None and server.stop(signal.SIGKILL))
        return server

    def fails(self, *flags):
        done = harness.run("serve", *flags, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def collect(self, db, cluster="east", example="deployment-images"):
        done = harness.run("collect", "--config", harness.EXAMPLES / "inventory" / example, "--manifests", harness.EXAMPLES / "dump",
                           "--output", self.folder / "out", "--sqlite", db, "--cluster", cluster)
        self.assertEqual(done.returncode, 0, done.stderr)

    def wait_for(self, what, wanted):
        limit = time.monotonic() + 60
        while (got := what()) != wanted:
            self.assertLess(time.monotonic(), limit, f"{got} is not {wanted}")
            time.sleep(0.05)


class FromSqlite(ServeCase):
    def setUp(self):
        super().setUp()
        self.db = self.folder / "rows.db"
        self.collect(self.db)
        rows = sqlite3.connect(self.db).execute("SELECT payload FROM inventory").fetchall()
        self.rows = [json.loads(row) for row, in rows]

    def test_rows_are_what_was_collected(self):
        server = self.serve("--store", f"sqlite:{self.db}")
        meta = server.get("/v1alpha1/meta")
        self.assertEqual((meta["store"], meta["authMode"], meta["abilities"]["history"]), ("sqlite", "disabled", True))
        page = server.get("/v1alpha1/inventory", limit=5000)
        self.assertEqual(page["pagination"]["total"], len(self.rows))
        uid = lambda row: (row["namespace"], row["name"])
        self.assertEqual(sorted(map(uid, page["items"])), sorted(map(uid, self.rows)))
        self.assertTrue(all(item["cluster"] == "east" and item["exportedAt"] for item in page["items"]))
        by_name = {uid(item): item["attributes"] for item in page["items"]}
        for row in self.rows:
            self.assertEqual(by_name[uid(row)], row["attributes"])
        one = self.rows[0]
        some = server.get("/v1alpha1/inventory", name=one["name"], namespace=one["namespace"])
        self.assertEqual(some["pagination"]["total"], 1)
        self.assertEqual(server.get("/v1alpha1/clusters")["items"][0]["rows"], len(self.rows))
        groups = server.get("/v1alpha1/groups", by="namespace", limit=1000)
        self.assertEqual(sum(group["rows"] for group in groups["items"]), len(self.rows))
        self.assertEqual(len(server.get("/v1alpha1/changes", since="2020-01-01T00:00:00Z", limit=5000)["items"]), len(self.rows))
        status, headers, body = server.ask("/ui/")
        self.assertEqual((status, headers["content-type"].split(";")[0]), (200, "text/html"), body[:100])
        self.assertEqual([server.ask(path)[0] for path in ("/healthz", "/readyz", "/nowhere")], [200, 200, 404])
        # Views are one level deep: deeper down the page would stay empty.
        self.assertEqual([server.ask(path)[0] for path in ("/ui/inventory", "/ui/object/x", "/ui/x/y/", "/ui/x.js")], [200, 404, 404, 404])
        status, headers, _ = server.ask("/ui/inventory/?kind=Deployment")
        self.assertEqual((status, headers["location"]), (302, "../inventory?kind=Deployment"))
        self.assertEqual(server.ask("/v1alpha1/inventory", method="POST")[0], 405)
        self.assertEqual(server.ask("/v1alpha1/status/targets")[0], 501)
        status, headers, first = server.ask("/v1alpha1/inventory?limit=3", Accept_Encoding="gzip")
        self.assertEqual(json.loads(gzip.decompress(first))["itemCount"], 3)
        self.assertEqual(server.ask("/v1alpha1/inventory?limit=3", Accept_Encoding="gzip", If_None_Match=headers["etag"])[0], 304)
        self.assertEqual(server.stop(), 0)

    def test_a_page_of_the_web_cannot_read_it_by_a_name_of_its_own(self):
        for tokens, wanted in ((None, 421), (harness.write(self.folder / "tokens", TOKENS), 200)):
            server = self.serve("--store", f"sqlite:{self.db}", *(["--token-file", tokens] if tokens else []))
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            headers = {"Host": "portal.example"} | ({"Authorization": "Bearer " + TOKENS.split()[1]} if tokens else {})
            connection.request("GET", "/v1alpha1/inventory", headers=headers)
            answer = connection.getresponse()
            self.assertEqual(answer.status, wanted, answer.read())
            connection.close()

    def test_a_later_run_is_seen_and_the_past_stays(self):
        server = self.serve("--store", f"sqlite:{self.db}")
        etag = server.ask("/v1alpha1/inventory")[1]["etag"]
        before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
        time.sleep(1.1)
        self.collect(self.db, example="namespaces")
        self.collect(self.db, cluster="west")
        status, headers, _ = server.ask("/v1alpha1/inventory", If_None_Match=etag)
        self.assertEqual(status, 200)
        self.assertNotEqual(headers["etag"], etag)
        self.assertEqual(sorted(one["cluster"] for one in server.get("/v1alpha1/clusters")["items"]), ["east", "west"])
        self.assertEqual(server.get("/v1alpha1/inventory", at=before, limit=1)["pagination"]["total"], len(self.rows))

    def test_each_token_sees_its_own(self):
        self.collect(self.db, cluster="west")
        everything = server_rows = 2 * len(self.rows)
        target = self.rows[0]["targetNamespace"]
        tokens = harness.write(self.folder / "tokens", TOKENS.replace("cluster-addons", target))
        server = self.serve("--store", f"sqlite:{self.db}", "--token-file", tokens)
        total = lambda token, **query: server.get("/v1alpha1/inventory", token, limit=1, **query).get("pagination", {}).get("total", 0)
        self.assertEqual(total("all-token"), server_rows)
        self.assertEqual(total("team-token"), sum(row["targetNamespace"] == target for row in self.rows) * 2)
        self.assertEqual(total("east-token"), len(self.rows))
        self.assertEqual(total("east-token", cluster="west"), 0)
        self.assertEqual(total("none-token"), 0)
        for path in ("inventories", "clusters", "overview", "groups?by=kind", "changes?since=2020-01-01T00:00:00Z", "history?kind=Deployment&namespace=" + self.rows[0]["namespace"] +
                     "&name=" + self.rows[0]["name"] + "&group=apps"):
            body = server.ask(f"/v1alpha1/{path}", "east-token")[2].decode()
            self.assertNotIn("west", body, path)
            self.assertNotIn(self.rows[0]["name"], server.ask(f"/v1alpha1/{path}", "none-token")[2].decode(), path)
        self.assertEqual([server.ask("/v1alpha1/inventory", token)[0] for token in (None, "wrong", "all-toke")], [401, 401, 401])
        self.assertEqual(server.ask("/openapi/v1alpha1/inventory.json")[0], 200)
        # Taken over while it runs; a broken file changes nothing.
        harness.write(tokens, "auditor new-token\n")
        self.wait_for(lambda: server.ask("/v1alpha1/inventory", "new-token")[0], 200)
        self.assertEqual(server.ask("/v1alpha1/inventory", "all-token")[0], 401)
        harness.write(tokens, "auditor\n")
        self.wait_for(lambda: "line 1" in server.log.read_text(), True)
        self.assertEqual(total("new-token"), everything)
        self.assertNotIn("new-token", server.log.read_text())

    def test_a_file_that_goes_and_comes_back(self):
        server = self.serve("--store", f"sqlite:{self.db}")
        self.assertEqual(server.ask("/readyz")[0], 200)
        other = self.folder / "other.db"
        os.rename(self.db, other)
        status, _, body = server.ask("/v1alpha1/inventory")
        self.assertEqual(status, 503, body)
        self.assertIn("error", json.loads(body))
        self.assertEqual(server.ask("/readyz")[0], 503)
        os.rename(other, self.db)
        self.assertEqual(server.get("/v1alpha1/inventory")["pagination"]["total"], len(self.rows))
        # Another file under the same name.
        self.collect(other, example="namespaces")
        os.replace(other, self.db)
        kinds = {item["kind"] for item in server.get("/v1alpha1/inventory")["items"]}
        self.assertEqual(kinds, {"Namespace"})

    def test_indexes_change_no_answer(self):
        server = self.serve("--store", f"sqlite:{self.db}")
        paths = [f"/v1alpha1/inventory?{query}" for query in
                 ("", "sort=name", "sort=-name&limit=3", "sort=attributes.replicas", "sort=-exportedAt&offset=2", "q=e", "kind=Deployment&offset=3&limit=2")]
        items = lambda: [json.loads(server.ask(path)[2])["items"] for path in paths]
        before = items()
        printed = harness.run("serve", "--store", f"sqlite:{self.db}", "--print-indexes", "--index-attributes", "replicas,images")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        made = harness.run("serve", "--store", f"sqlite:{self.db}", "--create-indexes", "--index-attributes", "replicas,images")
        self.assertEqual(made.returncode, 0, made.stderr)
        names = {name for name, in sqlite3.connect(self.db).execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        self.assertLessEqual({"inventory_by_place", "inventory_by_name", "inventory_by_attribute_replicas"}, names)
        sqlite3.connect(self.db).executescript(printed.stdout)
        self.assertEqual(items(), before)
        self.collect(self.db)  # the sink goes on with them
        self.assertEqual(server.get("/v1alpha1/inventory")["pagination"]["total"], len(self.rows))

    def test_tls(self):
        for name in "ab":
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.folder / f"{name}.key",
                            "-out", self.folder / f"{name}.crt", "-subj", f"/CN={name}"], check=True, capture_output=True)
        cert, key = shutil.copy(self.folder / "a.crt", self.folder / "tls.crt"), shutil.copy(self.folder / "a.key", self.folder / "tls.key")
        server = self.serve("--store", f"sqlite:{self.db}", "--tls-cert", cert, "--tls-key", key)
        seen = lambda: ssl.get_server_certificate(("127.0.0.1", server.port))
        self.assertEqual(seen().strip(), (self.folder / "a.crt").read_text().strip())
        self.assertEqual(server.ask("/healthz")[0], 200)
        shutil.copy(self.folder / "b.key", key)
        shutil.copy(self.folder / "b.crt", cert)
        self.wait_for(lambda: seen().strip(), (self.folder / "b.crt").read_text().strip())

    def test_nothing_is_left_in_shared_memory(self):
        # A file there would outlive a process that is killed.
        server = self.serve("--store", f"sqlite:{self.db}")
        maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
        self.assertIn("/kollect", maps)
        self.assertEqual([line for line in maps.splitlines() if "/dev/shm" in line], [])

    def test_what_cannot_start_says_why(self):
        store = f"sqlite:{self.db}"
        self.assertIn("there is no file", self.fails("--store", f"sqlite:{self.folder}/nowhere.db"))
        self.assertFalse((self.folder / "nowhere.db").exists())
        self.assertIn("has no table other", self.fails("--store", store, "--table", "other"))
        self.assertIn("is no SQLite database", self.fails("--store", f"sqlite:{harness.write(self.folder / 'text', 'just a text' * 200)}"))
        self.assertIn("--token-file", self.fails("--store", store, "--listen", "0.0.0.0:0"))
        self.assertIn("--store is missing", self.fails())
        self.assertIn("there is no file", self.fails("--store", f"sqlite:{self.folder}/nowhere.db", "--create-indexes"))
        missing = self.fails("--store", "postgres://user:SECRET@127.0.0.1:1/db")
        self.assertNotIn("SECRET", missing)
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        self.assertIn("in use", self.fails("--store", store, "--listen", f"127.0.0.1:{taken.getsockname()[1]}"))
        self.assertIn("line 1", self.fails("--store", store, "--token-file", harness.write(self.folder / "t", "x\n")))


class FleetBehind(ServeCase):
    def test_only_reading_goes_through_and_no_header_of_the_client(self):
        seen = []

        class Fleet(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.path, dict(self.headers)))
                body = b'[{"id":"oslo"}]'
                self.send_response(401 if self.path.startswith("/drift") else 200)
                for name, value in {"Content-Type": "application/json", "ETag": '"7"', "Set-Cookie": "a=b", "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fleet)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        self.addCleanup(upstream.server_close)
        db = self.folder / "rows.db"
        self.collect(db)
        token = harness.write(self.folder / "fleet-token", "fleet-secret\n")
        tokens = harness.write(self.folder / "tokens", TOKENS)
        server = self.serve("--store", f"sqlite:{db}", "--token-file", tokens, "--fleet-url", f"http://127.0.0.1:{upstream.server_port}", "--fleet-token-file", token)
        status, headers, body = server.ask("/fleet/clusters?limit=2", "all-token", Accept="application/json", Cookie="c=d", X_Odd="1")
        self.assertEqual((status, json.loads(body)), (200, [{"id": "oslo"}]))
        self.assertNotIn("set-cookie", headers)
        path, sent = seen.pop()
        sent = {name.lower(): value for name, value in sent.items()}
        self.assertEqual((path, sent["authorization"], sent["accept"]), ("/clusters?limit=2", "Bearer fleet-secret", "application/json"))
        self.assertFalse({"cookie", "x-odd"} & set(sent))
        self.assertEqual(server.ask("/fleet/clusters", "team-token")[0], 403)
        self.assertEqual(server.ask("/fleet/clusters")[0], 401)
        self.assertEqual(server.ask("/fleet/metrics", "all-token")[0], 404)
        self.assertEqual(server.ask("/fleet/clusters/%2e%2e/metrics", "all-token")[0], 404)
        self.assertEqual(server.ask("/fleet/clusters", "all-token", method="POST")[0], 405)
        self.assertEqual(seen, [])
        self.assertEqual(server.ask("/fleet/drift", "all-token")[0], 502)
        upstream.shutdown()
        upstream.server_close()
        self.assertEqual(server.ask("/fleet/clusters", "all-token")[0], 502)
        without = self.serve("--store", f"sqlite:{db}")
        self.assertEqual(without.ask("/fleet/clusters")[0], 404)


if __name__ == "__main__":
    harness.main()
