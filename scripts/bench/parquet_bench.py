#!/usr/bin/env python3
"""Parquet files of rows against pyarrow writing the same table from memory: parquet_bench.py BUILD [ROWS].

Ours begins with rows as the operator holds them (JSON attributes); pyarrow's with finished columns. Run by
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
    print(f"parquet: {count} rows, {len(table.column_names)} columns")
    print(f"  kollect  {count / ours['seconds']:>10,.0f} rows/s  {ours['processor'] / count * 1e6:.2f} us of processor a row  {ours['bytes']:>12,} bytes")
    print(f"  pyarrow  {count / wall:>10,.0f} rows/s  {used / count * 1e6:.2f} us of processor a row  {size:>12,} bytes")
    print(f"  ratio    {wall / ours['seconds']:.2f}")


main(*sys.argv[1:])
