#!/usr/bin/env python3
"""Replicas that share the work (--shards) on a real kube-apiserver: they join, are killed, end in order, are cut off from the API, while objects of thirty
namespaces change all the time. PostgreSQL's own record of writes shows that each state was written once, none was missed, none went back."""
import collections
import json
import random
import re
import signal
import ssl
import threading
import urllib.error
import urllib.request

import harness
import leader_test
import manifests
import operator_test as op

PLACES = [f"s{n:02}" for n in range(30)]
PARTS = 3
# What is slow because the machine is busy must not be taken for dead.
TIMES = ["--leader-elect-lease-duration", "6s", "--leader-elect-renew-deadline", "4s"]
LEASES = "sys"  # their namespace
ALL = set(range(PARTS))
RECORD = """
CREATE TABLE record (id bigserial, who text, op text, inventory text, ns text, uid text, name text, v bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN
  IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
  INSERT INTO record (who, op, inventory, ns, uid, name, v) VALUES (current_setting('kollect.who'), TG_OP, r.inventory_namespace, r.resource_namespace, r.source_uid,
    r.payload->>'name', (r.payload->'attributes'->>'v')::bigint);
  RETURN NULL; END $$;
CREATE TABLE passes (id bigserial, who text, inventory text);
CREATE FUNCTION note_pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO passes (who, inventory) VALUES (current_setting('kollect.who'), NEW.inventory_namespace);
  RETURN NULL; END $$;
CREATE FUNCTION watch_rows() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
  IF to_regclass('public.rows_exports') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = 'note_pass') THEN
    CREATE TRIGGER note_pass AFTER INSERT OR UPDATE ON public.rows_exports FOR EACH ROW EXECUTE FUNCTION note_pass();
  END IF;
  IF to_regclass('public.rows') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = 'note') THEN
    CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON public.rows FOR EACH ROW EXECUTE FUNCTION note();
  END IF; END $$;
CREATE EVENT TRIGGER watch_rows ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION watch_rows();
"""


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    op.install_crds()
    op.sql(RECORD)


def tearDownModule():
    for script in ("kube.sh", "postgres.sh"):
        op.server(script, "stop")


def place(ns):
    """A namespace with all that it takes to export its ConfigMaps."""
    return "".join([
        manifests.namespace(ns), manifests.profile(ns, "maps", "ConfigMap", {"name": "v", "path": "$.data.v"}), manifests.postgres_sink(ns, op.dsn(), "rows"),
        manifests.target(ns, "maps", "maps", includedNamespaces=[ns]), manifests.inventory(ns, databaseSinkRefs=["pg"])])


def whole():
    """What reads all of them into one inventory, which has no namespace."""
    return (manifests.document("KollectClusterTarget", None, "maps", {"profileRef": {"name": "maps", "namespace": PLACES[0]}, "includedNamespaces": PLACES})
            + manifests.document("KollectClusterInventory", None, "all", {"sinkNamespace": PLACES[0], "databaseSinkRefs": [{"name": "pg"}]}))


class Objects:
    """ConfigMaps that change; knows what they should be. Every value is new."""

    def __init__(self):
        self.random, self.count = random.Random(5), 0
        self.truth, self.gone = {}, set()  # uid -> (namespace, name, value)
        self.context = ssl.create_default_context(cafile=op.KUBE["KUBE_CA"])

    def ask(self, method, path, body=None):
        request = urllib.request.Request(op.KUBE["KUBE_SERVER"] + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Authorization": "Bearer admin-token", "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"})
        with urllib.request.urlopen(request, timeout=30, context=self.context) as answer:
            return json.load(answer)

    def put(self, ns, name):
        self.count += 1
        known = next((uid for uid, (place_, name_, _) in self.truth.items() if (place_, name_) == (ns, name)), None)
        body = {"metadata": {"name": name}, "data": {"v": str(self.count)}}
        path = f"/api/v1/namespaces/{ns}/configmaps"
        made = self.ask("PATCH", f"{path}/{name}", body) if known else self.ask("POST", path, body)
        self.truth[made["metadata"]["uid"]] = (ns, name, self.count)

    def remove(self, uid):
        ns, name, _ = self.truth.pop(uid)
        self.gone.add(uid)
        self.ask("DELETE", f"/api/v1/namespaces/{ns}/configmaps/{name}")

    def change(self):
        if self.random.random() < 0.1:
            self.remove(self.random.choice(sorted(uid for uid, (_, name, _) in self.truth.items() if name == "b") or sorted(self.truth)))
        else:
            self.put(self.random.choice(PLACES), self.random.choice("ab"))

    def keep_changing(self, end):
        while not end.wait(0.02):
            self.change()


def rows(*inventories):
    """uid -> (namespace, name, value), of the inventories of these namespaces."""
    names = ", ".join(f"'{ns}'" for ns in inventories)
    found = op.sql(f"select source_uid, resource_namespace, payload->>'name', payload->'attributes'->>'v' from rows where inventory_namespace in ({names})")
    return None if found is None else {uid: (ns, name, int(v)) for uid, ns, name, v in (line.split("\t") for line in found)}


class Replica(leader_test.Replica):
    def __init__(self, folder, name, *flags, shards=PARTS):
        super().__init__(folder, name, "--leader-elect-namespace", LEASES, "--shards", str(shards), *TIMES, *flags)

    def held(self):
        """Its parts; None while it does not say."""
        found = re.search(r"parts held: (none|[\d ]+), of", self.ready())
        return found and {int(n) for n in found[1].replace("none", "").split()}

    def rows(self):
        return int(re.search(r"rows (\d+)", self.ready())[1])


class Shards(harness.Case):
    def setUp(self):
        super().setUp()
        self.replicas = []
        self.objects = Objects()

    def tearDown(self):
        if self._outcome.result.failures or self._outcome.result.errors:
            for one in self.replicas:
                print(one.text()[-6000:])
        super().tearDown()

    def replica(self, name, *flags, **options):
        made = Replica(self.folder, name, *flags, **options)
        self.addCleanup(made.end)
        self.replicas.append(made)
        return made

    def share(self, *replicas):
        """When they have all parts, as evenly as can be: what each has."""
        def shares():
            held = [one.held() for one in replicas]
            even = all(h is not None for h in held) and sorted(len(h) for h in held) == sorted(len(range(PARTS)[n::len(held)]) for n in range(len(held)))
            return held if even and sum(map(len, held)) == PARTS and set().union(*held) == ALL else None
        return op.until(f"{[one.name for one in replicas]} share the work", shares)

    def all_is_written(self, what):
        truth = dict(self.objects.truth)
        op.until(what, lambda: rows(*PLACES) == truth)
        op.until(f"{what}, as a whole", lambda: rows("cluster") == truth)

    def test_each_object_is_written_once(self):
        op.kubectl("create", "namespace", LEASES)
        op.kubectl("create", "-f", "-", stdin="".join(map(place, PLACES)) + whole())
        for ns in PLACES:
            self.objects.put(ns, "a")
            self.objects.put(ns, "b")
        a, b, c = (self.replica(name) for name in "abc")
        before = self.share(a, b, c)
        self.all_is_written("what was there at the start")
        # Nobody has rows of another one's part.
        op.until("rows of its own part alone", lambda: sum(one.rows() for one in (a, b, c)) == 2 * len(self.objects.truth))
        begin = int(op.sql("select max(id) from passes")[0])
        for ns in PLACES:
            self.objects.put(ns, "a")
        self.all_is_written("news for each")
        owners = [line.split("\t") for line in op.sql(f"select distinct inventory, who from passes where id > {begin}")]
        self.assertEqual(sorted(inventory for inventory, _ in owners), sorted([*PLACES, "cluster"]))
        self.owners = dict(owners)
        end = threading.Event()
        changes = threading.Thread(target=self.objects.keep_changing, args=(end,))
        self.addCleanup(changes.join)
        self.addCleanup(end.set)
        changes.start()

        a.process.kill()
        port = harness.free_port()
        d = self.replica("d", "--metrics-bind-address", f"127.0.0.1:{port}", "--metrics-secure=false")
        after = self.share(b, c, d)
        self.assertEqual(after, [before[1], before[2], before[0]], "what nobody lost has moved")
        b.process.send_signal(signal.SIGTERM)
        self.assertEqual(b.process.wait(timeout=op.LIMIT), 0)
        two = self.share(c, d)
        self.assertTrue(after[1] <= two[0] and after[2] <= two[1])
        e = self.replica("e")
        three = self.share(c, d, e)
        self.assertEqual(three, [after[1], after[2], after[0]])

        # Two ways to share one cluster's work stand in each other's way, not beside each other.
        other = self.replica("other", shards=2)
        op.until("another number of parts waits", lambda: "parts held: none, of 2" in other.ready() and "lease held by replicas-of-3-shards" in other.ready())
        e.road.open.clear()
        left = self.share(c, d)
        self.assertTrue(three[0] <= left[0] and three[1] <= left[1])
        op.until("what is cut off has nothing", lambda: e.held() == set())
        e.road.open.set()
        back = self.share(c, d, e)
        self.assertIsNone(e.process.poll())
        self.assertEqual(back, three)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        self.assertIn("kollect_shards_held 1\n", page)
        self.assertIn("kollect_shards 3\n", page)
        self.assertIn("kollect_shards_replicas 3\n", page)

        end.set()
        changes.join()
        self.all_is_written("the last states")
        self.check_record(begin)
        # What is deleted is cleaned up by who has it, and by nobody else.
        op.kubectl("delete", "kollectinventory", "all", "-n", PLACES[-1], "--timeout=30s")
        self.assertEqual(rows(PLACES[-1]), {})
        self.assertEqual(len(op.sql(f"select distinct who from record where inventory = '{PLACES[-1]}' and op = 'DELETE' and uid in (select uid from record where id > {self.checked})")), 1)
        # The last one leaves the work to those who share it otherwise; what is there is right.
        for one in (c, d, e):
            one.process.send_signal(signal.SIGTERM)
            self.assertEqual(one.process.wait(timeout=op.LIMIT), 0)
        op.until("the other number of parts", lambda: other.held() == {0, 1})
        mark = self.last_record()
        self.objects.put(PLACES[0], "a")
        self.objects.put(PLACES[1], "a")
        op.until("their news", lambda: set(op.sql(f"select distinct inventory from record where id > {mark} order by 1")) == {PLACES[0], PLACES[1], "cluster"})
        self.assertEqual(op.sql(f"select count(*) from record where id > {mark}"), ["4"])

    def last_record(self):
        return int(op.sql("select max(id) from record")[0])

    def check_record(self, begin):
        """Each state of each object at most once, the last one for certain, in the order of changes; deleted is what was deleted. Since the pass `begin` an
        inventory was looked after by who had its part, one after the other, also where there was nothing to write."""
        written, writers = collections.defaultdict(list), collections.defaultdict(str)
        for line in op.sql("select id, who, op, inventory, uid, v from record order by id"):
            number, who, what, inventory, uid, v = line.split("\t")
            written[inventory == "cluster", uid].append((what, int(v), who))
            self.checked = int(number)
        for line in op.sql(f"select who, inventory from passes where id > {begin} order by id"):
            who, inventory = line.split("\t")
            if not writers[inventory].endswith(who):
                writers[inventory] += who
        self.assertEqual(set("".join(writers.values())), set("abcde"))
        turns = {"a": "a?d?", "b": "b?[cd]?e?[cd]?e?", "c": "c?"}
        self.assertEqual([one for one in writers.items() if not re.fullmatch(turns[self.owners[one[0]]], one[1])], [])
        odd = []
        for (_, uid), events in written.items():
            whats, values = [what for what, _, _ in events], [v for what, v, _ in events if what != "DELETE"]
            shape = ["INSERT"] + ["UPDATE"] * (len(values) - 1) + ["DELETE"] * (uid in self.objects.gone)
            if whats != shape or values != sorted(set(values)):
                odd.append((uid, events))
        self.assertEqual(odd, [])
        for whole_ in (False, True):
            last = {uid: events[-1][1] for (whole__, uid), events in written.items() if whole__ == whole_ and uid not in self.objects.gone}
            self.assertEqual(last, {uid: v for uid, (_, _, v) in self.objects.truth.items()})
        print(f"{len(written)} rows, {sum(map(len, written.values()))} writes, {self.objects.count} states", flush=True)


if __name__ == "__main__":
    harness.main()
