#!/usr/bin/env python3
"""`kollect top` in a terminal, and printed once: of a cluster."""
import json
import os
import signal

import harness
import plugin_test
from plugin_test import condition
from sandbox import Sandbox
from terminal import Terminal

OURS = plugin_test.OURS
GOOD = {"observedGeneration": 1, "itemCount": 1200, "lastExportTime": "2026-01-01T00:00:00Z",
        "conditions": [condition("Ready", "True", "Exported", "all is well")],
        "sinkExports": [{"name": "database/file", "lastExportTime": "2026-01-01T00:00:00Z", "conditions": [condition("Synced", "True", "Exported")]},
                        {"name": "database/gone", "conditions": [condition("Synced", "False", "ExportFailed", "there is no such sink")]}]}


class Top(harness.Case):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.folder, plugin_test.MANIFESTS)
        self.addCleanup(self.sandbox.stop)
        self.say(GOOD)
        self.sandbox.patch(f"{OURS}/kollecttargets/lost/status", status={
            "observedGeneration": 1, "conditions": [condition("Degraded", "True", "ProfileNotFound", "there is \u001b[2J none")]})
        self.args = ["top", "--kubeconfig", str(self.sandbox.kubeconfig)]

    def say(self, status):
        self.sandbox.patch(f"{OURS}/kollectinventories/all/status", status=status)

    def top(self, *flags, columns=120, lines=24, **env):
        terminal = Terminal([harness.KOLLECT, *self.args, "--interval", "200ms", *flags], harness.environment(**env), columns, lines)
        self.addCleanup(terminal.stop)
        return terminal

    def test_once(self):
        text = self.ends(harness.run(*self.args, "--once"), 0).stdout
        self.assertIn("clusters 1 · inventories 1 · rows 1,200 · targets 2 · sinks 3 (1 failing) · problems 2\n", text)
        self.assertIn("\nall        shop", text)
        self.assertRegex(text, r"database/shop/gone +- +shop/all +never +Missing +SinkNotFound")
        self.assertRegex(text, r"KollectTarget +shop +lost +\d+d +ProfileNotFound +there is \?\[2J none")
        self.assertNotIn("\x1b", text)
        # A pipe is no terminal: the same, at once.
        self.assertEqual([line.split()[:3] for line in self.ends(harness.run(*self.args), 0).stdout.splitlines()[3:]],
                         [line.split()[:3] for line in text.splitlines()[3:]])

    def test_for_programs(self):
        told = json.loads(self.ends(harness.run(*self.args, "--output", "json"), 0).stdout)
        self.assertEqual((told["rows"], told["targets"], told["problemCount"]), (1200, 2, 2))
        self.assertEqual([(one["sink"], one["inventory"], one["state"]) for one in told["sinks"]], [
            ("database/shop/file", "shop/all", "Ready"), ("database/shop/spare", "(none)", "-"), ("database/shop/gone", "shop/all", "Missing")])
        self.assertEqual({(one["kind"], one["name"], one["reason"]) for one in told["problems"]},
                         {("KollectTarget", "lost", "ProfileNotFound"), ("KollectTarget", "maps", "Unseen")})
        self.assertEqual(told["problems"][0]["name"], "lost")
        told = json.loads(self.ends(harness.run(*self.args, "-n", "other", "--output", "json"), 0).stdout)
        self.assertEqual((told["rows"], told["inventories"], told["sinks"]), (0, [], []))

    def test_wrong_flags(self):
        for flags, words in ((["--output", "xml"], "text or json"), (["--interval", "0"], "200ms"), (["--interval", "soon"], "soon"),
                             (["--token-file", "x"], "--server"),
                             (["--server", "http://127.0.0.1:1"], "--kubeconfig"),
                             (["--store", "sqlite:x"], "--kubeconfig"), (["--table", "x"], "--store"), (["--kubeconfig", "/nowhere"], "/nowhere")):
            self.assertIn(words, self.ends(harness.run(*self.args, *flags), 2).stderr)
        for store, words in (("sqlite:/nowhere/rows.db", "/nowhere/rows.db"), ("rows.db", "sqlite:"), ("postgres://u:hush@127.0.0.1:1/x", "refused")):
            told = self.ends(harness.run("top", "--store", store), 2).stderr
            self.assertIn(words, told)
            self.assertNotIn("hush", told)
        self.assertIn("http://", self.ends(harness.run("top", "--server", "localhost:1"), 2).stderr)
        self.assertIn("127.0.0.1:1", self.ends(harness.run("top", "--server", "http://127.0.0.1:1"), 2).stderr)

    def test_of_a_file(self):
        file = self.folder / "rows.db"
        self.ends(harness.run("collect", "--config", harness.EXAMPLES / "inventory/deployment-images", "--manifests", harness.EXAMPLES / "dump", "--sqlite", file), 0)
        told = json.loads(self.ends(harness.run("top", "--store", f"sqlite:{file}", "-o", "json"), 0).stdout)
        self.assertEqual((told["targets"], told["sinks"], told["problems"]), (None, [], []))
        self.assertEqual([(one["namespace"], one["name"], one["state"]) for one in told["inventories"]], [("kollect-system", "deployment-images", "")])
        self.assertGreater(told["rows"], 10)
        top = Terminal([harness.KOLLECT, "top", "--store", f"sqlite:{file}"], harness.environment())
        self.addCleanup(top.stop)
        top.shows("kollect top  sqlite:", "deployment-images", "clusters 1 · inventories 1 · rows")
        top.type("q")
        self.assertEqual(top.ended(), 0)

    def test_keys_and_what_changes(self):
        top = self.top()
        top.shows("kollect top  cluster sandbox", "rows 1,200", "all is well")
        self.assertIn(b"31", top.colours)
        self.say({**GOOD, "itemCount": 31000})
        top.shows("rows 31,000")
        top.type("\x1b[C\x1b[C")
        top.shows("database/shop/file", "SinkNotFound")
        top.type("/file")
        top.waits("the filter", lambda: "database/shop/gone" not in top.text() and "filter: file_" in top.text())
        top.type("\x1b")
        top.shows("database/shop/gone", "q quit")
        top.type("4\r")
        top.shows("ProfileNotFound", "MESSAGE      there is ?[2J none")
        top.type("q")
        self.assertEqual(top.ended(), 0)
        self.assertTrue(top.given_back())

    def test_sizes(self):
        top = self.top(columns=60, lines=10)
        top.shows("INVENTORY", "STATE")
        self.assertNotIn("MESSAGE", top.text())
        for columns, lines in ((200, 50), (20, 5), (3, 2), (120, 24)):
            top.resize(columns, lines)
            top.waits((columns, lines), lambda: len(top.screen()) == lines and max(map(len, top.screen())) <= columns)
        top.shows("all is well")
        top.type("q")
        self.assertEqual(top.ended(), 0)

    def test_the_terminal_is_given_back_whatever_ends_it(self):
        for end, code in ((lambda top: top.type("\x03"), 130), (lambda top: top.process.send_signal(signal.SIGTERM), 143),
                          (lambda top: top.process.send_signal(signal.SIGINT), 130)):
            top = self.top()
            top.shows("all is well")
            self.assertTrue(top.other and not top.cursor and not top.given_back())
            end(top)
            self.assertEqual(top.ended(), code)
            self.assertTrue(top.given_back())

    def test_suspended_and_woken(self):
        top = self.top()
        top.shows("all is well")
        top.type("\x1a")
        _, status = os.waitpid(top.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertTrue(top.given_back())
        top.process.send_signal(signal.SIGCONT)
        top.waits("the screen", lambda: top.other and "all is well" in top.text())
        top.type("q")
        self.assertEqual(top.ended(), 0)
        self.assertTrue(top.given_back())

    def test_the_server_goes_and_comes_back(self):
        top = self.top()
        top.shows("all is well")
        self.sandbox.call("POST", "/sandbox/restart?downMs=3000")
        top.waits("a failure", lambda: "all is well" in top.text() and "clusters 1" not in top.text())
        top.shows("clusters 1")
        self.say({**GOOD, "itemCount": 4321})
        top.shows("rows 4,321")

    def test_without_colours(self):
        top = self.top(NO_COLOR="1")
        top.shows("all is well")
        top.type("4")
        top.shows("ProfileNotFound")
        self.assertEqual(top.colours & {b"31", b"32", b"33"}, set())


if __name__ == "__main__":
    harness.main()
