#!/usr/bin/env python3
"""Who may call `kollect fleet serve`: named tokens, roles, tokens of one cluster, a tokens file that changes under the server."""
import base64
import json
import time
import unittest

import harness
from fleet_test import Server

POLL = "/api/v2/flux/clusters/{}.harbour.test/namespaces"
CHANGE = {"labels": {"a": "b"}}


def bearer(token):
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


class Tokens(harness.Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "tokens.yaml"
        self.entries = []
        self.server = None
        self.addCleanup(lambda: self.server and self.server.process.poll() is None and self.server.stop())

    def token(self, *args):
        """A new token, which the tokens file knows from now on."""
        made = harness.run("fleet", "token", "new", *args)
        self.assertEqual(made.returncode, 0, made.stderr)
        made = json.loads(made.stdout)
        self.assertNotIn(made["token"], json.dumps(made["entry"]))
        self.entries.append(made["entry"])
        self.save()
        return made["token"]

    def save(self):
        self.file.write_text(json.dumps({"tokens": self.entries}), encoding="utf-8")

    def start(self, **settings):
        self.server = Server(self.folder, "sqlite", "harbour.json", TOKENS_FILE=str(self.file), **settings)

    def status(self, method, path, token, body=None):
        return self.server.ask(method, path, body, bearer(token))[0]

    def becomes(self, token, wanted):
        """Within a second; more is given to a busy machine."""
        began = time.monotonic()
        while self.status("GET", POLL.format("cork-dev"), token) != wanted:
            self.assertLess(time.monotonic() - began, 20)
            time.sleep(0.05)

    def test_roles(self):
        tokens = {role: self.token(f"my-{role}", "--role", role) for role in ("reader", "writer", "auditor")}
        tokens["all"] = self.token("boss", *(arg for role in ("reader", "writer", "auditor") for arg in ("--role", role)))
        tokens["cork"] = self.token("cork", "--role", "reader", "--cluster-dns", "cork-dev.harbour.test")
        tokens.update(plain="read-token", plain_writer="write-token", nobody="x")
        self.start()
        calls = {("GET", POLL.format("cork-dev")): ("reader", "all", "plain", "cork"), ("GET", POLL.format("oslo-prod")): ("reader", "all", "plain"),
                 ("GET", POLL.format("unknown")): ("reader", "all", "plain"),
                 ("GET", "/api/v2/flux/clusters"): ("reader", "all", "plain"), ("GET", "/clusters"): ("reader", "all", "plain"),
                 ("GET", "/tombstones"): ("reader", "all", "plain"), ("GET", "/audit"): ("auditor", "all"), ("HEAD", "/audit"): ("auditor", "all"),
                 ("PUT", "/clusters/cork-dev"): ("writer", "all", "plain_writer"), ("GET", "/no/path"): ("reader", "all", "plain")}
        for (method, path), allowed in calls.items():
            for name, token in tokens.items():
                status = self.status(method, path, token, {"node_count": 3} if method == "PUT" else None)
                good = 404 if "unknown" in path or path == "/no/path" else 200
                self.assertEqual(status, good if name in allowed else 401 if name == "nobody" else 403, (method, path, name))
        self.assertEqual(self.status("GET", "/health", "x"), 200)
        self.assertEqual(self.status("GET", "/api/v2/flux/clusters/cork-dev.harbour.test/%6eamespaces", tokens["cork"]), 200)
        self.assertEqual({one["actor"] for one in json.loads(self.server.ask("GET", "/audit", headers=bearer(tokens["all"]))[2])["entries"]}, {"my-writer"})

    def test_basic(self):
        token = self.token("eu", "--role", "reader")
        self.start()
        for user in ("eu", "anybody", ""):
            header = "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()
            self.assertEqual(self.server.ask("GET", "/clusters", headers={"Authorization": header})[0], 200)
        self.assertEqual(self.server.ask("GET", "/clusters", headers={"Authorization": "Basic " + base64.b64encode(token.encode()).decode()})[0], 401)

    def test_the_file_changes_under_the_server(self):
        old = self.token("ci", "--role", "reader")
        self.start(AUTH_TOKEN=None, CRUD_AUTH_TOKEN=None)
        self.assertEqual(self.status("GET", "/clusters", old), 200)
        new = self.token("ci", "--role", "reader")
        self.becomes(new, 200)
        self.assertEqual(self.status("GET", "/clusters", old), 200, "both while one is replaced")
        self.file.write_text('{"tokens": [', encoding="utf-8")
        while "of no use" not in self.server.log.read_text(encoding="utf-8"):
            time.sleep(0.05)
        self.assertEqual([self.status("GET", "/clusters", token) for token in (old, new)], [200, 200], "a broken file changes nothing")
        del self.entries[0]
        self.save()
        self.becomes(old, 401)
        self.assertEqual(self.status("GET", "/clusters", new), 200)

    def test_refusals_are_told_without_secrets(self):
        token = self.token("ci", "--role", "writer")
        self.start()
        wanted = [("PUT", "/clusters/cork-dev?x=query-secret", "wrong-token", {"node_count": 1}, 401, ""),
                  ("GET", "/clusters", token, None, 403, "ci"), ("GET", "/clusters", "wrong-token", None, 401, ""),
                  ("PUT", "/clusters/cork-dev", token, {"node_count": "body-secret"}, 422, "ci"),
                  ("PUT", "/clusters/nobody", token, {}, 404, "ci"),
                  ("POST", "/namespaces", token, {"id": " "}, 400, "ci"), ("PATCH", "/clusters", token, {}, 405, "ci"),
                  ("POST", "/clusters", token, {"id": "cork-dev", "cluster_name": "c", "cluster_dns": "c", "environment": "dev", "platform_components": []},
                   409, "ci")]
        for method, path, secret, body, status, _ in wanted:
            self.assertEqual(self.status(method, path, secret, body), status, (method, path))
        self.assertEqual(self.server.ask("DELETE", "/clusters/cork-dev", headers={**bearer(token), "If-Match": '"99"'})[0], 412)
        wanted.append(("DELETE", "/clusters/cork-dev", None, None, 412, "ci"))
        self.assertEqual(self.status("GET", "/clusters/nobody", "read-token"), 404, "a read that finds nothing is no attempt")
        self.assertEqual(self.server.stop(), 0)
        text = self.server.log.read_text(encoding="utf-8")
        lines = [line for line in map(json.loads, text.splitlines()) if line["msg"] == "refused"]
        self.assertEqual([(line["method"], line["path"], int(line["status"]), line["actor"]) for line in lines],
                         [(method, path.split("?")[0], status, actor) for method, path, _, _, status, actor in wanted])
        self.assertTrue(all(line["source"].startswith("127.0.0.1:") for line in lines))
        for secret in (token, "wrong-token", "body-secret", "query-secret", "read-token"):
            self.assertNotIn(secret, text)

    def test_a_start_needs_tokens(self):
        for settings, text in (({}, "AUTH_TOKEN"), ({"TOKENS_FILE": "/none"}, "TOKENS_FILE"), ({"TOKENS_FILE": __file__}, "TOKENS_FILE")):
            ended = harness.run("fleet", "serve", env=harness.environment(STORE_BACKEND="memory", SEED_FILE="/none", **settings))
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(text, ended.stderr)
        wrong = harness.run("fleet", "token", "new", "x", "--role", "writer", "--cluster-dns", "y")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("reader", wrong.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
