#!/usr/bin/env python3
"""kill -9, or SIGTERM, in the middle of an export: the last good state is never lost, and the next run ends in the right one
(field-backend-crash-between-two-steps: repairs, no-human, files, term).

The expected states are kept outside the program. Each round starts an export of the other state, kills it at a random
moment, looks at what is there, then lets a run finish.
"""
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import harness

ROUNDS = int(os.environ.get("KILL_ROUNDS", "12"))
OBJECTS = 2000
GRACE = 30  # seconds; what a pod is given to end after SIGTERM


class Kill(harness.Case):
    signal = signal.SIGKILL

    def setUp(self):
        super().setUp()
        self.random = random.Random(7)
        self.inputs = {name: harness.write(self.folder / f"{name}.json", harness.config_maps(count, name))
                       for name, count in (("old", OBJECTS), ("new", OBJECTS - 300))}
        self.config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent

    def command(self, state, *output):
        return ["collect", "--config", self.config, "--manifests", self.inputs[state], "--summary", "none", *output]

    def run_and_kill(self, command, longest):
        """True when the run was still going when it was killed."""
        process = harness.start(*command)
        time.sleep(self.random.uniform(0, longest))
        process.send_signal(self.signal)
        process.communicate(timeout=GRACE)
        return process.returncode != 0

    def rounds(self, command_of, check_between, check_after):
        began = time.monotonic()
        self.ends(harness.run(*command_of("old")), 0)
        longest = (time.monotonic() - began) * 1.1
        check_after("old")
        killed = 0
        states = ["old", "new"]
        for number in range(ROUNDS):
            before, after = states[number % 2], states[(number + 1) % 2]
            killed += self.run_and_kill(command_of(after), longest)
            check_between(before, after)
            self.ends(harness.run(*command_of(after)), 0)
            check_after(after)
        self.assertGreater(killed, ROUNDS // 3, "too few runs were killed while they were going")

    def expected_tree(self, state, *flags):
        out = self.folder / f"expected-{state}"
        self.ends(harness.run(*self.command(state, "--output", out, *flags)), 0)
        return harness.tree(out)

    def test_document(self):
        out = self.folder / "out"
        document = "inventory/x/t.yaml"
        expected = {s: self.expected_tree(s)[document] for s in self.inputs}

        def between(before, after):
            self.assertIn((out / document).read_bytes(), (expected[before], expected[after]))

        def after(state):
            self.assertEqual((out / document).read_bytes(), expected[state])
            left = [p for p in harness.tree(out) if p not in (document, ".kollect-manifest.json")]
            self.assertEqual(left, [], "files of killed runs are left over")

        self.rounds(lambda s: self.command(s, "--output", out), between, after)

    def test_tree_of_files(self):
        out = self.folder / "out"
        flags = ("--layout", "perResource")
        expected = {s: self.expected_tree(s, *flags) for s in self.inputs}

        def between(before, after):
            """Every file is whole: it has its old or its new content."""
            now = harness.tree(out)
            for path in set(expected[before]) & set(expected[after]):
                if path.endswith(".yaml"):
                    self.assertIn(now[path], (expected[before][path], expected[after][path]), path)

        def after(state):
            now, right = harness.tree(out), expected[state]
            self.assertEqual(sorted(now), sorted(right))
            wrong = [p for p in right if p.endswith(".yaml") and now[p] != right[p]]
            self.assertEqual(wrong, [])

        self.rounds(lambda s: self.command(s, "--output", out, *flags), between, after)

    def test_git(self):
        remote = self.folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        harness.write(self.config / "sink.yaml", harness.git_sink(f"file://{remote}"))
        expected = {}

        def tree_of(revision):
            """Blobs and paths; the set manifest holds a time."""
            return [line for line in harness.git(remote, "ls-tree", "-r", revision).splitlines()
                    if not line.endswith(".manifest.json")]

        def between(before, after):
            harness.git(remote, "fsck", "--strict", "--no-dangling")
            now = tree_of("main")
            self.assertTrue(now == expected[before] or after not in expected or now == expected[after])

        def after(state):
            expected.setdefault(state, tree_of("main"))
            self.assertEqual(tree_of("main"), expected[state])
            self.assertEqual(len(expected[state]), OBJECTS if state == "old" else OBJECTS - 300)

        self.rounds(self.command, between, after)
        self.assertNotEqual(expected["old"], expected["new"])

    def test_sqlite(self):
        file = self.folder / "inventory.db"

        def rows():
            database = sqlite3.connect(file)
            try:
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                values = database.execute("SELECT name, attributes FROM inventory_rows").fetchall()
                twice = database.execute("SELECT count(*) FROM (SELECT 1 FROM inventory_history WHERE valid_to IS NULL "
                                         "GROUP BY cluster, source_uid HAVING count(*) > 1)").fetchone()[0]
                self.assertEqual(twice, 0, "an object has two current versions")
                return {name: json.loads(text)["k"].split(" ")[0] for name, text in values}
            finally:
                database.close()

        expected = {"old": {f"c{i:05}": "old" for i in range(OBJECTS)},
                    "new": {f"c{i:05}": "new" for i in range(OBJECTS - 300)}}
        self.rounds(lambda s: self.command(s, "--sqlite", file),
                    lambda before, after: self.assertIn(rows(), (expected[before], expected[after])),
                    lambda state: self.assertEqual(rows(), expected[state]))


class Term(Kill):
    """The same with a polite request to end."""
    signal = signal.SIGTERM


if __name__ == "__main__":
    harness.main()
