#!/bin/bash
# The schema fuzzer that tests of HTTP APIs use, installed once into the test cache: schemathesis.sh [ARG...]
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/servers/lib.sh"
VERSION=4.32.5

venv=$TESTBED/schemathesis-$VERSION
mkdir -p "$TESTBED"
exec 9>"$TESTBED/.schemathesis.lock"
flock 9
if [ ! -x "$venv/done" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  quietly "install schemathesis $VERSION" "$venv/bin/pip" install -q "schemathesis==$VERSION"
  install -m 755 /dev/null "$venv/done"
fi
exec 9>&-
exec "$venv/bin/schemathesis" "$@"
