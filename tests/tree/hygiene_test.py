#!/usr/bin/env python3
"""Habits of the tree (CONTRIBUTING.md): sizes, tests that can fail, no traces of one machine, a README per room."""
import pathlib
import re
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_LINES = 600


def tracked(*patterns):
    """Files of the tree that are tracked or new, never those of build folders."""
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z", "--", *patterns],
                         capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in sorted(set(out.split("\0"))) if name and (ROOT / name).is_file()]


def findings(files, pattern, exempt=()):
    expression = re.compile(pattern)
    for path in files:
        if path.relative_to(ROOT).as_posix() in exempt:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if expression.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"


class Hygiene(unittest.TestCase):
    def check(self, found, why):
        found = list(found)
        self.assertEqual(found, [], "\n".join([why] + found))

    def test_files_are_short(self):
        long = [f"{p.relative_to(ROOT)}: {n} lines" for p in tracked("*.cc", "*.h", "*.py", "*.sh")
                if (n := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES]
        self.check(long, f"files over {MAX_LINES} lines: split them by topic")

    def test_headers_have_pragma_once(self):
        missing = [str(p.relative_to(ROOT)) for p in tracked("src/*.h") if "#pragma once" not in p.read_text()]
        self.check(missing, "#pragma once is missing")

    def test_tests_can_fail(self):
        pattern = r"(ASSERT|EXPECT)_TRUE\(true\)|GTEST_SKIP|\bDISABLED_|unittest\.skip|skipTest"
        self.check(findings(tracked("src/*test.cc", "tests/*"), pattern, exempt=("tests/tree/hygiene_test.py",)),
                   "tests that cannot fail or do not run")

    def test_tests_do_not_sleep(self):
        self.check(findings(tracked("src/*_test.cc"), r"sleep_for\(|sleep_until\("),
                   "unit tests take their time from a clock that they set")

    def test_no_trace_of_one_machine(self):
        pattern = r"/work/|/root/|/home/[a-z]|proxy\.golang\.org|pypi\.org|deb\.debian\.org|registry\.npmjs|/tmp/tb\b"
        files = [p for p in tracked("*") if p.suffix not in (".tsv", ".jsonl")]
        self.check(findings(files, pattern, exempt=("tests/tree/hygiene_test.py",)), "paths or hosts of one machine")

    def test_every_room_has_a_readme(self):
        missing = [p.name for p in (ROOT / "src").iterdir() if p.is_dir() and not (p / "README.md").is_file()]
        self.check(missing, "rooms without README.md")

    def test_every_room_is_in_the_table(self):
        table = (ROOT / "src" / "README.md").read_text()
        missing = [p.name for p in (ROOT / "src").iterdir() if p.is_dir() and f"`{p.name}`" not in table]
        self.check(missing, "rooms that src/README.md does not name")

    def test_links_of_the_documentation(self):
        broken = []
        for page in tracked("*.md"):
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
                if "://" not in target and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
        self.check(broken, "links that lead nowhere")

    def test_make_targets_of_the_documentation_exist(self):
        targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.M))
        wrong = []
        for page in tracked("README.md", "CONTRIBUTING.md", "docs/*.md"):
            for name in re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z0-9-]+)", page.read_text()):
                if name not in targets:
                    wrong.append(f"{page.relative_to(ROOT)}: make {name}")
        self.check(wrong, "make targets that do not exist")

    def test_example_dump_is_what_its_script_writes(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(ROOT / "scripts/make_example_dump.py"), folder], check=True,
                           capture_output=True)
            made = {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}
        kept = {p.name: p.read_bytes() for p in (ROOT / "examples/dump").iterdir()}
        self.assertEqual(sorted(made), sorted(kept))
        stale = [name for name in made if made[name] != kept[name]]
        self.check(stale, "examples/dump is stale: make examples")

    def test_example_dump_is_rich_enough(self):
        objects = [item for p in (ROOT / "examples/dump").glob("*.yaml") for item in yaml.safe_load(p.read_text())["items"]]
        self.assertGreaterEqual(len(objects), 300)
        self.assertGreaterEqual(len({o["kind"] for o in objects}), 12)
        names = [(o["apiVersion"], o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects]
        self.assertEqual(len(names), len(set(names)), "an object stands twice")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
