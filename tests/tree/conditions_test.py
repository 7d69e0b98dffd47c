#!/usr/bin/env python3
"""Reasons of conditions: the code, the page that explains them (docs/conditions.md) and the table of the tests that bring each about
(tests/cases/conditions/reasons.tsv) agree."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/conditions.md").read_text(encoding="utf-8")
TABLE = ROOT / "tests/cases/conditions/reasons.tsv"
SINKS = ("SnapshotSink", "DatabaseSink", "EventSink")
# Words of the manager in quotes that are no reasons: of Kubernetes and HTTP, and reasons of events alone.
OTHERS = {"True", "False", "Unknown", "Bearer", "ConfigMap", "GET", "HEAD", "Lease", "OptIn", "Resource", "Secret", "SubjectAccessReview", "TokenReview",
          "TMPDIR"}
EVENTS = {"ExportWarning", "TargetNotFound"}


def rows():
    """(kind, type, status, reason, test)"""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "kind\ttype\tstatus\treason\ttest", lines[0]
    return [tuple(line.split("\t")) for line in lines[1:]]


def told_by_the_page():
    """{(kind, type, status, reason)} of its tables; every row says what it means and what to do."""
    found = []
    for reason, where, means, do in re.findall(r"^\| `(\w+)` \| ([^|]*=[^|]*) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.M):
        assert means.strip() and do.strip(), reason
        for clause in where.split(";"):
            kinds, states = clause.split(":")
            for kind in kinds.split(","):
                for one in SINKS if kind.strip() == "Sinks" else (kind.strip(),):
                    found += [(f"Kollect{one}", *state.strip().split("="), reason) for state in states.split(",")]
    return found


def words_of_the_manager():
    words = {}
    for path in sorted((ROOT / "src/manager").rglob("*")):
        if path.suffix in (".cc", ".h") and not re.search(r"_\w*test\.cc$|_fixture\.h$|_bench\.cc$", path.name):
            for word in re.findall(r'"([A-Z][A-Za-z]+)"', path.read_text(encoding="utf-8")):
                words.setdefault(word, path.name)
    return words


def body_of(test):
    """Text of a test ("file:Suite.Name"), with the constants of the file that it uses; None when there is none of that name."""
    file, name = test.split(":")
    suite, case = name.split(".")
    path = ROOT / file
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = re.search(rf"^class {suite}\b.*?^    def {case}\(.*?(?=^    def |^class |^if |\Z)", text, re.M | re.S)
        constants = {name: value for name, value in re.findall(r"^([A-Z_]+) = (.*)$", text, re.M)}
        body = found.group(0)[found.group(0).rindex(f"    def {case}("):] if found else None
    else:
        found = re.search(rf"^TEST(?:_F|_P)?\({suite}, {case}\).*?^}}", text, re.M | re.S)
        constants = {name: value for name, value in re.findall(r"\b(k[A-Z]\w+)\s*=\s*([^;]*);", text)}
        body = found.group(0) if found else None
    if body is None:
        return None
    return body + "".join(value for name, value in constants.items() if re.search(rf"\b{name}\b", body))


class Conditions(unittest.TestCase):
    def test_every_row_has_a_test_that_tells_of_its_reason(self):
        wrong = []
        for kind, condition, status, reason, test in rows():
            body = body_of(test)
            if body is None:
                wrong.append(f"{reason} of {kind}: there is no test {test}")
            elif not re.search(rf"\b{reason}\b", body):
                wrong.append(f"{reason} of {kind}: {test} does not speak of it")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_the_code_and_the_table_have_the_same_reasons(self):
        known = {reason for _, _, _, reason, _ in rows()}
        types = {condition.removeprefix("sinkExports.") for _, condition, _, _, _ in rows()}
        words = words_of_the_manager()
        unknown = {word: file for word, file in words.items()
                   if word not in known | types | OTHERS | EVENTS and not word.startswith("Kollect")}
        self.assertEqual(unknown, {}, "reasons that tests/cases/conditions/reasons.tsv and docs/conditions.md do not have")
        self.assertEqual(sorted(known - words.keys()), [], "reasons that nothing in src/manager sets")
        self.assertEqual([event for event in EVENTS if f"`{event}`" not in PAGE], [])

    def test_the_page_and_the_table_have_the_same_rows(self):
        page, table = told_by_the_page(), [row[:4] for row in rows()]
        self.assertEqual(len(page), len(set(page)), "a row stands twice in the page")
        self.assertEqual(len(table), len(set(table)), "a row stands twice in the table")
        self.assertEqual(sorted(set(page) ^ set(table)), [], "only in one of docs/conditions.md and reasons.tsv")
        kinds = {path.stem for path in (ROOT / "docs/kinds").glob("kollect*.md")}
        self.assertEqual({row[0].lower() for row in page} - kinds, set(), "kinds that are not ours")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
