#!/bin/bash
# The web console (web/): packages of npm live in the test cache, outside the tree; sources are copied beside them.
#   web.sh build    writes web/dist, which is committed and embedded in the program
#   web.sh dist     fails when web/dist is not what the sources and the lockfile give
#   web.sh check    types, then the unit tests
#   web.sh modules  prints the folder of the packages
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/servers/lib.sh"
WEB=$HERE/../web

sum=$(cat "$WEB/package.json" "$WEB/package-lock.json" | sha256sum | cut -c1-12)
packages=$TESTBED/console-$sum
mkdir -p "$TESTBED"
(
  flock 9
  if [ ! -e "$packages/done" ]; then
    rm -rf "$packages"
    mkdir -p "$packages"
    cp "$WEB/package.json" "$WEB/package-lock.json" "$WEB/.npmrc" "$packages"
    quietly "install the packages of the console" npm --prefix "$packages" ci --no-progress
    touch "$packages/done"
  fi
) 9>"$TESTBED/.console.lock"

# A folder of its own for each run: tests of several clones may run at the same time.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$WEB/src" "$WEB/test" "$WEB/build.mjs" "$WEB/package.json" "$WEB/tsconfig.json" "$work"
ln -s "$packages/node_modules" "$work/node_modules"
export KOLLECT_CONDITIONS=$HERE/../docs/conditions.md
cd "$work"

case ${1:-} in
  build)
    node build.mjs "$work/dist"
    rm -rf "$WEB/dist"
    cp -r "$work/dist" "$WEB/dist"
    ;;
  dist)
    node build.mjs "$work/dist"
    diff -rq "$work/dist" "$WEB/dist" || { echo "web/dist is stale: make web" >&2; exit 1; }
    ;;
  check)
    node_modules/.bin/tsc --noEmit
    node build.mjs --tests
    node --test .tests/
    ;;
  modules) echo "$packages/node_modules" ;;
  *) echo "usage: web.sh build|dist|check|modules" >&2; exit 2 ;;
esac
