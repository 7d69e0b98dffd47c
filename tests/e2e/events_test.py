#!/usr/bin/env python3
"""Event sinks of type nats in a running operator: what a consumer makes of the messages is what the cluster holds, under change, with the
server killed, with the operator killed and objects deleted meanwhile. On the sandbox with a real nats-server."""
import base64
import json
import pathlib
import random
import socket
import ssl

import harness
import operator_test as op
from manifests import document, inventory, namespace, profile, secret, target
from sandbox import Sandbox

API = "/apis/kollect.dev/v1alpha1/namespaces/shop/"
MAPS = "/api/v1/namespaces/shop/configmaps"
NATS = {}


def setUpModule():
    NATS.update(op.exports(op.server("nats.sh", "start", TLS="1")))


def tearDownModule():
    op.server("nats.sh", "stop")


class Stream:
    """Reads a stream of JetStream, one message after the other, by nothing but the protocol."""

    def __init__(self, name):
        self.name = name
        self.next = 1
        host, port = NATS["NATS_HOST"].split(":")
        plain = socket.create_connection((host, int(port)), timeout=op.LIMIT)
        plain.recv(65536)  # INFO
        self.socket = ssl.create_default_context(cafile=NATS["NATS_CA"]).wrap_socket(plain, server_hostname="localhost")
        self.file = self.socket.makefile("rb")
        login = {"user": NATS["NATS_USER"], "pass": NATS["NATS_PASSWORD"], "headers": True, "no_responders": True, "verbose": False}
        self.socket.sendall(f"CONNECT {json.dumps(login)}\r\nSUB answers 1\r\n".encode())

    def ask(self, subject, body):
        data = json.dumps(body).encode()
        self.socket.sendall(f"PUB {subject} answers {len(data)}\r\n".encode() + data + b"\r\n")
        while True:
            words = self.file.readline().split()
            if not words:
                raise ConnectionError("the server has closed the connection")
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                content = self.file.read(int(words[-1]) + 2)
                return json.loads(content[int(words[-2]) if words[0] == b"HMSG" else 0:] or b"{}")

    def news(self):
        """(subject, headers, body) of each message that was not read before."""
        while "message" in (answer := self.ask(f"$JS.API.STREAM.MSG.GET.{self.name}", {"seq": self.next})):
            self.next += 1
            message = answer["message"]
            lines = base64.b64decode(message.get("hdrs", "")).decode().split("\r\n")[1:]
            yield message["subject"], dict(line.split(": ", 1) for line in lines if line), json.loads(base64.b64decode(message["data"]))

    def close(self):
        self.file.close()
        self.socket.close()


class Consumer:
    """As docs/events.md tells."""

    def __init__(self):
        self.rows, self.seen, self.types = {}, None, []

    def take(self, subject, headers, event):
        kind = event["type"]
        assert subject.endswith("." + kind) and headers["Kollect-Type"] == kind, (subject, headers)
        self.follow(event)

    def follow(self, event):
        kind = event["type"]
        self.types.append(kind)
        if kind in ("snapshot", "partial-snapshot"):
            self.seen = set()
        elif kind.endswith("-end") and self.seen is None:
            pass  # a broker may repeat the end of a bracket alone
        elif kind == "snapshot-end":
            self.rows = {key: row for key, row in self.rows.items() if key in self.seen}
            self.seen = None
        elif kind == "partial-snapshot-end":
            kept = set(event.get("keepTargets", []))
            self.rows = {key: row for key, row in self.rows.items() if key in self.seen or f"{key[0]}/{key[1]}" in kept}
            self.seen = None
        else:
            row = event["row"]
            key = (row["targetNamespace"], row["targetName"], row["uid"])
            if kind == "delete":
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
                if self.seen is not None:
                    self.seen.add(key)

    def values(self):
        return {row["name"]: row["attributes"]["v"] for row in self.rows.values()}


def nats_sink(name, subject, stream, **options):
    ca = pathlib.Path(NATS["NATS_CA"]).read_text(encoding="utf-8")
    return (secret("shop", name, username=NATS["NATS_USER"], password=NATS["NATS_PASSWORD"] + "\n")
            + secret("shop", name + "-ca", **{"ca.crt": ca})
            + document("KollectEventSink", "shop", name, {
                "type": "nats", "cluster": "pier-7", "secretRef": {"name": name}, "tls": {"caSecretRef": {"name": name + "-ca"}},
                "nats": {"url": NATS["NATS_URL"], "subject": subject, "stream": stream}, "options": options}))


class Events(op.Scenario):
    def begin(self, manifests):
        self.sandbox = Sandbox(self.folder, namespace("shop") + profile("shop", "maps", "ConfigMap", {"name": "v", "path": "$.data.v"})
                               + target("shop", "maps", "maps", includedNamespaces=["shop"]) + manifests)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.truth = {}
        return self.operator()

    def put(self, name, value):
        body = {"metadata": {"name": name}, "data": {"v": value}}
        if name in self.truth:
            self.sandbox.patch(f"{MAPS}/{name}", data={"v": value})
        else:
            self.sandbox.call("POST", MAPS, body)
        self.truth[name] = value

    def drop(self, name):
        self.sandbox.call("DELETE", f"{MAPS}/{name}")
        del self.truth[name]

    def told(self, path):
        status = self.sandbox.call("GET", API + path).get("status", {})
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in status.get("conditions", [])}

    def follow(self, consumer):
        stream = Stream("changes")
        try:
            for message in stream_from(stream, consumer):
                consumer.take(*message)
        finally:
            stream.close()
        return consumer.values()

    def settled(self, what, consumer):
        def same():
            try:
                return self.follow(consumer) == self.truth
            except OSError:
                return False
        op.until(what, same)

    def test_a_consumer_of_changes_has_what_the_cluster_has(self):
        operator = self.begin(
            nats_sink("bus", "kollect.{cluster}.{namespace}.{name}", "changes", events="changes")
            + inventory("shop", eventSinkRefs=[{"name": "bus"}], exportMinInterval="1s")
            + document("KollectConnectionTest", "shop", "bus", {"sinkRef": {"eventSinkRef": "bus"}}))
        chance = random.Random(20261128)
        consumer = Consumer()
        for i in range(30):
            self.put(f"map-{i}", "0")
        self.settled("the first rows", consumer)
        op.until("a probe that passed", lambda: self.told("kollecteventsinks/bus") == {"ConnectionVerified": "True/ConnectionOK"})
        op.until("a test that passed", lambda: self.told("kollectconnectiontests/bus").get("Ready") == "True/ProbeSucceeded")
        for cycle in range(3):
            for step in range(40):
                name = f"map-{chance.randrange(60)}"
                if name in self.truth and chance.random() < 0.3:
                    self.drop(name)
                else:
                    self.put(name, f"{cycle}-{step}")
                if cycle == 1 and step == 10:
                    op.server("nats.sh", "kill")
                if cycle == 1 and step == 30:
                    op.server("nats.sh", "start")
                if cycle == 2 and step == 10:
                    operator.kill()
                if cycle == 2 and step == 30:
                    operator = self.operator()
            self.settled(f"cycle {cycle}", consumer)
        # One bracket for each start of the operator, none for the server's death, none for refreshes.
        self.assertEqual(consumer.types.count("snapshot-end"), 2, consumer.types)
        # A deleted inventory is gone for consumers too.
        path = API + "kollectinventories/all"
        self.sandbox.call("DELETE", path)
        op.until("it has gone", lambda: self.sandbox.ask("GET", path)[0] == 404)
        self.truth = {}
        self.settled("nothing is left", consumer)
        self.assertEqual(operator.stop(), 0)

    def test_documents_are_sent_when_something_is_new(self):
        operator = self.begin(nats_sink("docs", "documents.{name}", "documents")
                              + inventory("shop", eventSinkRefs=[{"name": "docs"}], exportMinInterval="1s"))
        stream = None
        last = {}

        def arrived():
            nonlocal stream, last
            if stream is None:
                stream = Stream("documents")
            for subject, headers, body in stream.news():
                self.assertEqual(subject, "documents.all")
                self.assertEqual(headers["Kollect-Cluster"], "pier-7")
                self.assertEqual((body["cluster"], body["payload"]["cluster"], body["namespace"]), ("pier-7", "pier-7", "shop"))
                last = {row["name"]: row["attributes"]["v"] for row in body["payload"]["items"]}
            return last == self.truth and stream.next > 1
        op.until("the empty set is announced", arrived)
        self.addCleanup(stream.close)
        for i in range(5):
            self.put(f"map-{i}", str(i))
        op.until("the rows", arrived)
        sent = stream.next
        status = self.sandbox.call("GET", API + "kollectinventories/all")["status"]
        # Refreshes send nothing.
        def refreshed():
            now = self.sandbox.call("GET", API + "kollectinventories/all")["status"]
            return operator.text().count('"why":"refresh"') >= 2 and now
        op.until("two refreshes", refreshed)
        self.assertTrue(arrived())
        self.assertEqual(stream.next, sent, status)
        self.drop("map-3")
        op.until("one less", arrived)
        self.assertEqual(operator.stop(), 0)

    def test_a_document_says_what_cannot_be_read(self):
        """runtime X-9: a target whose kind is not served holds nobody back, and its rows are not taken for gone."""
        operator = self.begin(profile("shop", "dark", "Lamp", {"name": "v", "path": "$.v"}, group="nowhere.example")
                              + target("shop", "dark", "dark", includedNamespaces=["shop"])
                              + nats_sink("docs", "incomplete.{name}", "incomplete")
                              + inventory("shop", eventSinkRefs=[{"name": "docs"}], exportMinInterval="1s"))
        self.put("map-1", "1")
        stream = None
        last = {}

        def arrived(incomplete):
            nonlocal stream
            try:
                stream = stream or Stream("incomplete")
            except OSError:
                return False
            for _, headers, body in stream.news():
                last.update(rows={row["name"] for row in body["payload"]["items"]}, incomplete=body.get("incomplete"))
                self.assertEqual(headers.get("Kollect-Incomplete"), "true" if last["incomplete"] else None)
            return last == {"rows": set(self.truth), "incomplete": incomplete}

        op.until("the rows of the other target", lambda: arrived({"keepTargets": ["shop/dark"]}))
        self.addCleanup(stream.close)
        op.until("a warning", lambda: "dark cannot be read" in json.dumps(self.sandbox.call("GET", API + "kollectinventories/all")))
        self.sandbox.call("DELETE", API + "kollecttargets/dark")
        op.until("all of it", lambda: arrived(None))
        op.until("no warning", lambda: "cannot be read" not in json.dumps(self.sandbox.call("GET", API + "kollectinventories/all")))
        self.assertEqual(operator.stop(), 0)

    def test_a_wrong_password_is_told_and_nothing_of_it(self):
        wrong = nats_sink("bus", "kollect.wrong", "wrong").replace(
            secret("shop", "bus", username=NATS["NATS_USER"], password=NATS["NATS_PASSWORD"] + "\n"),
            secret("shop", "bus", username=NATS["NATS_USER"], password="wrong-password-77"))
        self.begin(wrong)
        op.until("it is told", lambda: self.told("kollecteventsinks/bus").get("ConnectionVerified") == "False/ConnectionTestFailed")
        sink = json.dumps(self.sandbox.call("GET", API + "kollecteventsinks/bus"))
        self.assertIn("refuses the credentials", sink)
        self.assertNotIn("wrong-password-77", sink + self.operators[-1].text())
        probed = op.subprocess.run([harness.KOLLECT, "probe", "-f", "-", "--allow-private-sinks"], input=wrong, capture_output=True, text=True,
                                   check=False)
        self.assertNotEqual(probed.returncode, 0)
        self.assertIn("loopback", probed.stdout + probed.stderr)


def stream_from(stream, consumer):
    """News of the stream that this consumer has not had."""
    stream.next = getattr(consumer, "next", 1)
    for message in stream.news():
        yield message
        consumer.next = stream.next


if __name__ == "__main__":
    harness.main()
