#!/bin/bash
# Python with the readers that tests of Parquet files use, installed once into the test cache: parquet_readers.sh SCRIPT [ARG...]
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/servers/lib.sh"
PYARROW_VERSION=26.0.1
DUCKDB_VERSION=2.0.0

venv=$TESTBED/parquet-readers-$PYARROW_VERSION-$DUCKDB_VERSION
mkdir -p "$TESTBED"
exec 9>"$TESTBED/.parquet-readers.lock"
flock 9
if [ ! -x "$venv/done" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  quietly "install pyarrow and duckdb" "$venv/bin/pip" install -q "pyarrow==$PYARROW_VERSION" "duckdb==$DUCKDB_VERSION"
  install -m 755 /dev/null "$venv/done"
fi
exec 9>&-
exec "$venv/bin/python" "$@"
