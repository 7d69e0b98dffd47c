#!/usr/bin/env python3
"""The web console of a running operator, on the sandbox: targets, inventories, sinks, profiles with their conditions in plain words, live rows."""
import http.client
import json
import pathlib

import cluster_inventory_test as rollups
import cluster_kinds_test as kinds
import console_store as store
import harness
import operator_test as op
from browser import Browser
from console_test import ROWS, SCREENSHOTS, faults
from sandbox import Sandbox

NAME = [{"name": "n", "path": "$.metadata.name"}]


class OfOperator(op.Scenario):
    def setUp(self):
        super().setUp()
        made = [kinds.namespace(ns, {}, {}) for ns in ("atlas", "ops")] + [kinds.deployment("atlas", f"app-{i}", {"app": f"app-{i}"}) for i in range(5)]
        made += [kinds.ours("KollectProfile", "apps", "ops", targetGVK=kinds.DEPLOYMENT, attributes=NAME),
                 kinds.ours("KollectTarget", "apps", "ops", profileRef="apps", includedNamespaces=["atlas"]),
                 kinds.ours("KollectTarget", "broken", "ops", profileRef="no-such-profile"),
                 kinds.ours("KollectDatabaseSink", "file", "ops", type="sqlite", sqlite={"path": "ops.db"}),
                 kinds.ours("KollectInventory", "all", "ops", databaseSinkRefs=[{"name": "file"}])]
        self.sandbox = Sandbox(self.folder, "".join(map(rollups.document, made)))
        self.addCleanup(self.sandbox.stop)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.port = harness.free_port()
        self.operator("--sqlite-dir", str(self.folder), "--export-start-spread", "0s", "--inventory-http-enabled", "--inventory-ui", "--inventory-auth-mode", "disabled",
                      "--inventory-bind-address", "127.0.0.1", "--inventory-http-port", str(self.port))
        op.until("rows are served", lambda: self.total() == 5)
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except OSError:
            return None
        finally:
            connection.close()

    def total(self):
        return ((self.get("/v1alpha1/inventory?limit=1") or {}).get("pagination") or {}).get("total")

    def open(self, page):
        self.browser.go(f"http://127.0.0.1:{self.port}/ui/{page}")
        return self.browser

    def picture(self, name):
        if SCREENSHOTS:
            self.browser.screenshot(pathlib.Path(SCREENSHOTS) / f"{name}.png")

    def test_everything_of_an_operator(self):
        axe = store.axe_source()
        page = self.open("targets")
        page.wait(f"document.querySelectorAll({json.dumps(ROWS)}).length === 2", "two targets")
        page.sees("Degraded", f"{ROWS}:first-child")  # worst first
        page.click(ROWS, "broken")
        page.sees("ProfileNotFound", ".drawer")
        page.sees("There is no such profile. Rows go.", ".drawer")
        page.sees("Do: Create it, or correct the name.", ".drawer")
        page.sees("profileRef: no-such-profile", ".drawer pre")
        self.assertEqual(faults(page, axe), [])
        self.picture("targets")
        page.reload()
        page.sees("ProfileNotFound", ".drawer")
        page.choose("select[aria-label=Show]", "problems")
        page.wait(f"document.querySelectorAll({json.dumps(ROWS)}).length === 1", "only the broken one")

        page = self.open("")
        page.sees("ops/broken", "section[aria-label=Problems]")
        page.sees("Create it, or correct the name.", "section[aria-label=Problems]")
        self.assertEqual(faults(page, axe), [])
        page.click("section[aria-label=Problems] a", "broken")
        page.sees("broken", ".drawer h2")

        page = self.open("inventories")
        page.click(ROWS, "all")
        page.sees("What there is, is in the sinks.", ".drawer")
        page.sees("database/file", ".drawer .exports")
        page.wait("document.querySelector('.exports .condition-good') !== null", "the export is well")
        self.assertEqual(faults(page, axe), [])
        self.picture("inventories")
        page.click(".drawer .button", "See its rows")
        page.sees("5 rows", ".count")
        page.sees("Exports", ".chips[aria-label='Exports of this inventory']")

        page = self.open("sinks")
        page.click(ROWS, "file")
        page.sees("The probe passed.", ".drawer")
        page.sees("Ready", f"{ROWS}:first-child")
        page.sees("all", ".drawer")
        page.sees("Last exports", ".drawer")
        self.assertEqual(faults(page, axe), [])
        self.picture("sinks")
        page = self.open("profiles")
        page.click(ROWS, "apps")
        page.sees("path: $.metadata.name", ".drawer pre")
        page = self.open("scopes")
        page.sees("Without scopes every kind may be collected")

        # Rows appear and go while the page is open.
        page = self.open("inventory?q=app-")
        page.sees("5 rows", ".count")
        page.sees("Live", ".live")
        self.sandbox.call("POST", "/apis/apps/v1/namespaces/atlas/deployments", kinds.deployment("atlas", "app-new", {"app": "new"}))
        page.sees("app-new", "[data-table]")
        page.sees("6 rows", ".count")
        self.sandbox.call("DELETE", "/apis/apps/v1/namespaces/atlas/deployments/app-0")
        page.wait("!document.querySelector('[data-table]').innerText.includes('app-0')", "a row that has gone")
        self.assertEqual(page.complaints(), [])

    def test_a_cluster_inventory(self):
        ours = "/apis/kollect.dev/v1alpha1/"
        self.sandbox.call("POST", ours + "kollectclustertargets", kinds.ours("KollectClusterTarget", "wide", None, profileRef={"namespace": "ops", "name": "apps"}))
        self.sandbox.call("POST", ours + "kollectclusterinventories", kinds.ours("KollectClusterInventory", "rollup", None, sinkNamespace="ops", databaseSinkRefs=[{"name": "file"}]))
        op.until("its rows", lambda: ((self.get("/v1alpha1/clusterinventory/rollup") or {}).get("pagination") or {}).get("total") == 5)
        page = self.open("inventories")
        page.click(ROWS, "rollup")
        page.click(".drawer .button", "See its rows")
        page.sees("5 rows", ".count")
        page.sees("Cluster inventory rollup", ".chips[aria-label=Filters]")
        page.sees("file", ".chips[aria-label='Exports of this inventory']")
        self.assertEqual(page.run("location.search"), "?clusterInventory=rollup")
        # Filters within it.
        page.key("/")
        page.type("app-3")
        page.sees("1 row", ".count")
        page.sees("app-3", "[data-table]")
        self.assertIsNone(page.run("document.querySelector('.notice-error')"))
        self.assertEqual(page.texts(".actions-row > *"), ["Columns ▾"])
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    harness.main()
