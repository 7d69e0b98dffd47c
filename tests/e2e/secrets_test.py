#!/usr/bin/env python3
"""A token that a Git server echoes in every way is told nowhere by the operator (field-credentials-in-git-errors)."""
import base64
import http.server
import json
import pathlib
import threading
import urllib.parse

import harness
import manifests as m
import operator_test as op
from sandbox import Sandbox

USER = "ci-user"
TOKEN = "pl@in/To:ken+with%odd&chars"
BASIC = base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()
FORMS = (TOKEN, urllib.parse.quote(TOKEN, safe=""), urllib.parse.quote(TOKEN), BASIC, base64.b64encode(TOKEN.encode()).decode())
NS = "ops"
KINDS = ("kollectprofiles", "kollecttargets", "kollectsnapshotsinks", "kollectinventories")


def manifests(port):
    return (m.namespace(NS) + m.secret(NS, "git-token", username=USER, token=TOKEN) + m.document("ConfigMap", NS, "a", api="v1", data={"v": "1"})
            + m.profile(NS, "maps", "ConfigMap", {"name": "v", "path": "$.data.v", "optional": True})
            + m.target(NS, "maps", "maps", includedNamespaces=[NS])
            + m.git_sink(NS, f"http://{USER}@127.0.0.1:{port}/org/inventory.git", secretRef={"name": "git-token"})
            + m.inventory(NS, snapshotSinkRefs=["git"]))


def packet(text):
    return f"{len(text) + 4:04x}{text}".encode()


class GitServer(http.server.ThreadingHTTPServer):
    """Denies with the token in the body; with `sideband` it takes the push and refuses it, saying the token as "remote:"."""

    def __init__(self, sideband):
        super().__init__(("127.0.0.1", 0), Handler)
        self.sideband = sideband
        self.with_token = 0
        self.leaks = []
        self.programs = 0  # git programs that were looked at while they talked to us
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def look_at_processes(self):
        for process in pathlib.Path("/proc").iterdir():
            try:
                command, environment = ((process / name).read_bytes() for name in ("cmdline", "environ"))
            except OSError:
                continue
            self.leaks += [str(process) for form in FORMS if form.encode() in command + environment]
            if command.split(b"\0")[0].rpartition(b"/")[2].startswith(b"git"):
                self.programs += 1
                self.leaks += [f"{process}: trace variables were passed on"] * (b"GIT_TRACE" in environment or b"GIT_CURL" in environment)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, code, body, content="text/plain", **headers):
        self.send_response(code)
        for name, value in {"Content-Type": content, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        self.server.look_at_processes()
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        authorization = self.headers.get("Authorization")
        if authorization is None:
            return self.answer(401, b"who are you?", WWW_Authenticate='Basic realm="git"')
        self.server.with_token += authorization == "Basic " + BASIC
        told = f"denied for {TOKEN} and {BASIC} and {urllib.parse.quote(TOKEN, safe='')}\n"
        if not self.server.sideband:
            return self.answer(403, told.encode())
        service = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("service", [""])[0]
        if service:
            head = packet(f"# service={service}\n") + b"0000"
            refs = packet("0" * 40 + " capabilities^{}\0report-status side-band-64k ofs-delta agent=git/2\n") + b"0000"
            return self.answer(200, head + refs, f"application/x-{service}-advertisement")
        if body == b"0000":  # a first, empty request tries the credentials
            return self.answer(200, b"", "application/x-git-receive-pack-result")
        report = packet("unpack ok\n") + packet("ng refs/heads/main " + told) + b"0000"
        sideband = packet("\2" + told) + packet("\1" + report.decode()) + b"0000"
        return self.answer(200, sideband, "application/x-git-receive-pack-result")

    do_GET = do_POST = handle_one


class Secrets(op.Scenario):
    def setUp(self):
        super().setUp()
        self.sandbox = None

    def tearDown(self):
        super().tearDown()
        if self.sandbox:
            self.sandbox.stop()

    def told(self):
        """What anybody can read of the operator: status, events."""
        parts = []
        for kind in KINDS:
            parts.append(self.sandbox.call("GET", f"/apis/kollect.dev/v1alpha1/namespaces/{NS}/{kind}"))
        for path in ("/api/v1/events", "/apis/events.k8s.io/v1/events"):
            status, answer = self.sandbox.ask("GET", path)
            if status == 200:
                parts.append(answer)
        return json.dumps(parts, ensure_ascii=False)

    def conditions(self, kind, name):
        found = self.sandbox.call("GET", f"/apis/kollect.dev/v1alpha1/namespaces/{NS}/{kind}/{name}").get("status", {})
        texts = [c.get("message", "") for c in found.get("conditions", [])]
        return "\n".join(texts + [e.get("lastError", "") + e.get("message", "") for e in found.get("sinkExports", [])])

    def run_against(self, sideband, word):
        server = GitServer(sideband)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        port = server.server_address[1]
        self.sandbox = Sandbox(pathlib.Path(self.folder), manifests(port))
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        for name in ("GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_TRACE_CURL"):
            op.ENVIRONMENT[name] = "1"
            self.addCleanup(op.ENVIRONMENT.pop, name)
        operator = self.operator()
        op.until("the inventory tells why", lambda: word in self.conditions("kollectinventories", "all"))
        op.until("the token was used", lambda: server.with_token > 0)
        message = self.conditions("kollectinventories", "all")
        log = operator.text()
        # nowhere
        for form in FORMS:
            self.assertNotIn(form, log)
            self.assertNotIn(form, self.told())
        # env, and nowhere in /proc
        self.assertEqual(server.leaks, [])
        self.assertGreater(server.programs, 0)
        self.assertNotIn("GIT_TRACE", log)
        self.assertNotIn("trace: ", log)
        return f"127.0.0.1:{port}", message

    def test_denied(self):
        host, message = self.run_against(False, "403")
        for useful in (host, "/org/inventory.git", "HTTP 403", "git-token"):
            self.assertIn(useful, message)

    def test_refused_by_a_server_that_echoes(self):
        host, message = self.run_against(True, "denied for")
        for useful in (host, "/org/inventory.git"):
            self.assertIn(useful, message)


if __name__ == "__main__":
    harness.main()
