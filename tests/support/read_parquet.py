"""What two readers find in a Parquet file, as JSON: read_parquet.py rows|digest FILE, read_parquet.py page PAGE FOLDER

rows: columns, words of the footer, row groups, and all rows as both readers have them. digest: how many rows, and a hash of uid
and attributes of all of them in file order. page: how many rows each query of a page of the documentation gives in that folder.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import sys

import duckdb
import pyarrow.parquet as pq


def plain(value):
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value.decode() if isinstance(value, bytes) else value


def with_arrow(path):
    return [{k: plain(v) for k, v in row.items()} for row in pq.read_table(path).to_pylist()]


def with_duckdb(path):
    session = duckdb.connect()
    types = session.execute("DESCRIBE SELECT * FROM read_parquet(?)", [path]).fetchall()
    # A time with its zone would ask Python for another package; its microseconds do not.
    times = [name for name, kind, *_ in types if kind.startswith("TIMESTAMP")]
    shown = "*" + (" REPLACE (" + ", ".join(f'epoch_us("{n}") AS "{n}"' for n in times) + ")" if times else "")
    found = session.execute(f"SELECT {shown} FROM read_parquet(?)", [path])
    names = [column[0] for column in found.description]
    start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return [{n: plain(start + datetime.timedelta(microseconds=v)) if n in times and v is not None else plain(v)
             for n, v in zip(names, row)} for row in found.fetchall()]


def digest(rows):
    total = hashlib.sha256()
    for row in rows:
        total.update(f"{row['uid']}\t{row['attributes']}\n".encode())
    return {"rows": len(rows), "digest": total.hexdigest()}


def describe(path):
    file = pq.ParquetFile(path)
    schema, meta = file.schema, file.metadata
    columns = [{"name": c.name, "physical": c.physical_type, "logical": str(c.logical_type), "optional": c.max_definition_level > 0}
               for c in (schema.column(i) for i in range(len(schema.names)))]
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    return {"columns": columns,
            "words": {k.decode(): v.decode() for k, v in (meta.metadata or {}).items()},
            "groups": [{"rows": g.num_rows,
                        "columns": {g.column(i).path_in_schema: {
                            "codec": g.column(i).compression, "dictionary": g.column(i).has_dictionary_page,
                            "least": plain(g.column(i).statistics.min) if g.column(i).is_stats_set else None,
                            "greatest": plain(g.column(i).statistics.max) if g.column(i).is_stats_set else None}
                            for i in range(g.num_columns)}} for g in groups]}


def page(path, folder):
    """Rows of each statement of DuckDB, then of what the blocks of Python call `rows`."""
    text = pathlib.Path(path).read_text()
    os.chdir(folder)
    session = duckdb.connect()
    counts = [len(session.execute(statement).fetchall())
              for block in re.findall(r"^```sql\n(.*?)^```", text, re.S | re.M)
              for statement in block.split(";") if statement.strip()]
    for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
        names = {}
        exec(block, names)  # pylint: disable=exec-used
        counts.append(names["rows"].num_rows)
    return counts


def main(what, path, folder=None):
    if what == "page":
        return page(path, folder)
    if what == "digest":
        meta = pq.ParquetFile(path).metadata
        return {"groupRows": [meta.row_group(i).num_rows for i in range(meta.num_row_groups)], "arrow": digest(with_arrow(path)), "duckdb": digest(with_duckdb(path))}
    return describe(path) | {"arrow": with_arrow(path), "duckdb": with_duckdb(path)}


print(json.dumps(main(*sys.argv[1:])))
