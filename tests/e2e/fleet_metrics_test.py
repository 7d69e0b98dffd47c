#!/usr/bin/env python3
"""/metrics of `kollect fleet serve`: every request is counted once under its route, the store's state is told; and answers that are too old
are no longer given."""
import re
import sqlite3

import fleet_test
import harness

ID = {"id": "x", "labels": {}}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{NAME}="(?:[^"\\]|\\.)*",?)*)\}})? (\S+)')


def samples(page):
    """{(name, labels as a frozenset): value}; the page must follow the format (Prometheus text 0.0.4)."""
    found, types, done = {}, {}, set()
    family = None
    for line in page.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in done, f"{family} is there twice"
            done.add(family)
            types[family] = kind
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert re.sub("_(bucket|sum|count)$", "", name) == family if types[family] == "histogram" else name == family, line
        key = (name, frozenset(re.findall(rf'({NAME})="((?:[^"\\]|\\.)*)"', labels or "")))
        assert key not in found, line
        found[key] = float(value)
    return found


class Metrics(harness.Case):
    def start(self, **settings):
        server = fleet_test.Server(self.folder, "sqlite", "harbour.json", **settings)
        self.addCleanup(lambda: server.process.poll() is not None or server.stop())
        return server

    def page(self, server):
        status, headers, text = server.ask("GET", "/metrics")
        self.assertEqual((status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        return samples(text.decode())

    def test_every_request_is_counted_under_its_route(self):
        server = self.start()
        _, clusters = server.read("/clusters")
        dns = clusters[0]["cluster_dns"]
        polls = "/api/v2/flux/clusters/{cluster_dns}/"
        before = self.page(server)
        calls = [("GET", f"/api/v2/flux/clusters/{dns}/platform-components", None, 200)] * 3
        calls += [("HEAD", f"/api/v2/flux/clusters/{dns}/namespaces", None, 200), ("GET", "/api/v2/flux/clusters/none/namespaces", None, 404),
                  ("GET", "/api/v2/flux/clusters", None, 200), ("POST", "/namespaces", ID, 200), ("POST", "/namespaces", ID, 409),
                  ("GET", "/namespaces/x", None, 200), ("DELETE", "/namespaces/x", None, 200), ("GET", "/no/such/path/at/all", None, 404),
                  ("GET", "/ready", None, 200), ("GET", "/audit", None, 200)]
        for method, path, body, wanted in calls:
            status, _, _ = server.ask(method, path, body, fleet_test.WRITE if method in ("POST", "DELETE") else fleet_test.READ)
            self.assertEqual(status, wanted, (method, path))
        server.ask("GET", f"/api/v2/flux/clusters/{dns}/namespaces")  # without a token: nobody's route
        after = self.page(server)

        def grown(name, **labels):
            key = (name, frozenset(labels.items()))
            return after.get(key, 0) - before.get(key, 0)

        total = "kollect_fleet_requests_total"
        self.assertEqual(grown(total, route=polls + "platform-components", method="GET", code="200"), 3)
        self.assertEqual(grown(total, route=polls + "namespaces", method="GET", code="200"), 1)
        self.assertEqual(grown(total, route=polls + "namespaces", method="GET", code="404"), 1)
        self.assertEqual(grown(total, route="/api/v2/flux/clusters", method="GET", code="200"), 1)
        self.assertEqual(grown(total, route="/namespaces", method="POST", code="200"), 1)
        self.assertEqual(grown(total, route="/namespaces", method="POST", code="409"), 1)
        self.assertEqual(grown(total, route="/namespaces/{id}", method="GET", code="200"), 1)
        self.assertEqual(grown(total, route="/namespaces/{id}", method="DELETE", code="200"), 1)
        self.assertEqual(grown(total, route="/audit", method="GET", code="200"), 1)
        self.assertEqual(grown(total, route="/ready", method="GET", code="200"), 1)
        self.assertEqual(grown(total, route="none", method="", code="404"), 1)
        self.assertEqual(grown(total, route="none", method="", code="401"), 1)
        self.assertEqual(grown("kollect_fleet_request_duration_seconds_count", route=polls + "platform-components", method="GET"), 3)
        self.assertEqual(grown("kollect_fleet_changes_total", origin="here"), 2)
        self.assertEqual(after[("kollect_fleet_records", frozenset({("family", "clusters")}))], len(clusters))
        self.assertEqual(after[("kollect_fleet_store_up", frozenset())], 1)
        self.assertGreater(after[("kollect_fleet_answer_bytes_max", frozenset())], 10)
        self.assertGreater(after[("process_resident_memory_bytes", frozenset())], 1 << 20)

    def test_a_store_that_is_lost_is_told_and_old_answers_end(self):
        server = self.start(STALE_LIMIT="2s")
        _, clusters = server.read("/clusters")
        path = f"/api/v2/flux/clusters/{clusters[0]['cluster_dns']}/namespaces"
        good = server.ask("GET", path, headers=fleet_test.READ)
        self.assertEqual(good[0], 200)
        file = sqlite3.connect(self.folder / "fleet.db", isolation_level=None)
        file.execute("ALTER TABLE fleet_audit RENAME TO lost")

        def until(wanted):
            while True:
                answer = server.ask("GET", path, headers=fleet_test.READ)
                if wanted(answer):
                    return answer
                # Never anything else than the last good state or an error.
                self.assertIn((answer[0], answer[2]), ((200, good[2]), (503, answer[2])))

        file.execute("INSERT INTO lost SELECT * FROM lost LIMIT 0")
        warned = until(lambda a: "warning" in a[1])
        self.assertEqual((warned[0], warned[2]), (200, good[2]))
        page = self.page(server)
        self.assertEqual(page[("kollect_fleet_store_up", frozenset())], 0)
        self.assertEqual(server.ask("GET", "/ready")[0], 503)
        until(lambda a: a[0] == 503)
        self.assertGreater(self.page(server)[("kollect_fleet_store_contact_age_seconds", frozenset())], 2)
        file.execute("ALTER TABLE lost RENAME TO fleet_audit")
        back = until(lambda a: a[0] == 200 and "warning" not in a[1])
        self.assertEqual(back[2], good[2])
        self.assertEqual(server.ask("GET", "/ready")[0], 200)


if __name__ == "__main__":
    harness.main()
