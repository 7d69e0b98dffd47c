#!/usr/bin/env python3
"""The web console in Chromium, on `kollect serve` over what `kollect collect` has written: every view, filters and links, errors, keys, colours,
accessibility, a long table. KOLLECT_SCREENSHOTS=FOLDER keeps pictures of the views."""
import json
import os
import pathlib
import shutil
import sqlite3
import tempfile
import time
import unittest
import urllib.parse

import console_store as store
import fleet_drift_test as drift
import harness
from browser import Browser
from fleet_test import Server

SCREENSHOTS = os.environ.get("KOLLECT_SCREENSHOTS")
ROWS = "[data-table] .table-body .row"
LONG = 100_000
CHECKOUT = "Deployment in shop-prod"


class Console(unittest.TestCase):
    """One browser, one store and one server for all of a class; each test begins on a fresh page without anything remembered."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kollect-console-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.database = cls.make_store()
        cls.server = cls.serve()
        cls.addClassCleanup(lambda: cls.server.stop())
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def make_store(cls):
        return store.fleet_store(cls.folder)

    @classmethod
    def serve(cls, *flags, **options):
        return store.Serve(cls.folder, cls.database, *flags, **options)

    def setUp(self):
        self.browser.send("Emulation.setEmulatedMedia", features=[])
        self.browser.size(1360, 850)
        self.browser.go(f"{self.server.url}/ui/")
        self.browser.run("sessionStorage.clear(), localStorage.clear()")
        self.browser.events.clear()

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def open(self, page="", **query):
        query = {name.replace("__", "."): value for name, value in query.items()}
        address = f"{self.server.url}/ui/{page}"
        self.browser.go(address + ("?" + urllib.parse.urlencode(query) if query else ""))
        return self.browser

    def picture(self, name):
        if SCREENSHOTS:
            self.browser.wait("document.querySelector('.loading, .skeleton') === null", "everything is there")
            self.browser.screenshot(pathlib.Path(SCREENSHOTS) / f"{name}.png")

    def query(self):
        """Of the page's address."""
        return dict(urllib.parse.parse_qsl(self.browser.run("location.search").lstrip("?")))

    def rows(self, number, what="rows"):
        self.browser.wait(f"document.querySelectorAll({json.dumps(ROWS)}).length === {number} && document.querySelector('.skeleton') === null", f"{number} {what}")

    def total(self, **query):
        parameters = {name.replace("__", "."): value for name, value in query.items()}
        answer = self.server.get("/v1alpha1/inventory?" + urllib.parse.urlencode({**parameters, "limit": 1}))
        return answer.get("pagination", {}).get("total", 0)

    def counted(self, number):
        word = "row" if number == 1 else "rows"
        self.browser.wait(f"document.querySelector('.count')?.innerText === {json.dumps(f'{number:,} {word}')}", f"{number:,} {word}")


class Views(Console):
    def test_overview(self):
        page = self.open()
        page.sees("lyon-qa")
        overview = self.server.get("/v1alpha1/overview")
        self.assertEqual(overview["clusters"], 3)
        figures = dict(zip(page.texts(".figure-label"), page.texts(".figure-value")))
        self.assertEqual(figures, {"rows": f"{overview['rows']:,}", "clusters": "3", "inventories": str(overview["inventories"])})
        # What is old is said, and where.
        page.sees("Old data:", ".notice-warning")
        page.sees("of lyon-qa was last exported 2 d ago", ".notice-warning")
        page.sees("2 d ago", "section[aria-label=Clusters] .stale")
        self.picture("overview")
        page.click("section[aria-label=Clusters] a", "cork-dev")
        self.counted(self.total(cluster="cork-dev"))
        self.assertEqual(self.query(), {"cluster": "cork-dev"})

    def test_pages_that_a_database_does_not_have(self):
        page = self.open()
        page.sees("SQLite", ".top")
        self.assertEqual(page.texts(".top nav a"), ["Overview", "Inventory", "Inventories"])
        page = self.open("targets")
        page.sees("Targets, sinks and their conditions live in the cluster")
        page = self.open("fleet")
        page.sees("--fleet-url")
        page = self.open("nowhere")
        page.sees("There is no such page")

    def test_inventories(self):
        page = self.open("inventories")
        names = [f"{one['cluster']} {one['name']}" for one in self.server.get("/v1alpha1/inventories")["items"]]
        self.rows(len(names), "inventories")
        page.click(".search")
        page.type("cork")
        self.rows(sum(one.startswith("cork-dev") for one in names), "inventories of cork-dev")
        self.picture("inventories-of-a-database")
        page.click(ROWS, "deployment-images")
        self.counted(self.total(cluster="cork-dev", inventory="deployment-images", inventoryNamespace="kollect-system"))
        self.assertEqual(self.query()["inventory"], "deployment-images")

    def test_search_and_filters_stand_in_the_address(self):
        page = self.open("inventory")
        self.counted(self.total())
        self.picture("inventory")
        page.key("/")
        page.type("checkout")
        self.counted(self.total(q="checkout"))
        self.assertEqual(self.query(), {"q": "checkout"})
        page.click("input[aria-label='Filter by kind']")
        page.type("Deployment")
        page.key("Enter")
        page.sees("Kind Deployment", ".chips")
        self.counted(self.total(q="checkout", kind="Deployment"))
        page.click("input[aria-label='Filter by cluster']")
        page.wait("document.querySelectorAll('#values-cluster option').length === 3", "suggestions of clusters")
        page.type("oslo-prod")
        page.key("Enter")
        wanted = {"q": "checkout", "kind": "Deployment", "cluster": "oslo-prod"}
        self.counted(self.total(**wanted))
        self.assertEqual(self.query(), wanted)
        page.reload()
        self.counted(self.total(**wanted))
        self.assertEqual(page.run("document.querySelector('.search').value"), "checkout")
        # Back and forth, then away with them.
        page.run("history.back()")
        page.wait("document.querySelectorAll('.chip').length === 1", "one filter less")
        page.run("history.forward()")
        page.wait("document.querySelectorAll('.chip').length === 2", "the filter again")
        page.click(".chip-remove")
        page.click("button.link", "Clear all")
        self.counted(self.total())
        self.assertEqual(self.query(), {})

    def test_attributes_as_filters_columns_and_groups(self):
        page = self.open("inventory", kind="Deployment")
        self.counted(self.total(kind="Deployment"))
        page.click(".menu > button", "Columns")
        page.click(".menu-columns fieldset:last-child label", "version")
        page.sees("version", "[data-table] .table-head")
        page.key("Escape")
        page.wait("document.querySelector('.menu-panel') === null", "the menu is closed")
        page.reload()
        page.sees("version", "[data-table] .table-head")  # remembered
        page.click("[data-table] .sort", "version")
        page.wait("document.querySelector('[aria-sort=ascending]') !== null", "sorted")
        self.assertEqual(self.query(), {"kind": "Deployment", "sort": "attributes.version"})
        page.choose("select[aria-label='Group by']", "attributes.version")
        groups = self.server.get("/v1alpha1/groups?kind=Deployment&by=attributes.version&limit=500")["items"]
        page.wait(f"document.querySelectorAll('.group').length === {len(groups)}", "groups")
        self.picture("groups")
        first = next(one for one in groups if one["values"][0])
        page.click(".group", first["values"][0])
        self.counted(first["rows"])
        page.sees(first["values"][0], ".chips")
        page = self.open("inventory", kind="Deployment", attr__version=first["values"][0])
        self.counted(first["rows"])
        page = self.open("inventory", q="nothing is called so")
        page.sees("No row matches")
        self.picture("no-match")

    def test_an_object_its_history_and_differences(self):
        page = self.open("inventory", cluster="oslo-prod", kind="Deployment", namespace="shop-prod", name="checkout")
        self.rows(1)
        page.click(ROWS)
        page.sees(CHECKOUT, ".drawer")
        page.sees("9.9.9", ".drawer")
        self.picture("object-drawer")
        deep = page.run("location.href")
        page.go(deep)
        page.sees("9.9.9", ".drawer")  # a link holds what is open
        page.key("Escape")
        page.wait("document.querySelector('.drawer') === null", "the drawer is closed")
        page.go(deep)
        page.click(".drawer .button", "history")
        page.wait("document.querySelectorAll('.versions tbody tr').length === 2", "two versions")
        page.sees("9.9.9", ".diff-after")
        self.assertIn("images", page.texts(".diff tbody th"))
        self.picture("object")
        page.click(".check", "same too")
        page.wait("document.querySelectorAll('.diff-same').length > 0", "what is the same")
        page.click(".versions tbody tr:last-child input[name=to]")
        page.sees("No attribute differs")
        self.assertIn("to", self.query())
        page.reload()
        page.sees("No attribute differs")
        # The table at the moment of the first version.
        first = page.run("[...document.querySelectorAll('.versions tbody tr:last-child td')][2].innerText")
        began = self.server.get("/v1alpha1/history?cluster=oslo-prod&kind=Deployment&group=apps&namespace=shop-prod&name=checkout")["items"][0]["validFrom"]
        self.assertEqual(first[:10], began[:10])
        page = self.open("inventory", cluster="oslo-prod", kind="Deployment", namespace="shop-prod", name="checkout", at=began)
        page.sees("As it was at", ".notice-info")
        self.rows(1)
        self.assertNotIn("9.9.9", page.text("[data-table]"))
        self.picture("time-travel")
        page.click(".notice .button", "Back to now")
        page.sees("9.9.9", "[data-table]")
        # Groups are of that moment as well.
        for at, wanted in ((began, 1), ("2001-01-01T00:00:00Z", 0)):
            page = self.open("inventory", at=at, by="cluster", cluster="oslo-prod", kind="Deployment", namespace="shop-prod", name="checkout")
            page.sees("1 group" if wanted else "0 groups", ".groups h2")
            self.assertEqual(len(page.texts(".group")), wanted)

    def test_files(self):
        folder = self.folder / "downloads"
        self.browser.downloads(folder)
        page = self.open("inventory", kind="Deployment", cluster="cork-dev")
        self.counted(self.total(kind="Deployment", cluster="cork-dev"))
        for label, name in (("CSV, everything", "inventory.csv"), ("NDJSON", "inventory.ndjson")):
            page.click(".menu > button", "Export")
            page.click(".menu-item", label)
            whole = f"format={name.split('.')[1]}&kind=Deployment&cluster=cork-dev"
            status, _, text = self.server.ask(f"/v1alpha1/export?{whole}")
            self.assertEqual(status, 200)
            wanted = text.splitlines()
            end = time.monotonic() + 30
            while not (folder / name).exists() or (folder / name).read_bytes().splitlines() != wanted:
                self.assertLess(time.monotonic(), end, f"{name} has not come: {list(folder.iterdir())}")
                page.drain()

    def test_keys(self):
        page = self.open("inventory", cluster="oslo-prod")
        self.counted(self.total(cluster="oslo-prod"))
        page.wait("document.querySelector('.skeleton') === null", "rows")
        page.key("ArrowDown")
        page.wait("document.activeElement?.dataset.table !== undefined", "the table has the focus")
        page.key("ArrowDown", 3)
        page.wait("document.querySelector('.row-cursor')?.getAttribute('aria-rowindex') === '4'", "the third row")
        name = page.text(".row-cursor .name")
        page.key("Enter")
        page.wait(f"document.querySelector('.drawer h2')?.innerText === {json.dumps(name)}", "its drawer")
        page.key("ArrowDown")
        page.wait("document.querySelector('.row-cursor')?.getAttribute('aria-rowindex') === '5'", "the next row")
        name = page.text(".row-cursor .name")
        page.wait(f"document.querySelector('.drawer h2')?.innerText === {json.dumps(name)}", "the drawer has followed")
        page.key("Escape")
        page.wait("document.querySelector('.drawer') === null", "the drawer is closed")
        page.key("End")
        page.wait(f"document.querySelector('.row-cursor')?.getAttribute('aria-rowindex') === '{self.total(cluster='oslo-prod') + 1}'", "the last row")
        page.key("?")
        page.sees("Keys", "dialog")
        page.key("Escape")
        page.wait("document.querySelector('dialog') === null", "the help is closed")
        page.key("/")
        page.wait("document.activeElement.type === 'search'", "the search has the focus")
        page.type("checkout")
        self.counted(self.total(cluster="oslo-prod", q="checkout"))
        page.key("Escape")
        self.counted(self.total(cluster="oslo-prod"))
        page.key("Escape")
        page.key("g")
        page.key("o")
        page.sees("Overview", "h1")

    def test_colours(self):
        page = self.open()
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.run(ground)
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        page.wait(f"{ground} !== {json.dumps(light)}", "dark as the system is")
        page.choose("select[aria-label=Colours]", "light")
        page.wait(f"{ground} === {json.dumps(light)}", "light as chosen")
        page.reload()
        page.wait(f"{ground} === {json.dumps(light)}", "light as remembered")
        page.choose("select[aria-label=Colours]", "dark")
        page = self.open("inventory", kind="Deployment")
        page.wait(f"{ground} !== {json.dumps(light)}", "dark as chosen")
        page.wait("document.querySelectorAll('.row .name').length > 5", "rows")
        self.picture("inventory-dark")

    def test_accessible(self):
        """axe finds nothing that is serious or critical, in light and dark."""
        source = store.axe_source()
        reference = self.server.get("/v1alpha1/inventory?cluster=oslo-prod&kind=Deployment&name=checkout&limit=1")["items"][0]["uid"]
        pages = {"overview": ("", {}, ".figure"), "inventory": ("inventory", {"by": "kind", "kind": "Deployment"}, ".group"),
                 "drawer": ("inventory", {"open": reference, "in": "oslo-prod"}, ".drawer dl"),
                 "object": ("object", {"ref": reference, "cluster": "oslo-prod"}, ".diff, .versions"),
                 "inventories": ("inventories", {}, ROWS), "no match": ("inventory", {"q": "no such thing"}, ".empty"), "fleet": ("fleet", {}, ".notice")}
        for dark in (False, True):
            self.browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
            for name, (page, query, seen) in pages.items():
                with self.subTest(name, dark=dark):
                    self.open(page, **query).wait(f"document.querySelector({json.dumps(seen)}) !== null && document.querySelector('.loading, .skeleton') === null", name)
                    self.assertEqual(faults(self.browser, source), [])

    def test_a_narrow_window(self):
        self.browser.size(390, 800)
        for page, query in (("", {}), ("inventory", {"kind": "Deployment"}), ("inventories", {})):
            self.open(page, **query).wait("document.querySelector('.figure, .row') !== null", page)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390, page)
        # What a row is about can be read without scrolling.
        self.open("inventory", kind="Deployment")
        self.browser.wait(f"document.querySelector({json.dumps(ROWS)}) !== null && document.querySelector('.skeleton') === null", "rows")
        ends = self.browser.run(f"(e => e.getBoundingClientRect().right)(document.querySelector({json.dumps(ROWS + ' .name')}))")
        self.assertLessEqual(ends, 390)

    def test_attributes_have_columns(self):
        """Long names too: the server is asked for the attributes that are shown and for no others."""
        self.open("inventory", kind="Deployment", cluster="oslo-prod", namespace="shop-prod", name="checkout")
        self.browser.run("localStorage.setItem('kollect.columns', JSON.stringify(['name', 'attr:images', 'attr:serviceAccount', 'attr:replicas']))")
        self.browser.reload()
        self.rows(1)
        wanted = self.server.get("/v1alpha1/inventory?kind=Deployment&cluster=oslo-prod&namespace=shop-prod&name=checkout")["items"][0]["attributes"]
        cells = self.browser.run(f"[...document.querySelectorAll({json.dumps(ROWS + ' > *')})].map(e => e.innerText.trim())")
        self.assertEqual(cells, ["checkout", *wanted["images"], wanted["serviceAccount"], str(wanted["replicas"])])

    def test_first_view(self):
        """Its size is asserted; its time depends on the machine and is told."""
        page = self.browser
        page.send("Network.setCacheDisabled", cacheDisabled=True)
        page.events.clear()
        page.go(f"{self.server.url}/ui/")
        page.sees("clusters", ".figures")
        drawn = page.run("performance.now()")
        painted = page.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
        sizes = page.run("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).map(e => [e.name, e.transferSize])")
        page.send("Network.setCacheDisabled", cacheDisabled=False)
        static = sum(size for name, size in sizes if "/ui/" in name)
        whole = sum(size for _, size in sizes)
        print(f"first view: {static / 1024:.1f} KiB of console, {whole / 1024:.1f} KiB with its data (limit 200); first paint after {painted:.0f} ms, "
              f"data seen after {drawn:.0f} ms or less (limit 1000)", flush=True)
        self.assertGreater(static, 10_000)
        self.assertLessEqual(whole, 200 * 1024)

    def test_nothing_of_the_console_is_inline(self):
        status, headers, _ = self.server.ask("/ui/inventory")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["content-security-policy"])
        # The policy holds in the browser.
        page = self.open()
        page.run("document.head.append(Object.assign(document.createElement('script'), {textContent: 'globalThis.inline = 1'}))")
        self.assertIsNone(page.run("globalThis.inline"))
        self.browser.complaints()

    def test_pages_that_were_left_have_no_stream(self):
        """A browser keeps pages for its back button; with a stream each they would use up its connections to the server."""
        server = self.serve("--max-streams", "3")
        self.addCleanup(server.stop)
        page = self.browser
        for turn in range(9):
            page.go(f"{server.url}/ui/inventory?q=turn-{turn}")
            page.sees("Live", ".live")
        page.run("history.back()")
        page.wait("location.search === '?q=turn-7'", "the page before")
        page.sees("Live", ".live")

    def test_live(self):
        """What a sink writes while the page is open appears in it."""
        page = self.open("inventory", q="appears-live")
        page.sees("No row matches")
        page.sees("Live", ".live")
        harness.write(self.folder / "live/one.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: appears-live, uid: 5f0e2d51-6a9e-4d6c-8a77-2f0a4f0a9a10}\n")
        store.collect(self.database, self.folder / "live", "live-test", ("namespaces",))
        page.sees("appears-live", "[data-table]")
        self.counted(1)
        with sqlite3.connect(self.database) as connection:
            for table in ("inventory", "inventory_exports", "inventory_history"):
                connection.execute(f"DELETE FROM {table} WHERE cluster = 'live-test'")
        connection.close()
        page.sees("No row matches")


def faults(browser, source):
    """What axe finds serious or critical, as (rule, element)."""
    browser.run(source + "; true")
    found = browser.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
                        ".flatMap(v => v.nodes.map(n => [v.id, n.html.slice(0, 160), n.failureSummary.slice(0, 300)])))")
    return found


class Trouble(Console):
    """Refusals, a server that has gone, a store that has gone."""

    def setUp(self):
        tokens = self.folder / "tokens"
        tokens.write_text("everything all-seeing-token-0001\noslo only-oslo-token-000002 clusters=oslo-prod\n", encoding="utf-8")
        self.server.stop()
        type(self).server = self.serve("--token-file", str(tokens))
        super().setUp()

    def test_tokens(self):
        page = self.open("inventory", kind="Deployment")
        page.sees("A token is needed")
        self.picture("token")
        page.click("input[type=password]")
        page.type("wrong")
        page.key("Enter")
        page.sees("Your token is not taken")
        page.click("input[type=password]")
        page.run("document.querySelector('input[type=password]').select()")
        page.type("only-oslo-token-000002")
        page.key("Enter")
        page.sees("Inventory", "h1")
        page.wait("document.querySelectorAll('.row .name').length > 0", "rows")
        counted = page.text(".count")
        page.reload()  # the token stays, and so does the address
        page.wait(f"document.querySelector('.count')?.innerText === {json.dumps(counted)}", "the same rows")
        self.assertEqual(self.query(), {"kind": "Deployment"})
        self.assertNotIn("cork-dev", page.text("[data-table]"))
        self.assertNotIn("only-oslo", page.run("location.href + document.cookie + JSON.stringify({...localStorage})"))
        page.click("button", "Forget token")
        page.sees("A token is needed")

    def sign_in(self):
        page = self.open("inventory", kind="Deployment")
        page.click("input[type=password]")
        page.type("all-seeing-token-0001")
        page.key("Enter")
        page.wait("document.querySelectorAll('.row .name').length > 0", "rows")
        return page

    def test_a_server_that_has_gone_and_comes_back(self):
        page = self.sign_in()
        shown = page.texts(".row .name")
        self.server.stop()
        page.sees("The server does not answer", ".notice-error")
        kept = page.texts(".row .name")  # what was known stays; the notice takes some room
        self.assertGreater(len(kept), 5)
        self.assertEqual(kept, shown[:len(kept)])
        self.picture("no-server")
        type(self).server = self.serve("--token-file", str(self.folder / "tokens"), port=self.server.port)
        page.wait("document.querySelector('.notice-error') === null", "it is well again", timeout=90)

    def test_a_store_that_has_gone_and_comes_back(self):
        page = self.sign_in()
        hidden = self.database.with_suffix(".away")
        names = [self.database.name + suffix for suffix in ("", "-wal", "-shm") if (self.database.parent / (self.database.name + suffix)).exists()]
        hidden.mkdir()
        for name in names:
            (self.database.parent / name).rename(hidden / name)
        page = self.open("inventory", kind="Deployment", cluster="oslo-prod")
        page.sees("The store is not there for the moment", ".notice-error")
        self.picture("no-store")
        for name in names:
            (hidden / name).rename(self.database.parent / name)
        hidden.rmdir()
        page.wait("document.querySelector('.notice-error') === null && document.querySelectorAll('.row .name').length > 0", "it is well again", timeout=60)


class Long(Console):
    """100,000 rows."""

    @classmethod
    def make_store(cls):
        return store.long_store(cls.folder, LONG)

    def test_scrolls(self):
        self.browser.send("Performance.enable", timeDomain="threadTicks")
        page = self.open("inventory")
        self.counted(LONG)
        # A steady hand: 60 frames of 400 pixels, then to places far apart.
        before = self.spent()
        times = page.run("""new Promise(done => {
          const table = document.querySelector('[data-table]'); const times = []; let last = performance.now();
          const frame = now => { times.push(now - last); last = now; table.scrollTop += 400; times.length < 60 ? requestAnimationFrame(frame) : done(times.slice(1)); };
          requestAnimationFrame(frame); })""")
        after = self.spent()
        drawn = page.run("document.querySelectorAll('.table-body .row').length")
        self.assertLess(drawn, 80)
        times.sort()
        print(f"scrolling {LONG:,} rows: {drawn} rows in the page, frames p50 {times[len(times) // 2]:.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms, "
              f"longest {times[-1]:.1f} ms; of the page's thread for each frame: script {self.each(before, after, 'ScriptDuration')}, "
              f"style and layout {self.each(before, after, 'LayoutDuration', 'RecalcStyleDuration')}, all {self.each(before, after, 'TaskDuration')}", flush=True)
        for index in (LONG - 1, LONG // 2, 17):
            item = self.server.get(f"/v1alpha1/inventory?limit=1&offset={index}")["items"][0]
            page.run(f"document.querySelector('[data-table]').scrollTop = {index * 34}")
            page.wait(f"document.getElementById('row-{index}')?.innerText.includes({json.dumps(item['name'])})", f"row {index} is {item['name']}")
        page.run("document.querySelector('[data-table]').focus()")
        page.key("End")
        page.wait(f"document.querySelector('.row-cursor')?.id === 'row-{LONG - 1}'", "the last row by its key")
        last = self.server.get(f"/v1alpha1/inventory?limit=1&offset={LONG - 1}")["items"][0]["name"]
        page.sees(last, ".row-cursor")

    def spent(self):
        """Seconds of the page's thread since it began, by what for."""
        return {one["name"]: one["value"] for one in self.browser.send("Performance.getMetrics")["metrics"]}

    @staticmethod
    def each(before, after, *names):
        return f"{sum(after[name] - before[name] for name in names) / 60 * 1000:.2f} ms"

    def test_search_as_one_types(self):
        page = self.open("inventory")
        self.counted(LONG)
        page.key("/")
        page.type("c09999")
        self.counted(self.total(q="c09999"))
        self.assertGreater(self.total(q="c09999"), 0)

    def test_a_search_that_very_many_rows_match(self):
        """Its rows are there before anybody knows how many; more come as one goes on."""
        total = self.total(q="c0")
        self.assertGreater(total, 2500)
        server = self.serve()  # that has counted nothing yet
        self.addCleanup(server.stop)
        page = self.browser
        page.go(f"{server.url}/ui/inventory?q=c0")
        page.wait("document.querySelector('.count')?.innerText === '2,000+ rows'", "a lower bound")
        for index in (1999, 2040):
            name = self.server.get(f"/v1alpha1/inventory?q=c0&limit=1&offset={index}")["items"][0]["name"]
            page.run(f"document.querySelector('[data-table]').scrollTop = {index * 34}")
            page.wait(f"document.getElementById('row-{index}')?.innerText.includes({json.dumps(name)})", f"row {index} is {name}")
            page.wait("document.querySelector('.count').innerText === '2,101+ rows'", "the bound has grown")
        server.get("/v1alpha1/inventory?q=c0&limit=1")  # now it knows
        page.reload()
        page.wait(f"document.querySelector('.count')?.innerText === '{total:,} rows'", "all of them")


class Fleet(drift.OnSqlite):
    """Clusters and components of a fleet, with drift: `kollect serve` in front of `kollect fleet serve`."""

    # The scenarios of drift run elsewhere.
    test_found_and_corrected = test_names_of_clusters = test_wrong_questions = None
    test_a_row_that_is_none_harms_nobody_else = test_without_an_inventory = None

    def setUp(self):
        super().setUp()
        for cluster in drift.CLUSTERS:
            self.collect(cluster)
        self.forget("bonn-uat")
        self.break_things()
        token = harness.write(self.folder / "fleet-token", "read-token\n")
        self.front = store.Serve(self.folder, self.folder / "inventory.db", "--fleet-url", f"http://127.0.0.1:{self.server.port}", "--fleet-token-file", str(token))
        self.addCleanup(self.front.stop)
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def picture(self, name):
        if SCREENSHOTS:
            self.browser.screenshot(pathlib.Path(SCREENSHOTS) / f"{name}.png")

    def test_fleet(self):
        page = self.browser
        page.go(f"{self.front.url}/ui/fleet")
        page.wait(f"document.querySelectorAll({json.dumps(ROWS)}).length === 4", "four clusters")
        page.sees("4 drifting", ".page-head")
        page.sees("v4.0.1", "[data-table]")
        page.choose("select[aria-label=Environment]", "prod")
        page.wait(f"document.querySelectorAll({json.dumps(ROWS)}).length === 1", "one cluster of prod")
        page.click(ROWS, "oslo-prod")
        page.sees("tag is v3.9.0, should be v4.0.1", ".drawer")
        page.sees("Wanted, and not there", ".drawer")
        self.picture("fleet")
        self.assertEqual(faults(page, store.axe_source()), [])
        page.reload()
        page.sees("oslo-prod", ".drawer h2")
        page.go(f"{self.front.url}/ui/fleet?view=components")
        page.sees("edge-proxy", ".spreads")
        self.picture("fleet-components")
        self.assertEqual(faults(page, store.axe_source()), [])
        # A rollout that some have followed.
        status, made = self.server.write("POST", "/rollouts", {"kind": "hotfix", "ids": ["oslo-prod", "lyon-qa"], "component": "edge-proxy", "oci_tag": "v9.0.0", "note": "all at once"})
        self.assertEqual(status, 200, made)
        self.collect("lyon-qa", drift.rendered(self.server, "lyon-qa"))
        page.go(f"{self.front.url}/ui/fleet?view=rollouts")
        page.sees("all at once")
        page.sees("1 of 2 clusters have followed, waiting for oslo-prod", ".rollouts")
        self.picture("fleet-rollouts")
        self.assertEqual(faults(page, store.axe_source()), [])
        # The fleet API goes away: the page says so and keeps the rest.
        self.server.stop()
        page.go(f"{self.front.url}/ui/fleet")
        page.wait("document.querySelector('.notice-error') !== null", "an error that says what to do")
        page.go(f"{self.front.url}/ui/")
        page.sees("clusters", ".figures")
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    harness.main()
