#!/usr/bin/env python3
"""Many processes of `kollect fleet serve` on one PostgreSQL: races, and whatever may die."""
import http.client
import random
import signal
import sys
import threading
import time

import fleet_test
import harness
from fleet_postgres import Postgres


def setUpModule():
    global server
    server = Postgres("replicas")
    fleet_test.DATABASES["postgres"] = server.url


def tearDownModule():
    server.script("stop")


class Processes:
    """Two that write and three that only read, on one database. Any of them may be killed; another one takes its place."""

    def __init__(self, folder, seed="harbour.json"):
        self.folder = folder
        self.seed = seed
        self.modes = ("crud", "crud", "read-only", "read-only", "read-only")
        self.running = [self.begin(number) for number in range(len(self.modes))]

    def begin(self, number):
        while True:
            try:
                return fleet_test.Server(self.folder, "postgres", self.seed, API_MODE=self.modes[number], LOG_LEVEL="error")
            except AssertionError:  # it ended again: the database was away
                continue

    def kill(self, number):
        self.running[number].stop(signal.SIGKILL)
        self.running[number] = self.begin(number)

    def writers(self):
        return self.running[:2]

    def stop(self):
        for process in self.running:
            process.stop()


class Writer:
    """Makes changes one after the other, each until it is acknowledged. What was sent and not answered may have been made."""

    def __init__(self, processes, number):
        self.processes = processes
        self.random = random.Random(number)
        self.acknowledged = 0

    def until_acknowledged(self, method, path, body, good=(200,)):
        doubtful = False
        while True:
            try:
                status, answer = self.random.choice(self.processes.writers()).write(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                status, answer = 0, None
            if status in good or (doubtful and status in (404, 409)):
                self.acknowledged += 1
                return
            if status not in (0, 500, 503):
                raise AssertionError(f"{method} {path}: {status} {answer}")
            doubtful = True


class ManyProcesses(fleet_test.OnEveryStore):
    """Several processes that write, several that read, one PostgreSQL."""
    POLL = "/api/v2/flux/clusters/cork-dev.harbour.test/"
    FIELDS = ("vm_image", "k0s_version", "cluster_name")

    def wait_until_equal(self, servers, path, wanted):
        """Seconds until all of them answer it."""
        began = time.monotonic()
        for one in servers:
            while (got := one.read(path)) != (200, wanted):
                self.assertLess(time.monotonic() - began, 60, f"{path}: {got}")
        return time.monotonic() - began

    def test_races(self):
        """Two processes change other fields of one record, or make one record, at the same time."""
        first, second = (fleet_test.Server(self.folder, "postgres", "harbour.json") for _ in range(2))
        reader = fleet_test.Server(self.folder, "postgres", "harbour.json", API_MODE="read-only")
        for one in (first, second, reader):
            self.addCleanup(one.stop)
        for number in range(40):
            fields = {"node_count": number, "vm_image": f"i{number}", "k0s_version": f"k{number}", "cluster_name": f"n{number}"}
            told = []
            self.together(*(lambda one=one, field=field, told=told: told.append(one.write("PUT", "/clusters/cork-dev", {field: fields[field]})[0])
                            for one, field in zip((first, second, first, second), fields)))
            self.assertEqual(told, [200] * 4)
            record = first.write("PUT", "/clusters/cork-dev", {})[1]  # a write sees what the others wrote
            self.assertEqual({field: record[field] for field in fields}, fields)
            told = []
            self.together(*(lambda one=one, told=told, number=number: told.append(one.write("POST", "/namespaces", {"id": f"race-{number}"})[0])
                            for one in (first, second, first, second)))
            self.assertEqual(sorted(told), [200, 409, 409, 409])
        self.assertEqual(first.write("DELETE", "/clusters/lyon-qa")[0], 200)
        self.wait_until_equal((second, reader), "/api/v2/flux/clusters/lyon-qa.harbour.test/platform-components", {"inputs": []})
        told = [[(one["cluster_dns"], one["deleted_by"], one["deleted_at"]) for one in process.read("/tombstones")[1]] for process in (first, second)]
        self.assertEqual(told[0], told[1], "who deleted it is known to both")
        self.assertEqual([one[:2] for one in told[0]], [("lyon-qa.harbour.test", "writer")])

    def test_nothing_acknowledged_is_lost_whatever_dies(self):
        processes = Processes(self.folder)
        self.addCleanup(processes.stop)
        rounds, kills = 25, [0, 2, 1, "postgres", 3, 0, "postgres stands still", 4, 1]
        writers = [Writer(processes, number) for number in range(len(self.FIELDS))]
        problems = []

        def write(number):
            me = writers[number]
            try:
                for value in range(1, rounds + 1):
                    me.until_acknowledged("PUT", "/clusters/cork-dev", {self.FIELDS[number]: f"v{value}"})
                    me.until_acknowledged("POST", "/namespaces", {"id": f"w{number}-{value}"})
                    if value % 3 == 0:
                        me.until_acknowledged("DELETE", f"/namespaces/w{number}-{value}", None)
            except Exception as error:
                problems.append(error)

        def destroy():
            try:
                for number, victim in enumerate(kills, 1):
                    while sum(one.acknowledged for one in writers) < number * 15 and not problems:
                        time.sleep(0.01)
                    if victim == "postgres":
                        server.script("kill")
                        server.start()
                    elif victim == "postgres stands still":
                        with server.frozen():
                            time.sleep(0.5)
                    else:
                        processes.kill(victim)
            except Exception as error:
                problems.append(error)

        self.together(destroy, *(lambda number=number: write(number) for number in range(len(writers))))
        self.assertEqual(problems, [])
        # What everybody must say now.
        last = processes.writers()[0]
        names = sorted(f"w{writer}-{value}" for writer in range(len(writers)) for value in range(1, rounds + 1) if value % 3)
        self.assertEqual(last.write("PUT", "/clusters/cork-dev", {"namespaces": [{"id": name} for name in names]})[0], 200)
        record = last.read("/clusters/cork-dev")[1]
        self.assertEqual([record[field] for field in self.FIELDS], [f"v{rounds}"] * len(self.FIELDS))
        polled = last.read(self.POLL + "namespaces")[1]
        self.assertEqual([one["id"] for one in polled["inputs"]], names)
        took = self.wait_until_equal(processes.running, self.POLL + "namespaces", polled)
        print(f"all agree {took * 1000:.0f} ms after the last write", file=sys.stderr)
        bodies = {one.ask("GET", self.POLL + "platform-components", headers=fleet_test.READ)[2] for one in processes.running}
        self.assertEqual(len(bodies), 1, "the same bytes from every process")
        lists = [one.read("/namespaces")[1] for one in processes.writers()]
        self.assertEqual(lists[0], lists[1])
        self.check_trail(last, rounds, len(writers))

    def test_a_standby_takes_over(self):
        primary = Postgres("primary")
        self.addCleanup(primary.script, "stop")
        standby = Postgres("standby", STANDBY_OF=primary.name)
        self.addCleanup(standby.script, "stop")
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        ports = [one.values["PGPORT"] for one in (primary, standby)]
        either = f"postgres://test:secret@127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}/test?target_session_attrs=read-write"
        writer = fleet_test.Server(self.folder, "postgres", "harbour.json", DATABASE_URL=either)
        self.addCleanup(writer.stop)
        reader = fleet_test.Server(self.folder, "postgres", "harbour.json", API_MODE="read-only",
                                   DATABASE_URL=f"postgres://test:secret@127.0.0.1:{ports[1]}/test")
        self.addCleanup(reader.stop)

        def add(number):
            """The write's status, 0 without an answer."""
            names = [{"id": f"n{i}"} for i in range(number + 1)]
            made = writer.write("POST", "/namespaces", {"id": f"n{number}"})[0]
            return writer.write("PUT", "/clusters/cork-dev", {"namespaces": names})[0] if made in (200, 409) else made

        for number in range(10):
            self.assertEqual(add(number), 200)
        polled = writer.read(self.POLL + "namespaces")[1]
        self.wait_until_equal([reader], self.POLL + "namespaces", polled)
        primary.script("kill")
        self.assertEqual(add(10), 500, "nobody may be written to")
        self.assertEqual(reader.read(self.POLL + "namespaces"), (200, polled))
        standby.script("promote")
        began = time.monotonic()
        while (status := add(10)) != 200:
            self.assertEqual(status, 500)
            self.assertLess(time.monotonic() - began, 60)
        polled = writer.read(self.POLL + "namespaces")[1]
        self.assertEqual(len(polled["inputs"]), 11)
        self.wait_until_equal([reader], self.POLL + "namespaces", polled)
        entries = writer.read("/audit")[1]["entries"][::-1]
        self.assertEqual([one["seq"] for one in entries], list(range(1, 23)), "everything that was acknowledged, once")

    def check_trail(self, process, rounds, writers):
        """Every change is in it once, in its order, without gaps."""
        entries = process.read("/audit?limit=10000")[1]["entries"][::-1]
        self.assertEqual([one["seq"] for one in entries], list(range(1, len(entries) + 1)))
        for number in range(writers):
            field = self.FIELDS[number]
            values = [one["after"][field] for one in entries if one["id"] == "cork-dev" and one["after"].get(field) != one["before"].get(field)]
            self.assertEqual(values, [f"v{value}" for value in range(1, rounds + 1)])
            mine = [(one["id"], one["method"]) for one in entries if one["id"].startswith(f"w{number}-")]
            wanted = []
            for value in range(1, rounds + 1):
                wanted += [(f"w{number}-{value}", method) for method in (("POST", "DELETE") if value % 3 == 0 else ("POST",))]
            self.assertEqual(mine, wanted)


if __name__ == "__main__":
    harness.main()
