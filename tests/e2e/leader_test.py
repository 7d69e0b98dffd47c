#!/usr/bin/env python3
"""Two operators and one lease on a real kube-apiserver: the leader is killed, told to end, cut off from the API, stopped in the middle of a write,
robbed of its lease. PostgreSQL's own record of who wrote what shows that there was never a second writer; the server's audit log shows that a
standby writes nothing and takes over without reading anything anew."""
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import harness
import operator_test as op
from fleet_metrics_test import samples

# Twenty times as fast as the defaults.
TIMES = ["--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "250ms"]
LEASE = "3274ac8a.kollect.dev"
AUDIT = pathlib.Path(harness.HOME.name) / "audit.log"
POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"


def setUpModule():
    policy = harness.write(AUDIT.with_name("policy.yaml"), POLICY)
    op.KUBE.update(op.exports(op.server("kube.sh", "start", APISERVER_ARGS=f"--audit-policy-file={policy} --audit-log-path={AUDIT}")))
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    op.GIT.update(GIT_CA=op.KUBE["KUBE_CA"], GIT_USER="-", GIT_PASS="-", GIT_HTTPS_URL="https://git.invalid")  # named by team(), not used here
    op.install_crds()


def tearDownModule():
    for script in ("kube.sh", "postgres.sh"):
        op.server(script, "stop")


class Road:
    """The way of one operator to the API server: a proxy with a source address of its own, by which the audit log knows it, that can be cut."""

    count = 1

    def __init__(self):
        Road.count += 1
        self.address = f"127.0.0.{Road.count}"
        self.target = ("127.0.0.1", int(op.KUBE["KUBE_SERVER"].rsplit(":", 1)[1]))
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.open = threading.Event()
        self.open.set()
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            self.sockets.append(client)
            if not self.open.is_set():
                continue  # nobody is there, and nobody says so
            server = socket.create_connection(self.target, source_address=(self.address, 0))
            self.sockets.append(server)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.open.is_set():
                    sink.sendall(data)
            if self.open.is_set():
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listening.close()
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)  # also while somebody waits for its bytes
            except OSError:
                pass
            one.close()


def leading(ns):
    """Flags of an operator of one namespace that has a lease there."""
    return "--watch-namespaces", ns, "--leader-elect", "--leader-elect-namespace", ns


class Replica:
    """An operator that PostgreSQL knows by its name (a setting of its sessions)."""

    def __init__(self, folder, name, *flags):
        self.name, self.road = name, Road()
        config = pathlib.Path(op.KUBE["KUBECONFIG"]).read_text(encoding="utf-8")
        config = config.replace(op.KUBE["KUBE_SERVER"], f"https://127.0.0.1:{self.road.listening.getsockname()[1]}")
        self.probes = harness.free_port()
        self.log = open(folder / f"{name}.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [harness.KOLLECT, "operator", "--kubeconfig", harness.write(folder / f"{name}.kubeconfig", config), "--allow-loopback-sinks", "--log-level", "debug",
             "--health-probe-bind-address", f"127.0.0.1:{self.probes}", *TIMES, *flags],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env=harness.environment(PGOPTIONS=f"-c kollect.who={name}"))

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.road.close()
        self.log.close()

    def text(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def ready(self):
        """What /readyz?verbose says; "" while it is not ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.probes}/readyz?verbose", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def requests(self, begin=0):
        """(verb, URI) of what the server heard from it, after so many lines of the audit log."""
        events = [json.loads(line) for line in AUDIT.read_text(encoding="utf-8").splitlines()[begin:]]
        return [(e["verb"], e["requestURI"]) for e in events if e["sourceIPs"] == [self.road.address]]


class Leaders(harness.Case):
    def setUp(self):
        super().setUp()
        self.ns = self.id().rsplit("_", 1)[1]
        self.table = f"{self.ns}_rows"
        op.apply(op.team(self.ns, table=self.table).replace("  snapshotSinkRefs: [git]\n", ""))
        self.write(a="1", b="2")
        self.a = self.replica("a")
        op.until("a leads", lambda: "leading" in self.a.ready())
        op.until("its rows", lambda: self.rows() == {"a": "1", "b": "2"})
        op.sql(f"CREATE TABLE {self.ns}_record (id bigserial, at timestamptz DEFAULT clock_timestamp(), who text DEFAULT current_setting('kollect.who'))")
        op.sql(f"CREATE FUNCTION {self.ns}_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO {self.ns}_record DEFAULT VALUES; RETURN NULL; END $$")
        op.sql(f"CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON {self.table} FOR EACH ROW EXECUTE FUNCTION {self.ns}_note()")
        self.write(a="seen")
        op.until("a's write on record", lambda: self.writers() == ["a"])
        self.b = self.replica("b")
        op.until("b is warm", lambda: "rows 2\nstandby, lease held by" in self.b.ready())
        self.assertNotEqual(self.holder(), "")

    def replica(self, name):
        made = Replica(self.folder, name, *leading(self.ns))
        self.addCleanup(made.end)
        return made

    def tearDown(self):
        if self._outcome.result.failures or self._outcome.result.errors:
            for one in (self.a, self.b):
                print(one.text()[-8000:])
        super().tearDown()

    def write(self, **values):
        op.apply("".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {self.ns}}}\ndata: {{v: {json.dumps(v)}}}\n"
                         for name, v in values.items()))

    def rows(self):
        found = op.sql(f"select payload->>'name', payload->'attributes'->>'v' from {self.table} where payload->>'name' <> 'kube-root-ca.crt'")
        return None if found is None else dict(line.split("\t") for line in found if "\t" in line)

    def writers(self):
        """Who wrote, in the order of writes."""
        return op.sql(f"select who from {self.ns}_record order by id")


    def holder(self):
        return op.kubectl("get", "lease", LEASE, "-n", self.ns, "-o", "jsonpath={.spec.holderIdentity}")

    def steal(self, holder):
        op.kubectl("patch", "lease", LEASE, "-n", self.ns, "--type=merge", "-p", json.dumps({"spec": {"holderIdentity": holder}}))

    def hanging(self):
        """Sessions of operators that wait for a lock."""
        return op.sql("select pid from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'kollect'")

    def hang(self):
        """A write of the leader that is under way and cannot go on: what holds it, and its session."""
        env = {**os.environ, **{k: v for k, v in op.PG.items() if k.startswith("PG")}}
        session = subprocess.Popen([op.PG["PG_BIN"] + "/psql", "-qAtX"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(session.wait)
        self.addCleanup(session.stdout.close)
        self.addCleanup(session.stdin.close)
        session.stdin.write(f"BEGIN; LOCK TABLE {self.table} IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
        session.stdin.flush()
        self.assertEqual(session.stdout.readline(), "locked\n")
        self.write(a="held up")
        return session, op.until("a write that hangs", self.hanging)

    def b_takes_over(self, began, mark):
        """It writes the truth, nobody else wrote in between, and nothing was read anew but the Secrets of the sinks, each by its name."""
        self.write(a="after", c="3")
        op.until("the truth", lambda: self.rows() == {"a": "after", "b": "2", "c": "3"})
        writers = self.writers()
        self.assertEqual(writers, ["a"] + ["b"] * (len(writers) - 1))
        first = float(op.sql(f"select extract(epoch from min(at)) from {self.ns}_record where who = 'b'")[0])
        print(f"{self.ns}: b wrote {first - began:.2f} s after", flush=True)
        before, after = self.b.requests()[:mark], self.b.requests()[mark:]
        self.assertEqual([r for r in before if r[0] in ("create", "update", "patch", "delete") and not re.search("/leases|/selfsubject", r[1])], [])
        anew = [r for r in after if r[0] == "list" or "sendInitialEvents" in r[1]]
        self.assertEqual([r for r in anew if not re.search(rf"/{self.ns}/secrets\?.*fieldSelector=metadata.name%3D\w+&", r[1])], [])
        self.assertTrue(any("/kollecttargets" in uri for _, uri in before), "the audit log does not know it")
        self.assertIn("leading, lease held by", self.b.ready())

    def test_kill(self):
        mark, began = len(self.b.requests()), time.time()
        self.a.process.kill()
        self.b_takes_over(began, mark)

    def test_term(self):
        mark, began = len(self.b.requests()), time.time()
        self.a.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.a.process.wait(timeout=op.LIMIT), 0)
        self.b_takes_over(began, mark)
        # A lease that somebody takes is lost at once, and a standby that ends has nothing to give up.
        c = self.replica("c")
        op.until("c is warm", lambda: "standby" in c.ready())
        self.steal("thief")
        self.assertEqual(self.b.process.wait(timeout=op.LIMIT), 1)
        c.process.send_signal(signal.SIGTERM)
        self.assertEqual(c.process.wait(timeout=op.LIMIT), 0)
        self.assertEqual(self.holder(), "thief")

    def test_cut(self):
        mark, began = len(self.b.requests()), time.time()
        lock, session = self.hang()
        self.a.road.open.clear()
        self.assertEqual(self.a.process.wait(timeout=op.LIMIT), 1)
        op.until("no write of a is left", lambda: not set(session) & set(self.hanging()))
        op.until("b leads", lambda: "leading" in self.b.ready())
        lock.stdin.close()
        self.b_takes_over(began, mark)

    def test_pause(self):
        mark, began = len(self.b.requests()), time.time()
        lock, _ = self.hang()
        self.a.process.send_signal(signal.SIGSTOP)
        op.until("b leads", lambda: "leading" in self.b.ready())
        # What a had sent is done by the server now, but not committed: a is asked for that, and wakes up with its time over.
        lock.stdin.close()
        op.until("a's session waits for a", lambda: op.sql("select 1 from pg_stat_activity where state = 'idle in transaction' and application_name = 'kollect'"))
        self.a.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.a.process.wait(timeout=op.LIMIT), 1)
        self.b_takes_over(began, mark)


class Metrics(harness.Case):
    """/metrics over HTTPS: for whom the API server lets, in the format that scrapers take, with the series of the catalogue."""

    def ask(self, path="/metrics", token=None):
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context(cafile=op.KUBE["KUBE_CA"])) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def value(self, name, /, **labels):
        found = samples(self.ask(token="admin-token")[1])
        return found.get((name, frozenset(labels.items())))

    def test_tell(self):
        op.apply(op.team("tell", table="tell_rows").replace("  snapshotSinkRefs: [git]\n", "").replace("path: \"$.data.v\"", "path: \"$.data.v\", type: int"))
        op.apply("".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: tell}}\ndata: {{v: '{v}'}}\n" for name, v in (("a", 2), ("b", 40))))
        op.apply(op.secret("tell", "bad", dsn=f"postgresql://nobody:none@127.0.0.1:{op.PG['PGPORT']}/none"))
        op.apply("apiVersion: kollect.dev/v1alpha1\nkind: KollectDatabaseSink\nmetadata: {name: bad, namespace: tell}\n"
                 "spec: {type: postgres, connectionTest: false, postgres: {databaseRef: {name: bad}, table: bad}}\n")
        op.kubectl("patch", "kollectinventory", "all", "-n", "tell", "--type=merge", "-p", '{"spec":{"databaseSinkRefs":["pg","bad"]}}')
        self.port = harness.free_port()
        replica = Replica(self.folder, "tell", *leading("tell"), "--metrics-bind-address", f"127.0.0.1:{self.port}", "--metrics-cert-path", op.KUBE["KUBE_STATE"],
                          "--metrics-cert-name", "server.crt", "--metrics-cert-key", "server.key", "--collect-metrics-sample-interval", "0s")
        self.addCleanup(replica.end)
        op.until("an export that counts", lambda: op.sql("select 1 from tell_rows") == ["1", "1"])
        self.assertEqual(self.ask()[0], 401)
        self.assertEqual(self.ask(token="wrong")[0], 401)
        self.assertEqual(self.ask(token="nobody-token")[0], 403)
        self.assertEqual(self.ask("/other", token="admin-token")[0], 404)
        self.assertEqual(self.ask(token="admin-token")[0], 200)
        gvk = {"profile": "maps", "gvk": "/v1/ConfigMap"}
        op.until("the sum of the rows", lambda: self.value("kollect_custom_resource_series", series="v", **gvk) == 42)
        self.assertEqual(self.value("kollect_collected_objects", **gvk), 2)
        self.assertEqual(self.value("kollect_collect_items_total"), 2)
        self.assertEqual(self.value("leader_election_master_status", name=LEASE), 1)
        self.assertEqual(self.value("kollect_informer_objects", group="", version="v1", resource="configmaps"), 2)
        self.assertGreaterEqual(self.value("kollect_export_duration_seconds_count", sink_type="postgres"), 1)
        op.until("the inventory's rows", lambda: self.value("kollect_inventory_items_total") == 2)
        op.until("its last success", lambda: self.value("kollect_export_last_success_timestamp_seconds", kind="KollectInventory", namespace="tell", name="all"))
        self.assertGreaterEqual(self.value("kollect_reconcile_total", controller="KollectTarget", result="success"), 1)
        self.assertGreater(self.value("process_resident_memory_bytes"), 1000000)
        op.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: tell}\ndata: {v: '0'}\n")
        op.until("what came after the list", lambda: self.value("kollect_informer_objects", group="", version="v1", resource="configmaps") == 3)
        self.assertEqual(self.value("kollect_build_info", version="dev", commit="unknown"), 1)
        self.assertEqual(self.value("kollect_sink_breaker_state", sink_type="postgres", namespace="tell", name="pg"), 0)
        self.assertEqual(self.value("kollect_export_interval_seconds", kind="KollectInventory", namespace="tell", name="all"), 30)
        self.assertGreaterEqual(self.value("kollect_namespace_fingerprint_cache_total", controller="KollectInventory", result="miss"), 1)
        self.assertEqual(self.value("kollect_sink_connection_test_total", type="postgres", result="success"), 1)
        # A second sink cannot be logged in to.
        op.until("failed exports", lambda: sum(self.value("kollect_sink_errors_total", reason=r) for r in ("transient", "terminal", "forbidden")) > 0)
        op.until("a failed pass", lambda: self.value("kollect_reconcile_total", controller="KollectInventory", result="failure") > 0)


if __name__ == "__main__":
    harness.main()
