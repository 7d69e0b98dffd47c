#!/usr/bin/env python3
"""Probes of sinks and KollectConnectionTest in a running operator, on the sandbox with a PostgreSQL and Git over https."""
import base64
import pathlib
import socket

import harness
import operator_test as op
from manifests import document, inventory, namespace, postgres_sink, secret
from sandbox import Sandbox

API = "/apis/kollect.dev/v1alpha1/namespaces/shop/"
SECRETS = "/api/v1/namespaces/shop/secrets"
GOOD = {"ConnectionVerified": "True/ConnectionOK"}
PASSED = {**GOOD, "Ready": "True/ProbeSucceeded"}


def bad(reason):
    return {"ConnectionVerified": f"False/{reason}", "Degraded": f"True/{reason}"}


def failed(reason):
    return {"ConnectionVerified": f"False/{reason}", "Ready": f"False/{reason}"}


def setUpModule():
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    op.GIT.update(op.exports(op.server("git.sh", "start")))


def tearDownModule():
    for script in ("postgres.sh", "git.sh"):
        op.server(script, "stop")


def git_sink(name, repo, **spec):
    return document("KollectSnapshotSink", "shop", name,
                    {"type": "git", "endpoint": f"{op.GIT['GIT_HTTPS_URL']}/{repo}.git", "secretRef": {"name": name}, **spec})


def connection_test(name, family, sink, **spec):
    return document("KollectConnectionTest", "shop", name, {"sinkRef": {f"{family}SinkRef": sink}, **spec})


class Connections(op.Scenario):
    def begin(self, manifests):
        self.sandbox = Sandbox(self.folder, namespace("shop") + manifests)
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        return self.operator()

    def status_of(self, path):
        return self.sandbox.call("GET", API + path).get("status", {})

    def told(self, path):
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in self.status_of(path).get("conditions", [])}

    def expect(self, path, told):
        op.until(f"{path}: {told}", lambda: self.told(path) == told)

    def message(self, path):
        return next(c["message"] for c in self.status_of(path)["conditions"] if c["type"] == "ConnectionVerified")

    def request(self, path, when):
        self.sandbox.patch(API + path, metadata={"annotations": {"kollect.dev/requestedAt": when}})

    def preview(self, path, wanted):
        """What status.preview shows while the annotation stands, which is taken back then."""
        self.sandbox.patch(API + path, metadata={"annotations": {"kollect.dev/preview": "true"}})
        op.until("a preview", lambda: "preview" in self.status_of(path))
        shown = self.status_of(path)["preview"]
        self.sandbox.patch(API + path, metadata={"annotations": {"kollect.dev/preview": None}})
        op.until("it has gone", lambda: "preview" not in self.status_of(path))
        self.assertEqual(shown["inputSampleSource"], "synthetic")
        self.assertRegex(shown["renderedAt"], r"^20.*Z$")
        return shown[wanted]

    def reasons_of_events(self, name):
        events = self.sandbox.call("GET", "/api/v1/namespaces/shop/events")["items"]
        return [e["reason"] for e in events if e["involvedObject"]["name"] == name]

    def test_a_database(self):
        wrong = op.dsn().replace(op.PG["PGPASSWORD"], "wrong-password-77")
        nobody = f"postgresql://u:p@127.0.0.1:{harness.free_port()}/d"
        late = document("KollectDatabaseSink", "shop", "late", {"type": "postgres", "postgres": {"databaseRef": {"name": "late"}, "table": "rows"}})
        self.begin(postgres_sink("shop", op.dsn(), "rows", "up") + postgres_sink("shop", nobody, "rows", "down")
                   + postgres_sink("shop", wrong, "rows", "wrong") + late + inventory("shop", databaseSinkRefs=[{"name": "down"}])
                   + inventory("shop", "leaves", databaseSinkRefs=[{"name": "down"}])
                   + "".join(connection_test(name, "database", name) for name in ("up", "down", "wrong", "late", "nowhere")))
        sinks, tests = "kollectdatabasesinks/", "kollectconnectiontests/"
        self.expect(sinks + "up", GOOD)
        self.expect(tests + "up", PASSED)
        status = self.status_of(tests + "up")
        self.assertTrue(status["completed"] and status["observedGeneration"] == 1 and status["latencyMs"] >= 0 and status["completedAt"], status)
        owner, = self.sandbox.call("GET", API + tests + "up")["metadata"]["ownerReferences"]
        self.assertEqual((owner["kind"], owner["name"], owner["controller"]), ("KollectDatabaseSink", "up", True))
        self.assertIn('CREATE TABLE IF NOT EXISTS "public"."rows"', self.preview(sinks + "up", "postgres")["expectedDDL"])
        self.assertEqual(self.told(sinks + "up"), GOOD)
        for name in ("down", "wrong"):
            self.expect(sinks + name, bad("ConnectionTestFailed"))
            self.expect(tests + name, failed("ConnectionTestFailed"))
            self.assertNotIn("wrong-password-77", self.message(sinks + name) + self.message(tests + name))
            self.assertEqual(self.reasons_of_events(name), ["ConnectionTestFailed"])
        self.assertIn("; check Secret shop/wrong (key dsn)", self.message(sinks + "wrong"))
        self.expect(sinks + "late", bad("SecretResolveFailed"))
        self.expect(tests + "late", failed("SecretResolveFailed"))
        self.expect(tests + "nowhere", failed("SinkNotFound"))
        # An inventory sees what its sink is good for, and that it has come right.
        op.until("the sink is known to be broken", lambda: self.told("kollectinventories/all").get("SinkReachable") == "False/SinkUnreachable")
        # One that is deleted meanwhile cleans up when that is possible.
        leaves = API + "kollectinventories/leaves"
        self.sandbox.call("DELETE", leaves)
        op.until("it tries", lambda: "connect" in self.operators[-1].text().split('"object":"shop/leaves"')[-1].split("\n")[0])
        self.assertIn("deletionTimestamp", self.sandbox.call("GET", leaves)["metadata"])
        good = base64.b64encode(op.dsn().encode()).decode()
        self.sandbox.patch(SECRETS + "/down", data={"dsn": good})
        self.expect(sinks + "down", GOOD)
        op.until("the sink is used", lambda: self.told("kollectinventories/all").get("SinkReachable", "").startswith("True/"))
        op.until("it has gone", lambda: self.sandbox.ask("GET", leaves)[0] == 404)
        # Another generation of a test is probed again.
        self.assertEqual(self.told(tests + "down"), failed("ConnectionTestFailed"))
        self.sandbox.patch(API + tests + "down", spec={"ttlSecondsAfterFinished": 1})
        op.until("its time is over", lambda: self.sandbox.ask("GET", API + tests + "down")[0] == 404)
        self.sandbox.call("POST", SECRETS, {"metadata": {"name": "late"}, "data": {"dsn": good}})
        self.expect(sinks + "late", GOOD)
        # A Secret that breaks is noticed as soon as one that is put right, long before the next probe.
        self.sandbox.patch(SECRETS + "/late", data={"dsn": base64.b64encode(wrong.encode()).decode()})
        self.expect(sinks + "late", bad("ConnectionTestFailed"))
        self.sandbox.call("DELETE", SECRETS + "/late")
        self.expect(sinks + "late", bad("SecretResolveFailed"))
        self.assertEqual(self.operators[-1].stop(), 0)

    def test_a_git_remote(self):
        self.repo("probed")
        ca = pathlib.Path(op.GIT["GIT_CA"]).read_text(encoding="utf-8")
        user = {"username": op.GIT["GIT_USER"]}
        trusted = {"caSecretRef": {"name": "ca"}}
        self.begin(secret("shop", "ca", **{"ca.crt": ca}) + secret("shop", "good", **user, password=op.GIT["GIT_PASS"])
                   + secret("shop", "wrong", **user, password="wrong-password-77") + secret("shop", "open", **user, password=op.GIT["GIT_PASS"])
                   + git_sink("good", "probed", tls=trusted) + git_sink("wrong", "probed", tls=trusted)
                   + git_sink("open", "probed", tls={"insecureSkipVerify": True}, connectionTest=False)
                   + document("KollectEventSink", "shop", "bus", {"type": "kafka", "kafka": {"brokers": ["b:9092"], "topic": "t"}})
                   + connection_test("good", "snapshot", "good", ownerSink=False) + connection_test("bus", "event", "bus")
                   + document("KollectConnectionTest", "shop", "none", {"sinkRef": {}}))
        sinks, tests = "kollectsnapshotsinks/", "kollectconnectiontests/"
        self.expect(sinks + "good", GOOD)
        self.expect(tests + "good", PASSED)
        self.assertNotIn("ownerReferences", self.sandbox.call("GET", API + tests + "good")["metadata"])
        self.expect(sinks + "wrong", bad("ConnectionTestFailed"))
        self.assertNotIn("wrong-password-77", self.message(sinks + "wrong"))
        self.expect("kollecteventsinks/bus", bad("ConnectionTestFailed"))
        self.expect(tests + "bus", failed("ConnectionTestFailed"))
        self.assertIn("kafka: connecting: no broker can be reached", self.message(tests + "bus"))
        self.expect(tests + "none", failed("InvalidSinkRef"))
        # Nothing is asked for a preview.
        self.assertEqual(self.preview("kollecteventsinks/bus", "kafka"), {"topic": "t"})
        self.assertEqual(self.preview(sinks + "open", "git"), {"sampleCommitSubject": "chore(default/team-a/api): export 42 items @ a1b2c3d4e5f6"})
        # Asked for once, and the annotation is gone.
        self.assertEqual(self.told(sinks + "open"), {})
        self.sandbox.patch(API + sinks + "open", metadata={"annotations": {"kollect.dev/test-connection": "True"}})
        self.expect(sinks + "open", {**GOOD, "TLSInsecure": "True/InsecureSkipVerify"})
        op.until("the annotation is gone", lambda: not self.sandbox.call("GET", API + sinks + "open")["metadata"].get("annotations"))
        # So is an authority that is no longer there, or another one.
        self.sandbox.call("DELETE", SECRETS + "/ca")
        self.expect(sinks + "good", bad("SecretResolveFailed"))
        self.sandbox.call("POST", SECRETS, {"metadata": {"name": "ca"}, "data": {"ca.crt": base64.b64encode(ca.encode()).decode()}})
        self.expect(sinks + "good", GOOD)
        self.sandbox.patch(API + sinks + "open", spec={"tls": {"insecureSkipVerify": False}})
        self.expect(sinks + "open", {})
        self.assertEqual(op.subprocess.run(["git", "-C", str(pathlib.Path(op.GIT["GIT_ROOT"]) / "probed.git"), "for-each-ref"], check=True,
                                           capture_output=True, text=True).stdout, "", "a probe writes nothing")

    def test_a_server_that_says_nothing_holds_up_neither_deletion_nor_end(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            dsn = f"postgresql://u:p@127.0.0.1:{silent.getsockname()[1]}/d"
            operator = self.begin(postgres_sink("shop", dsn, "rows", "silent", connectionTest=False) + connection_test("t", "database", "silent"))
            silent.settimeout(op.LIMIT)
            connection, _ = silent.accept()  # it is being probed
            with connection:
                path = API + "kollectconnectiontests/t"
                self.sandbox.call("DELETE", path)
                self.assertEqual(self.sandbox.ask("GET", path)[0], 404)
                self.assertEqual(operator.stop(), 0)


if __name__ == "__main__":
    harness.main()
