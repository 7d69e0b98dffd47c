"""What Prometheus' own tool says of pages and rules, and which names are known. promtool comes with the package prometheus."""
import pathlib
import re
import subprocess

import harness

GOLDEN = harness.ROOT / "tests/cases/metrics/operator.txt"
CATALOGUE = harness.ROOT / "docs/metrics.md"
# Gauges whose names end like a counter's: dashboards and alerts that people have ask for these names, so they stay. Nothing else may be found.
KEPT = {f'{name} non-counter metrics should not have "_total" suffix' for name in ("kollect_collect_items_total", "kollect_inventory_items_total")}


def promtool(*args, stdin=None, folder=None):
    return subprocess.run(["promtool", *map(str, args)], input=stdin, capture_output=True, text=True, check=False, cwd=folder)


def families(page):
    """{name: lines} of a page."""
    found = {}
    for line in page.splitlines(keepends=True):
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in found, f"{name} is there twice"
            found[name] = []
        found[name].append(line)
    return found


def complaints(page):
    """What `promtool check metrics` finds. A page that it cannot read is an error."""
    checked = promtool("check", "metrics", stdin=page)
    found = set(checked.stderr.splitlines())
    # 0: nothing, 3: matters of style.
    assert checked.returncode == (3 if found else 0), (checked.returncode, checked.stderr)
    return found


def documented():
    """Names in the first column of the tables of the catalogue."""
    return set(re.findall(r"^\| `([a-z_]+)`", CATALOGUE.read_text(encoding="utf-8"), re.M))


def used_names(expression):
    """Names of our series in an expression."""
    names = re.findall(r"\b((?:kollect|process|rest_client|leader_election|workqueue)_[a-z_]+)", expression)
    return {re.sub("_(bucket|count|sum)$", "", name) if "_seconds_" in name else name for name in names}


def rules(spec, folder, cases):
    """Checks the spec of a PrometheusRule and runs cases on it; the finished processes."""
    folder = pathlib.Path(folder)
    harness.write(folder / "rules.yaml", spec)
    harness.write(folder / "cases.yaml", "rule_files: [rules.yaml]\n" + cases)
    return promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", folder=folder), promtool("test", "rules", "cases.yaml", folder=folder)
