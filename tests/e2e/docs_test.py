#!/usr/bin/env python3
"""What the pages of docs say is true: their ```sh blocks run as they stand and print what the ```text block behind them shows; recipes are
valid; pages that the program makes are fresh."""
import os
import pathlib
import re
import subprocess

import harness
import operator_test as op
from sandbox_kubectl_test import TOOLS

DOCS = harness.ROOT / "docs"
RECIPES = sorted((harness.EXAMPLES / "recipes").glob("*.yaml"))


def steps(page):
    """(commands, what they print or None)"""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [(text, blocks[i + 1][1] if i + 1 < len(blocks) and blocks[i + 1][0] == "text" else None)
            for i, (language, text) in enumerate(blocks) if language == "sh"]


class Shell:
    """A bash in a folder that has the examples, with the program as `kollect`; what it starts ends with it."""

    def __init__(self, folder):
        (folder / "examples").symlink_to(harness.EXAMPLES)
        env = harness.environment(PATH=f"{pathlib.Path(harness.KOLLECT).parent}:{TOOLS}:{os.environ['PATH']}")
        env.pop("KOLLECT_VALIDATING_WEBHOOKS_ENABLED")
        self.errors = open(folder / "errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen(["bash", "-m"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.run("set -e; trap 'kill $(jobs -p) 2>/dev/null' EXIT\n")

    def run(self, commands):
        """What they print; all of them have to succeed."""
        self.process.stdin.write(commands + "echo '<end>'\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "<end>\n":
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"{commands}{''.join(lines)}{self.said()}")

    def said(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text(encoding="utf-8")[-3000:]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.close()


class Pages(harness.Case):
    def shell(self):
        shell = Shell(self.folder)
        self.addCleanup(shell.close)
        return shell

    def test_pages_of_the_kinds_are_what_the_program_makes(self):
        self.ends(harness.run("crds", "--docs", self.folder / "kinds"), 0)
        made, kept = harness.tree(self.folder / "kinds"), harness.tree(DOCS / "kinds")
        self.assertEqual(len(made), 12)
        self.assertEqual(sorted(made), sorted(kept))
        self.assertEqual([name for name in made if made[name] != kept[name]], [], "stale pages in docs/kinds: make manifests")

    def test_every_page_is_in_the_index(self):
        linked = set(re.findall(r"\]\(([^)#]+)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
        pages = {p.relative_to(DOCS).as_posix() for p in (*DOCS.glob("*.md"), *DOCS.glob("recipes/*.md"))} - {"README.md"}
        self.assertEqual(pages - linked, set())

    def test_the_first_inventory(self):
        shell = self.shell()
        for commands, printed in steps(DOCS / "first-inventory.md"):
            text = shell.run(commands)
            if "kollect sandbox" in commands:
                log = self.folder / "sandbox.log"
                op.until("the sandbox serves", lambda log=log: log.exists() and log.read_text(encoding="utf-8").startswith("http"))
            elif printed is not None and commands.startswith("kollect query"):
                # The operator is a moment behind.
                op.until(f"{commands} prints {printed}", lambda commands=commands, printed=printed: shell.run(commands) == printed)
            elif printed is not None:
                self.assertEqual(text.splitlines()[-printed.count("\n"):], printed.splitlines(), commands)

    def test_recipes(self):
        pages = sorted((DOCS / "recipes").glob("*.md"))
        self.assertEqual([p.stem for p in pages], [p.stem for p in RECIPES])
        shell = self.shell()
        for page in pages:
            with self.subTest(page.name):
                self.assertIn(f"../../examples/recipes/{page.stem}.yaml", page.read_text(encoding="utf-8"))
                done = steps(page)
                self.assertTrue(done)
                for commands, printed in done:
                    self.assertEqual(shell.run(commands), printed, commands)

    def test_recipes_are_valid(self):
        self.assertEqual(len(RECIPES), 7)
        for recipe in RECIPES:
            with self.subTest(recipe.name):
                self.ends(harness.run("validate", recipe), 0)


if __name__ == "__main__":
    harness.main()
