#!/usr/bin/env python3
"""The web console in Chromium, on `kollect serve` over the PostgreSQL table of two clusters: views, filters, an object's history, and a database
that goes away while one looks."""
import shutil

import console_store as store
import harness
from console_test import CHECKOUT, ROWS, Console
from fleet_postgres import Postgres
from serve_postgres_test import SINK


class OverPostgres(Console):
    @classmethod
    def make_store(cls):
        cls.postgres = Postgres("console")
        cls.addClassCleanup(lambda: cls.postgres.script("stop"))
        values = cls.postgres.values
        config = cls.folder / "config"
        shutil.copytree(harness.EXAMPLES / "inventory/deployment-images", config)
        harness.write(config / "sink.yaml", SINK.format(sockets=values["PG_SOCKETS"], port=values["PGPORT"]))
        newer = store.newer_image(cls.folder / "newer", "9.9.9")
        for cluster, objects in (("oslo-prod", harness.EXAMPLES / "dump"), ("cork-dev", harness.EXAMPLES / "dump"), ("oslo-prod", newer)):
            done = harness.run("collect", "--config", config, "--manifests", objects, "--cluster", cluster)
            if done.returncode != 0:
                raise AssertionError(done.stderr)
        return values["DATABASE_URL"]

    @classmethod
    def serve(cls, *flags, **options):
        return super().serve("--table", "fleet.resources", *flags, **options)

    def test_views_and_filters(self):
        page = self.open()
        page.sees("PostgreSQL", ".top")
        page.sees("cork-dev", "section[aria-label=Clusters]")
        overview = self.server.get("/v1alpha1/overview")
        figures = dict(zip(page.texts(".figure-label"), page.texts(".figure-value")))
        self.assertEqual((figures["rows"], figures["clusters"]), (f"{overview['rows']:,}", "2"))
        page.click("section[aria-label=Clusters] a", "oslo-prod")
        self.counted(self.total(cluster="oslo-prod"))
        page.key("/")
        page.type("checkout")
        wanted = {"cluster": "oslo-prod", "q": "checkout"}
        self.counted(self.total(**wanted))
        self.assertLess(self.total(**wanted), self.total(cluster="oslo-prod"))
        self.assertEqual(self.query(), wanted)
        page.reload()
        self.counted(self.total(**wanted))
        page = self.open("inventories")
        self.rows(len(self.server.get("/v1alpha1/inventories")["items"]), "inventories")
        page = self.open("inventory", by="cluster")
        page.wait("document.querySelectorAll('.group').length === 2", "groups")

    def test_history_and_differences(self):
        one = {"cluster": "oslo-prod", "kind": "Deployment", "namespace": "shop-prod", "name": "checkout"}
        page = self.open("inventory", **one)
        self.rows(1)
        page.click(ROWS)
        page.sees(CHECKOUT, ".drawer")
        page.click(".drawer .button", "history")
        page.wait("document.querySelectorAll('.versions tbody tr').length === 2", "two versions")
        page.sees("9.9.9", ".diff-after")
        self.assertIn("images", page.texts(".diff tbody th"))
        began = self.server.get("/v1alpha1/history?group=apps&" + "&".join(f"{name}={value}" for name, value in one.items()))["items"][0]["validFrom"]
        page = self.open("inventory", at=began, **one)
        page.sees("As it was at", ".notice-info")
        self.rows(1)
        self.assertNotIn("9.9.9", page.text("[data-table]"))
        page.click(".notice .button", "Back to now")
        page.sees("9.9.9", "[data-table]")

    def test_the_database_goes_away_while_one_looks(self):
        page = self.open("inventory", cluster="cork-dev")
        self.counted(self.total(cluster="cork-dev"))
        self.postgres.script("kill")
        # A search in the page that is open, without loading it again.
        page.key("/")
        page.type("checkout")
        page.sees("The store is not there for the moment", ".notice-error")
        page.sees("It is asked again by itself", ".notice-error")
        self.assertNotIn("secret", page.text())
        for address in ("", "inventories"):
            self.open(address).sees("The store is not there for the moment", ".notice-error")
        page = self.open("inventory", cluster="cork-dev")
        page.sees("The store is not there for the moment", ".notice-error")
        self.postgres.script("start")
        page.wait("document.querySelector('.notice-error') === null", "it is well again", timeout=60)
        self.counted(self.total(cluster="cork-dev"))


if __name__ == "__main__":
    harness.main()
