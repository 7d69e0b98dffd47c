#!/usr/bin/env python3
"""Parquet files of rows against pyarrow writing the same table from memory: parquet_bench.py BUILD [ROWS].

"from columns" is the same work; "from rows" is what an export does: it reads the attributes of rows and hashes them, too. Run by
scripts/parquet_readers.sh.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet as pq

TIMES = 3


def best(work):
    found = []
    for _ in range(TIMES):
        began, used = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - began, time.process_time() - used))
    return min(wall for wall, _ in found), min(used for _, used in found)


def main(build, rows="400000"):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ours.parquet"
        ours = json.loads(subprocess.run([f"{build}/bench/parquet_load", rows, file, str(TIMES)], check=True, capture_output=True).stdout)
        table = pq.read_table(file)
        assert table.num_rows == ours["rows"]
        theirs = pathlib.Path(folder) / "theirs.parquet"
        wall, used = best(lambda: pq.write_table(table, theirs, compression="zstd"))
        size = theirs.stat().st_size
    count = ours["rows"]
    print(f"parquet: {count} rows, {len(table.column_names)} columns; kollect {ours['bytes']:,} bytes, pyarrow {size:,}")
    for name, seconds, processor in (("pyarrow, from a table", wall, used),
                                     ("kollect, from columns", ours["writer"]["seconds"], ours["writer"]["processor"]),
                                     ("kollect, from rows", ours["whole"]["seconds"], ours["whole"]["processor"])):
        print(f"  {name:<22}{count / seconds:>12,.0f} rows/s  {processor / count * 1e6:.2f} us of processor a row  ratio {wall / seconds:.2f}")

main(*sys.argv[1:])
