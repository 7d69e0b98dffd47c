#!/usr/bin/env python3
"""`kollect serve --auth-mode kubernetes`: who may read a SQLite file, by the tokens and roles of a real kube-apiserver, and what the
web console says to them."""
import json
import pathlib
import tempfile

import harness
import manifests as m
import operator_test as op
import read_api
from browser import Browser
from read_api import Api
from read_auth_test import role, token

ACCOUNTS = ("everything", "team", "nobody")
ROWS = {"ops": 3, "pay": 2}
G = {}


def rights():
    text = m.namespace("readers") + "".join(m.document("ServiceAccount", "readers", name, api="v1") for name in ACCOUNTS)
    listing = {"resources": ["kollectinventories"], "verbs": ["get", "list"]}
    return text + m.namespace("ops") + role("ClusterRole", None, "everything", [listing], "everything") + role("Role", "ops", "team", [listing], "team")


def collect(folder):
    """A file with the rows of two teams."""
    config, objects = "", ""
    for ns, count in ROWS.items():
        config += m.profile(ns, "maps", "ConfigMap", {"name": "v", "path": "$.data.v"}) + m.target(ns, "maps", "maps", includedNamespaces=[ns])
        objects += m.namespace(ns) + "".join(m.config_map(ns, f"c{i}", v=str(i)) for i in range(count))
    harness.write(folder / "config/all.yaml", config)
    harness.write(folder / "objects.yaml", objects)
    done = harness.run("collect", "--config", folder / "config", "--manifests", folder / "objects.yaml", "--output", folder / "out", "--sqlite", folder / "rows.db",
                       "--cluster", "east")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return folder / "rows.db"


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    G["folder"] = tempfile.TemporaryDirectory(prefix="kollect-serve-auth-", ignore_cleanup_errors=True)
    folder = pathlib.Path(G["folder"].name)
    op.apply(rights())
    G["serve"] = read_api.Serve(folder, "--store", f"sqlite:{collect(folder)}", "--auth-mode", "kubernetes", "--kubeconfig", op.KUBE["KUBECONFIG"])
    G["tokens"] = {name: token(name) for name in ACCOUNTS}


def tearDownModule():
    if "serve" in G:
        G["serve"].stop()
    op.server("kube.sh", "stop")
    G["folder"].cleanup()


class Rights(harness.Case):
    def api(self, account):
        return Api(G["serve"].port, G["tokens"].get(account, account))

    def status(self, account, path, **parameters):
        return self.api(account).ask("/v1alpha1/" + path, parameters)[0]

    def test_who_may_read_everything(self):
        whole = self.api("everything")
        self.assertEqual(whole.get("meta")["authMode"], "kubernetes")
        page = whole.get("inventory")
        self.assertEqual(page["pagination"]["total"], sum(ROWS.values()))
        self.assertEqual({item["targetNamespace"] for item in page["items"]}, set(ROWS))
        for path, more in (("clusters", {}), ("inventories", {}), ("overview", {}), ("groups", {"by": "namespace"}), ("changes", {"since": "2020-01-01T00:00:00Z"})):
            self.assertEqual(self.status("everything", path, **more), 200, path)

    def test_a_team_sees_its_namespace_alone(self):
        team = self.api("team")
        for path, more in (("inventory", {}), ("changes", {"since": "2020-01-01T00:00:00Z"}), ("groups", {"by": "namespace"}), ("overview", {}), ("inventories", {}),
                           ("export", {"format": "json"})):
            with self.subTest(path):
                self.assertEqual(self.status("team", path, **more), 403)
                self.assertEqual(self.status("team", path, namespace="pay", **more), 403)
                status, _, told = team.ask("/v1alpha1/" + path, {"namespace": "ops", **more})
                text = json.dumps(told) if not isinstance(told, bytes) else told.decode()
                self.assertEqual(status, 200, text)
                self.assertNotIn('"pay"', text)
        page = team.get("inventory", namespace="ops")
        self.assertEqual(page["pagination"]["total"], ROWS["ops"])
        self.assertEqual({(item["namespace"], item["targetNamespace"]) for item in page["items"]}, {("ops", "ops")})
        # No second parameter opens another one.
        for query in ("namespace=ops&namespace=pay", "namespace=pay&namespace=ops", "namespace=ops&targetNamespace=pay", "namespace=%20pay"):
            status, _, body = team.raw("GET", "/v1alpha1/inventory?" + query)
            self.assertTrue(status in (400, 403) or b'"pay"' not in body, (query, status, body[:200]))

    def test_who_has_no_right(self):
        for path, more in (("inventory", {}), ("inventory", {"namespace": "ops"}), ("export", {}), ("overview", {}), ("inventories", {"namespace": "pay"})):
            status, _, value = self.api("nobody").ask("/v1alpha1/" + path, more)
            self.assertEqual((status, value["error"]["reason"]), (403, "Forbidden"), path)
            self.assertIn("kollectinventories", value["error"]["message"])
        self.assertEqual(self.status("nobody", "meta"), 200)

    def test_no_token_and_tokens_that_are_none(self):
        for given in ("", "x", "x.y.z", token("everything", "--audience", "somebody-else"), G["tokens"]["everything"][:-4] + "AAAA"):
            for path in ("inventory", "overview", "export"):
                status, headers, value = self.api(given).ask("/v1alpha1/" + path)
                self.assertEqual((status, headers["www-authenticate"].split()[0], value["error"]["reason"]), (401, "Bearer", "Unauthorized"), (path, given[:20]))

    def test_streams(self):
        for account, query, wanted in (("everything", "", 200), ("team", "", 403), ("team", "?namespace=pay", 403), ("team", "?namespace=ops", 200), ("nobody", "", 403),
                                       ("", "", 401)):
            for path in ("/v1alpha1/inventory/watch", "/v1alpha1/changes/watch"):
                stream = self.api(account).stream(path + query)
                stream.close()
                self.assertEqual(stream.status, wanted, (account, path, query))


class InTheConsole(harness.Case):
    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def sign_in(self, account, page=""):
        self.browser.go(f"http://127.0.0.1:{G['serve'].port}/ui/{page}")
        self.browser.sees("A token is needed")
        self.browser.click("input[type=password]")
        self.browser.type(G["tokens"][account])
        self.browser.key("Enter")
        return self.browser

    def test_a_token_without_rights(self):
        page = self.sign_in("nobody")
        for address in ("", "inventory", "inventories"):
            if address:
                page.go(f"http://127.0.0.1:{G['serve'].port}/ui/{address}")
            page.sees("Your token may not see this", ".notice-error")
            page.sees("Name a namespace that you may read, or ask for the right to list kollectinventories.", ".notice-error")
            page.sees("403 Forbidden", ".notice-error")
            self.assertIsNone(page.run("document.querySelector('.row .name, .figure-value')"))
        self.assertEqual(page.complaints(), [])
        # Another namespace does not help, another token does.
        page.click(".notice-error input")
        page.type("ops")
        page.key("Enter")
        page.wait("new URLSearchParams(location.search).get('namespace') === 'ops'", "the namespace in the address")
        page.sees("Your token may not see this", ".notice-error")
        page.click("button", "Forget token")
        page.sees("A token is needed")

    def test_a_team_names_its_namespace(self):
        page = self.sign_in("team", "inventory")
        page.sees("Your token may not see this", ".notice-error")
        page.click(".notice-error input")
        page.type("ops")
        page.key("Enter")
        page.wait(f"document.querySelector('.count')?.innerText === '{ROWS['ops']} rows'", "rows of the team")
        page.wait("document.querySelector('.notice-error') === null", "no error is left")
        self.assertEqual(page.run("document.querySelectorAll('[data-table] .table-body .row').length"), ROWS["ops"])
        self.assertNotIn("pay", page.text("[data-table]"))
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    harness.main()
