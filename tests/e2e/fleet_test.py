#!/usr/bin/env python3
"""`kollect fleet serve` from outside: the transcripts of the API on every store, and what must outlive a restart."""
import http.client
import json
import pathlib
import shutil
import signal
import sqlite3
import threading
import time

import harness

CASES = harness.ROOT / "tests/cases/fleet"
STORES = ("sqlite", "memory")
DATABASES = {"sqlite": lambda folder: f"sqlite://{folder}/fleet.db?mode=rwc"}  # url of the database that belongs to a folder
READ = {"Authorization": "Bearer read-token"}
WRITE = {"Authorization": "Bearer write-token", "Content-Type": "application/json"}


class Server:
    def __init__(self, folder, store, seed, port=None, **settings):
        self.folder = pathlib.Path(folder)
        self.port = port or harness.free_port()
        if not (self.folder / "seed.json").exists():
            shutil.copy(CASES / seed, self.folder / "seed.json")
        env = {"STORE_BACKEND": store, "DATABASE_URL": DATABASES.get(store, DATABASES["sqlite"])(self.folder), "SEED_FILE": str(self.folder / "seed.json"),
               "LISTEN_ADDR": f"127.0.0.1:{self.port}", "API_MODE": "crud", "AUTH_TOKEN": "read-token", "CRUD_AUTH_TOKEN": "write-token"}
        env.update(settings)
        # A pipe that nobody reads would fill up and hold the server.
        self.log = self.folder / f"log-{self.port}.jsonl"
        with self.log.open("wb") as log:
            self.process = harness.start("fleet", "serve", stderr=log, env=harness.environment(**{k: v for k, v in env.items() if v is not None}))
        while True:
            try:
                self.ask("GET", "/health")
                return
            except OSError:
                if self.process.poll() is not None:
                    raise AssertionError(self.log.read_text(encoding="utf-8")) from None

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method, path, body=None, headers=None, raw=None):
        """(status, headers, bytes)"""
        connection = self.connect()
        try:
            data = raw if raw is not None else None if body is None else json.dumps(body).encode()
            connection.putrequest(method, path, skip_accept_encoding=True)
            for key, value in (headers or {}).items():
                connection.putheader(key, value)
            if data is not None or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(data or b"")))
            connection.endheaders()
            try:
                connection.send(data or b"")
            except OSError:
                pass  # refused before the end of its body
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def read(self, path):
        status, _, text = self.ask("GET", path, headers=READ)
        return status, json.loads(text)

    def write(self, method, path, body=None, **headers):
        status, _, text = self.ask(method, path, body, {**WRITE, **headers})
        return status, json.loads(text)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code


def differences(want, got, at="$"):
    if isinstance(want, dict) and "$any" in want:
        return []
    if isinstance(want, dict) and "$string" in want:
        good = isinstance(got, str) and got and all(text in got for text in want["$string"]["mentions"])
        return [] if good else [f"{at}: must mention {want['$string']['mentions']}, is {got!r}"]
    if isinstance(want, dict) and isinstance(got, dict):
        found = [f"{at}.{key}: is there on one side only" for key in want.keys() ^ got.keys()]
        for key in want.keys() & got.keys():
            found += differences(want[key], got[key], f"{at}.{key}")
        return found
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [text for i, pair in enumerate(zip(want, got)) for text in differences(*pair, f"{at}[{i}]")]
    return [] if want == got and isinstance(want, bool) == isinstance(got, bool) else [f"{at}: must be {want!r}, is {got!r}"]


class OnEveryStore(harness.Case):
    """Scenarios for a store; whoever has one more runs them too."""

    def body_of(self, step):
        raw = step.get("raw_body")
        if isinstance(raw, dict):
            repeat = raw["$repeat"]
            raw = repeat["prefix"] + repeat["char"] * repeat["count"] + repeat["suffix"]
        return raw.encode() if raw is not None else None

    def check(self, step, status, headers, text):
        want = {key: step.get(key) for key in ("expected_status", "expected_headers", "expected_body")}
        ours = step.get("ours") or {}
        if ours.get("skip"):
            return
        want.update({key: ours[key] for key in want if key in ours})
        if "expected_body" in ours and "expected_headers" not in ours:
            want["expected_headers"] = None
        self.assertEqual(status, want["expected_status"], text[:300])
        for key, value in (want["expected_headers"] or {}).items():
            if key == "allow":
                if status == 405:
                    self.assertLessEqual({m.strip() for m in value.split(",")}, {m.strip() for m in headers.get("allow", "").split(",")})
            else:
                self.assertEqual(headers.get(key, "").split(";")[0].strip().lower(), value.split(";")[0].strip().lower(), key)
        body = want["expected_body"]
        if body is None:
            if step["method"] == "HEAD":
                self.assertEqual(text, b"")
        elif not (isinstance(body, dict) and "$any" in body):
            self.assertEqual(differences(body, json.loads(text)), [])

    def replay(self, store):
        steps = 0
        for file in sorted(CASES.glob("[0-9]*.json")):
            case = json.loads(file.read_text(encoding="utf-8"))
            if case.get("ours_skip"):
                continue
            folder = self.folder / file.stem
            folder.mkdir()
            settings = {"API_MODE": None, "AUTH_TOKEN": None, "CRUD_AUTH_TOKEN": None, **case["server_env"]}
            server = Server(folder, store, case["seed"], **settings)
            try:
                for number, step in enumerate(case["steps"]):
                    with self.subTest(f"{file.stem} step {number}: {step['method']} {step['path']}"):
                        self.check(step, *server.ask(step["method"], step["path"], step.get("body"), step["headers"], self.body_of(step)))
                        steps += 1
            finally:
                server.stop()
        self.assertGreater(steps, 350)

    def folder_of(self, store):
        folder = self.folder / store
        folder.mkdir()
        return folder

    def deleted_stays_deleted(self, store):
        poll = "/api/v2/flux/clusters/cork-dev.harbour.test/namespaces"
        folder = self.folder_of(store)
        server = Server(folder, store, "harbour.json")
        ids = [one["id"] for one in server.read("/clusters")[1]]
        kept = server.read("/clusters/cork-dev")[1]
        for name in ids:
            self.assertEqual(server.write("DELETE", f"/clusters/{name}")[0], 200)
        self.assertEqual(server.read(poll), (200, {"inputs": []}))
        self.assertEqual(server.stop(), 0)
        server = Server(folder, store, "harbour.json")
        self.assertEqual(server.read(poll), (200, {"inputs": []}), "the tombstone outlives a restart")
        self.assertEqual(server.read("/clusters"), (200, []), "the seed brings nobody back")
        self.assertEqual(server.read("/api/v2/flux/clusters/never.test/namespaces")[0], 404)
        self.assertEqual(server.write("POST", "/clusters", kept)[0], 200)
        self.assertNotEqual(server.read(poll)[1], {"inputs": []}, "alive again")
        server.stop()

    def survives_a_kill(self, store):
        folder = self.folder_of(store)
        server = Server(folder, store, "harbour.json")
        for number in range(20):
            self.assertEqual(server.write("POST", "/namespaces", {"id": f"n{number}"})[0], 200)
        server.stop(signal.SIGKILL)
        server = Server(folder, store, "harbour.json")
        names = {one["id"] for one in server.read("/namespaces")[1]}
        self.assertLessEqual({f"n{number}" for number in range(20)}, names)
        server.stop()

    def trail(self, store):
        folder = self.folder_of(store)
        server = Server(folder, store, "harbour.json")
        for number in range(5):
            server.write("POST", "/namespaces", {"id": f"n{number}"})
        server.write("PUT", "/namespaces/n1", {"labels": {"a": "b"}})
        server.write("DELETE", "/clusters/cork-dev")
        status, answer = server.read("/audit")
        self.assertEqual(status, 200)
        self.assertEqual([one["id"] for one in answer["entries"]], ["cork-dev", "n1", "n4", "n3", "n2", "n1", "n0"])
        self.assertEqual((answer["entries"][0]["after"], answer["entries"][0]["before"]["id"], answer["cursor"]), (None, "cork-dev", None))
        self.assertEqual([one["method"] for one in server.read("/audit?family=namespaces&id=n1")[1]["entries"]], ["PUT", "POST"])
        self.assertEqual(server.read("/audit?actor=nobody")[1]["entries"], [])
        self.assertEqual(server.read("/audit?until=2020-01-01T00:00:00Z")[1]["entries"], [])
        self.assertEqual(len(server.read("/audit?since=2020-01-01T00:00:00Z")[1]["entries"]), 7)
        pages, cursor = [], ""
        while cursor is not None:
            page = server.read(f"/audit?limit=3{cursor and f'&cursor={cursor}'}")[1]
            pages += [one["seq"] for one in page["entries"]]
            cursor = page["cursor"]
        self.assertEqual(pages, [7, 6, 5, 4, 3, 2, 1])
        for query in ("since=yesterday", "until=", "limit=x", "cursor=-1"):
            self.assertEqual(server.read(f"/audit?{query}")[0], 400)
        # A tombstone is looked at and dropped.
        poll = "/api/v2/flux/clusters/cork-dev.harbour.test/namespaces"
        buried = server.read("/tombstones")[1]
        self.assertEqual([(one["cluster_dns"], one["cluster"], one["deleted_by"]) for one in buried], [("cork-dev.harbour.test", "cork-dev", "writer")])
        self.assertEqual(server.read(poll)[0], 200)
        status, dropped = server.write("DELETE", "/tombstones/cork-dev.harbour.test")
        self.assertEqual((status, dropped), (200, {**buried[0], "polls": 1, "last_poll": dropped["last_poll"]}))
        self.assertEqual(server.write("DELETE", "/tombstones/cork-dev.harbour.test")[0], 404)
        self.assertEqual(server.read(poll)[0], 404)
        self.assertEqual(server.read("/audit?family=tombstones")[1]["entries"][0]["id"], "cork-dev.harbour.test")
        server.stop()
        server = Server(folder, store, "harbour.json")
        self.assertEqual((server.read(poll)[0], server.read("/tombstones")[1]), (404, []))
        server.stop()

    def together(self, *calls):
        threads = [threading.Thread(target=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def races(self, store):
        folder = self.folder_of(store)
        server = Server(folder, store, "harbour.json")
        for number in range(60):
            fields = {"node_count": number, "vm_image": f"i{number}", "k0s_version": f"k{number}"}
            told = []
            self.together(*(lambda field=field, value=value, told=told: told.append(server.write("PUT", "/clusters/cork-dev", {field: value})[0])
                            for field, value in fields.items()))
            self.assertEqual(told, [200, 200, 200])
            record = server.read("/clusters/cork-dev")[1]
            self.assertEqual({field: record[field] for field in fields}, fields)
        for number in range(60):
            told = []
            self.together(*(lambda told=told, number=number: told.append(server.write("POST", "/namespaces", {"id": f"race-{number}"})[0])
                            for _ in range(4)))
            self.assertEqual(sorted(told), [200, 409, 409, 409])
        server.stop()


class Transcripts(OnEveryStore):
    def test_sqlite(self):
        self.replay("sqlite")

    def test_memory(self):
        self.replay("memory")


class Restarts(OnEveryStore):
    def test_a_deleted_cluster_stays_deleted_sqlite(self):
        self.deleted_stays_deleted("sqlite")

    def test_a_deleted_cluster_stays_deleted_memory(self):
        self.deleted_stays_deleted("memory")

    def test_what_was_acknowledged_survives_a_kill_sqlite(self):
        self.survives_a_kill("sqlite")

    def test_what_was_acknowledged_survives_a_kill_memory(self):
        self.survives_a_kill("memory")

    def test_a_file_of_the_first_version_is_taken_over(self):
        seed = json.loads((CASES / "harbour.json").read_text(encoding="utf-8"))
        connection = sqlite3.connect(self.folder / "fleet.db")
        for table, key, ident in (("clusters", "clusters", "_id"), ("components", "platform_components", "_id"), ("namespaces", "namespaces", "id"),
                                  ("rolebindings", "rolebindings", "id")):
            connection.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY, data TEXT NOT NULL)")
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(one[ident], json.dumps(one)) for one in seed.get(key, [])])
        connection.execute("INSERT INTO clusters VALUES ('broken', '{')")
        connection.commit()
        connection.close()
        (self.folder / "seed.json").write_text("not read", encoding="utf-8")
        server = Server(self.folder, "sqlite", "harbour.json")
        self.assertEqual([one["id"] for one in server.read("/clusters")[1]], sorted(one["_id"] for one in seed["clusters"]))
        self.assertEqual(server.read("/api/v2/flux/clusters/oslo-prod.harbour.test/namespaces")[0], 200, "one bad record harms nobody else")
        self.assertEqual(server.write("PUT", "/clusters/oslo-prod", {"node_count": 11})[1]["node_count"], 11)
        server.stop()
        connection = sqlite3.connect(self.folder / "fleet.db")
        data = json.loads(connection.execute("SELECT data FROM clusters WHERE id = 'oslo-prod'").fetchone()[0])
        self.assertEqual((data["_id"], data["node_count"]), ("oslo-prod", 11), "still readable for the first version")
        connection.close()

    def test_every_change_has_its_audit_entry(self):
        server = Server(self.folder, "sqlite", "harbour.json")
        server.write("POST", "/namespaces", {"id": "a"})
        server.write("PUT", "/namespaces/a", {"labels": {"x": "y"}})
        server.write("PUT", "/namespaces/a", {"labels": {"x": "y"}})  # nothing changes
        server.write("PUT", "/namespaces/none", {})
        server.write("DELETE", "/namespaces/a")
        server.stop()
        connection = sqlite3.connect(self.folder / "fleet.db")
        trail = connection.execute("SELECT actor, method, path, family, id, before IS NULL, after IS NULL, version FROM fleet_audit ORDER BY seq").fetchall()
        connection.close()
        self.assertEqual(trail, [("writer", "POST", "/namespaces", "namespaces", "a", 1, 0, 1),
                                 ("writer", "PUT", "/namespaces/a", "namespaces", "a", 0, 0, 2),
                                 ("writer", "DELETE", "/namespaces/a", "namespaces", "a", 0, 1, 2)])


class Trail(OnEveryStore):
    def test_sqlite(self):
        self.trail("sqlite")

    def test_memory(self):
        self.trail("memory")


class Concurrency(OnEveryStore):
    def test_no_acknowledged_change_is_lost(self):
        for store in STORES:
            with self.subTest(store):
                self.races(store)

    def test_two_writers_and_a_reader_on_one_file(self):
        """No change is lost between processes, and what one acknowledged the others serve within a second."""
        first = Server(self.folder, "sqlite", "harbour.json")
        others = [Server(self.folder, "sqlite", "harbour.json"), Server(self.folder, "sqlite", "harbour.json", API_MODE="read-only")]
        for number in range(40):
            fields = {"node_count": 1000 + number, "vm_image": f"i{number}"}
            told = []
            self.together(*(lambda server=server, field=field, told=told: told.append(server.write("PUT", "/clusters/cork-dev", {field: fields[field]})[0])
                            for server, field in zip((first, others[0]), fields)))
            self.assertEqual(told, [200, 200])
            record = first.write("PUT", "/clusters/cork-dev", {})[1]  # a write sees what the others wrote
            self.assertEqual({field: record[field] for field in fields}, fields)
            told = []
            self.together(*(lambda server=server, told=told, number=number: told.append(server.write("POST", "/namespaces", {"id": f"race-{number}"})[0])
                            for server in (first, others[0])))
            self.assertEqual(sorted(told), [200, 409])
        self.assertEqual(first.write("PUT", "/platform_components/dash", {"component_path": "moved"})[0], 200)
        self.assertEqual(first.write("DELETE", "/clusters/bonn-uat")[0], 200)
        acknowledged = time.monotonic()
        for server in others:
            poll = "/api/v2/flux/clusters/cork-dev.harbour.test/platform-components"
            while not any(one["component_path"] == "moved" for one in server.read(poll)[1]["inputs"]):
                self.assertLess(time.monotonic() - acknowledged, 5)
            while server.read("/api/v2/flux/clusters/bonn-uat.harbour.test/namespaces") != (200, {"inputs": []}):
                self.assertLess(time.monotonic() - acknowledged, 5)
        first.stop(signal.SIGKILL)
        self.assertEqual(others[0].write("PUT", "/clusters/cork-dev", {"node_count": 7})[1]["vm_image"], "i39")
        for server in others:
            server.stop()

    def test_a_file_that_another_program_changes(self):
        server = Server(self.folder, "sqlite", "harbour.json")
        connection = sqlite3.connect(self.folder / "fleet.db")
        data = json.loads(connection.execute("SELECT data FROM clusters WHERE id = 'cork-dev'").fetchone()[0])
        connection.execute("UPDATE clusters SET data = ? WHERE id = 'cork-dev'", (json.dumps({**data, "node_count": 77}),))
        connection.commit()
        connection.close()
        began = time.monotonic()
        while server.read("/clusters/cork-dev")[1].get("node_count") != 77:
            self.assertLess(time.monotonic() - began, 5)
        server.stop()

    def test_versions(self):
        server = Server(self.folder, "sqlite", "harbour.json")
        _, headers, _ = server.ask("GET", "/clusters/cork-dev", headers=READ)
        self.assertEqual(server.ask("GET", "/clusters/cork-dev", headers={**READ, "If-None-Match": headers["etag"]})[0], 304)
        self.assertEqual(server.write("PUT", "/clusters/cork-dev", {"node_count": 101}, **{"If-Match": headers["etag"]})[0], 200)
        self.assertEqual(server.write("PUT", "/clusters/cork-dev", {"node_count": 102}, **{"If-Match": headers["etag"]})[0], 412)
        self.assertEqual(server.write("DELETE", "/clusters/cork-dev", **{"If-Match": headers["etag"]})[0], 412)
        self.assertEqual(server.read("/clusters/cork-dev")[1]["node_count"], 101)
        poll = "/api/v2/flux/clusters/cork-dev.harbour.test/platform-components"
        _, headers, body = server.ask("GET", poll, headers=READ)
        self.assertEqual(server.ask("GET", poll, headers={**READ, "If-None-Match": headers["etag"]})[0], 304)
        self.assertEqual(server.ask("GET", poll, headers=READ)[2], body, "the same bytes")
        server.stop()

    def test_patch_merges(self):
        server = Server(self.folder, "sqlite", "harbour.json")
        before = server.read("/clusters/oslo-prod")[1]
        status, after = server.write("PATCH", "/clusters/oslo-prod", {"platform_components": [{"id": "dash", "oci_tag": "canary"}], "node_count": None,
                                                                    "patches": {"edge-proxy": {"replicaCount": None, "new": "1"}}})
        self.assertEqual(status, 200)
        self.assertNotIn("node_count", after)
        self.assertEqual(after["patches"]["edge-proxy"], {"new": "1", "service.type": "LoadBalancer"})
        for old, new in zip(before["platform_components"], after["platform_components"]):
            self.assertEqual(new, {**old, "oci_tag": "canary"} if old["id"] == "dash" else old)
        server.stop()


class Client(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = Server(self.folder, "sqlite", "harbour.json")
        self.addCleanup(self.server.stop)

    def fleet(self, *args, code=0, **env):
        env = {"FLUX_API_URL": f"http://127.0.0.1:{self.server.port}", "FLUX_API_TOKEN": "read-token", "FLUX_API_WRITE_TOKEN": "write-token", **env}
        ended = harness.run("fleet", *args, env=harness.environment(**env))
        self.ends(ended, code)
        return ended

    def told(self, *args):
        return json.loads(self.fleet(*args, "-o", "json").stdout)

    def test_records(self):
        self.assertEqual([one["id"] for one in self.told("cluster", "list", "--filter", "environment=dev")], ["cork-dev"])
        self.assertEqual(self.told("cluster", "get", "cork-dev")["cluster_name"], "CORK-DEV")
        self.assertEqual(self.told("namespace", "create", "a/b", "--label", "x=y=z")["labels"], {"x": "y=z"})
        self.assertEqual(self.told("namespace", "create", "a/b", "--annotation", "n=")["labels"], {"x": "y=z"}, "what is not given stays")
        self.assertEqual(self.told("namespace", "delete", "a/b")["annotations"], {"n": ""})
        self.assertIn("no namespace a/b", self.fleet("namespace", "get", "a/b", code=1).stderr)
        self.assertIn("--force", self.fleet("component", "delete", "--help").stdout)
        self.assertIn("409", self.fleet("component", "delete", "certs", code=1).stderr)

    def test_a_component_of_a_cluster(self):
        made = self.fleet("component", "create", "cache", "--component-path", "p", "--component-version", "1", "--oci-url", "oci://x", "--oci-tag", "t",
                          "--cluster", "cork-dev", "--disabled", "--cluster-oci-tag", "canary").stdout
        self.assertEqual([line for line in made.splitlines() if line.startswith("#")], ["# component", "# cluster"])
        self.assertEqual(self.told("cluster", "get", "cork-dev")["platform_components"][-1], {"id": "cache", "enabled": False, "oci_tag": "canary"})
        again = self.fleet("component", "create", "cache", "--component-path", "other", "--component-version", "1", "--oci-url", "oci://x", "--oci-tag", "t")
        self.assertIn("component_path", again.stderr, "it is told that the entry differs")
        changed = self.told("component", "patch", "cache", "--cluster", "cork-dev", "--set", "a=b=c", "--set", "d=")
        self.assertEqual((changed["before"]["component_patches"], changed["after"]["component_patches"]), (None, {"a": "b=c", "d": ""}))
        self.assertEqual(self.told("component", "assign", "cache", "--cluster", "cork-dev")["platform_components"][-1], {"id": "cache", "enabled": True})
        self.assertNotIn("cache", json.dumps(self.told("component", "unassign", "cache", "--cluster", "cork-dev")), "its patches go with it")
        self.assertIn("no component cache", self.fleet("component", "unassign", "cache", "--cluster", "cork-dev", code=1).stderr)

    def test_a_file_is_applied_once(self):
        file = harness.write(self.folder / "fleet.yaml", """\
clusters:
  - {id: rome-qa, cluster_name: ROME, cluster_dns: rome.test, environment: qa, platform_components: [{id: certs}], namespaces: [{id: new}]}
namespaces:
  - {id: new, labels: {a: b}}
""")
        told = self.fleet("apply", "-f", file).stdout.splitlines()
        self.assertEqual(told[:4], ["created namespace new", "created cluster rome-qa", "created 2, changed 0, deleted 0, unchanged 0",
                                    "clusters that get another answer: 1 (qa 1)"])
        self.assertEqual(self.fleet("apply", "-f", file).stdout.splitlines(), ["created 0, changed 0, deleted 0, unchanged 2",
                                                                              "clusters that get another answer: 0"])
        self.assertEqual([one["id"] for one in self.told("poll-namespaces", "rome.test")["inputs"]], ["new"])
        self.assertEqual([one["family"] for one in self.told("audit")["entries"]], ["rollouts", "clusters", "namespaces"])

    def test_the_walk_through_and_wrong_usage(self):
        self.fleet("demo", "add-namespace", "cork-dev", "walk", "--label", "a=b")
        self.assertIn("walk", [one["id"] for one in self.told("demo", "flux-namespaces", "cork-dev.harbour.test")["inputs"]])
        self.assertEqual(self.told("demo", "patch-component", "cork-dev", "dash", "--set", "k=v")["after"]["component_patches"]["k"], "v")
        self.fleet(code=2)
        self.fleet("cluster", code=2)
        self.fleet("component", "patch", "dash", "--cluster", "cork-dev", "--set", "=v", code=2)
        self.assertIn("FLUX_API_TOKEN", self.fleet("cluster", "list", code=2, FLUX_API_TOKEN="").stderr)
        self.assertIn("401", self.fleet("cluster", "list", code=1, FLUX_API_TOKEN="wrong").stderr)
        self.fleet("cluster", "list", code=1, FLUX_API_URL="http://127.0.0.1:1")


class Settings(harness.Case):
    def test_wrong_settings_are_told(self):
        cases = ((dict(AUTH_TOKEN=None), "AUTH_TOKEN"), (dict(API_MODE="both"), "API_MODE"), (dict(STORE_BACKEND="disk"), "STORE_BACKEND"),
                 (dict(DATABASE_URL="mysql://x"), "DATABASE_URL"), (dict(LISTEN_ADDR="8080"), "LISTEN_ADDR"), (dict(SEED_FILE="/none"), "SEED_FILE: cannot read /none"),
                 (dict(OPENAPI_FILE="/none"), "OPENAPI_FILE"))
        for settings, named in cases:
            with self.subTest(named):
                env = {"AUTH_TOKEN": "t", "DATABASE_URL": f"sqlite://{self.folder}/{len(named)}.db?mode=rwc", "SEED_FILE": str(CASES / "harbour.json"),
                       "LISTEN_ADDR": "127.0.0.1:0", **settings}
                ended = harness.run("fleet", "serve", env=harness.environment(**{k: v for k, v in env.items() if v is not None}), timeout=30)
                self.assertEqual(ended.returncode, 2)
                self.assertIn(named, ended.stderr)

    def test_a_seed_outside_the_rules_is_refused(self):
        ended = harness.run("fleet", "serve", env=harness.environment(AUTH_TOKEN="t", STORE_BACKEND="memory", SEED_FILE=str(CASES / "odd-environment.json"),
                                                                      LISTEN_ADDR="127.0.0.1:0"), timeout=30)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("kiel-stage", ended.stderr)


if __name__ == "__main__":
    harness.main()
