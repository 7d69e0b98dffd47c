#!/usr/bin/env python3
"""The web console in Chromium without a window, on `kollect serve` over a SQLite file of ConfigMaps that `kollect collect` has written.

    console_bench.py KOLLECT [--rows 100000] [--views 9] [--frames 900] [--indexes]

First view: the overview and the table of the inventory, each loaded `--views` times with an empty cache; milliseconds from the start of the
navigation to the frame in which the data stands in the page (median, worst; limit 1000) and KiB over the wire, packed, with its data (limit 200).
Scrolling: the table moves 400 pixels in each of `--frames` frames, then goes to places far apart; milliseconds between frames (limit 33), the
share above it, the longest. `--indexes`: with the indexes that `kollect serve --create-indexes` makes. Prints the ratio to each limit, and beside wall time the processor time of the page's thread and of the server.
Wall time counts only on a quiet machine.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
FIRST_VIEW_MS, FIRST_VIEW_KIB, FRAME_MS = 1000, 200, 33
VIEWS = {"overview": ("", "document.querySelector('.figure-value') !== null"),
         "inventory": ("inventory", "document.querySelector('.table-body .row .name') !== null && document.querySelector('.skeleton') === null")}
# Notes the frame in which a view is complete, from within the page.
WATCHER = """(() => { const look = () => { try { if (%s) { globalThis.seenAt = performance.now(); return; } } catch {} requestAnimationFrame(look); };
requestAnimationFrame(look); })();"""
SCROLL = """new Promise(done => {
  const table = document.querySelector('[data-table]'); const steps = %s; const times = []; let last = 0;
  const frame = now => { if (last) times.push(now - last); last = now; if (times.length >= steps.length) return done(times);
    table.scrollTop = steps[times.length]; requestAnimationFrame(frame); };
  requestAnimationFrame(frame); })"""


def server_seconds(pid):
    """Processor time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def page_seconds(browser):
    """Processor time of the page's thread since the page began."""
    return next(one["value"] for one in browser.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")


def against(value, limit, unit):
    return f"{value:,.1f} {unit}, {value / limit:.2f} of the limit ({limit:,} {unit})"


def first_view(browser, server, name, views):
    path, complete = VIEWS[name]
    times, sizes, before = [], [], server_seconds(server.process.pid)
    browser.send("Network.setCacheDisabled", cacheDisabled=True)
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=WATCHER % complete)["identifier"]
    for _ in range(views):
        browser.send("Page.navigate", url="about:blank")
        browser.go(f"{server.url}/ui/{path}")
        browser.wait("globalThis.seenAt !== undefined", f"data in {name}")
        times.append(browser.run("seenAt"))
        sizes.append(browser.run("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).reduce((sum, e) => sum + e.transferSize, 0)"))
    browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    browser.send("Network.setCacheDisabled", cacheDisabled=False)
    spent = (server_seconds(server.process.pid) - before) / views
    print(f"first view, {name}: median {against(statistics.median(times), FIRST_VIEW_MS, 'ms')}; worst of {views} {against(max(times), FIRST_VIEW_MS, 'ms')}; "
          f"{against(max(sizes) / 1024, FIRST_VIEW_KIB, 'KiB')}; processor of the server {spent * 1000:.0f} ms for each", flush=True)


def scroll(browser, server, name, steps):
    cpu = page_seconds(browser), server_seconds(server.process.pid)
    times = sorted(browser.run(SCROLL % json.dumps(steps)))
    spent = page_seconds(browser) - cpu[0], server_seconds(server.process.pid) - cpu[1]
    over = sum(one > FRAME_MS for one in times)
    print(f"scrolling, {name}: {len(times)} frames, p50 {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms; longest {against(times[-1], FRAME_MS, 'ms')}; "
          f"{over} over it ({over / len(times):.2%}); processor for each frame: the page's thread {spent[0] / len(times) * 1000:.2f} ms, the server "
          f"{spent[1] / len(times) * 1000:.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kollect")
    for flag, value in (("rows", 100_000), ("views", 9), ("frames", 900)):
        parser.add_argument(f"--{flag}", type=int, default=value)
    parser.add_argument("--indexes", action="store_true")
    options = parser.parse_args()
    os.environ["KOLLECT"] = str(pathlib.Path(options.kollect).resolve())
    import console_store as store  # reads KOLLECT
    import harness
    from browser import Browser

    load = os.getloadavg()[0]
    print(f"{options.rows:,} rows, {'with' if options.indexes else 'without'} indexes; load {load:.2f}{'' if load <= 1.2 else ': wall time does not count, the machine is busy'}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kollect-console-bench-") as folder:
        folder = pathlib.Path(folder)
        database = store.long_store(folder, options.rows)
        if options.indexes:
            harness.run("serve", "--store", f"sqlite:{database}", "--create-indexes").check_returncode()
        server = store.Serve(folder, database)
        browser = Browser()
        try:
            browser.send("Performance.enable", timeDomain="threadTicks")
            browser.go(f"{server.url}/ui/")  # the server's caches are those of a running one
            browser.wait(VIEWS["overview"][1], "the overview")
            for name in VIEWS:
                first_view(browser, server, name, options.views)
            browser.go(f"{server.url}/ui/inventory")
            browser.wait(f"document.querySelector('.count')?.innerText === '{options.rows:,} rows' && document.querySelector('.skeleton') === null", "rows")
            scroll(browser, server, "a steady hand", [400 * (one + 1) for one in range(options.frames)])
            bottom = browser.run("(t => t.scrollHeight - t.clientHeight)(document.querySelector('[data-table]'))")
            # A place far away each half second, and what comes in between.
            scroll(browser, server, "far jumps", [int(bottom * (one // 30 * 0.618 % 1)) for one in range(options.frames)])
            browser.wait("document.querySelectorAll('.table-body .row .name').length > 5 && document.querySelector('.skeleton') === null", "rows where it ended")
            print(f"rows in the page at the end: {browser.run('''document.querySelectorAll('.table-body .row').length''')}")
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
