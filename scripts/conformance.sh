#!/bin/bash
# Tests of the expression language against programs that are not ours (tests/conformance, a Go module).
#   conformance.sh build BUILD-DIR             compiles the programs into BUILD-DIR/conformance
#   conformance.sh suite BUILD-DIR [ARG...]    the language's own suite against BUILD-DIR/kollect
#   conformance.sh speed BUILD-DIR POD.json    times the expressions of stdin with that evaluator, a line of JSON each
#   conformance.sh diff BUILD-DIR [ARG...]     random expressions against the evaluator of the language's authors
# Go's caches are the user's; a warm build takes a second.
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/servers/lib.sh"
MODULE=$HERE/../tests/conformance

[ $# -ge 2 ] || die "usage: conformance.sh build|suite|diff|speed BUILD-DIR [ARG...]"
what=$1
build=$(readlink -f "$2")
shift 2
programs=(suite diff speed)
mkdir -p "$TESTBED" "$build/conformance"
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false -trimpath" GOTOOLCHAIN=local
find_go
# Two tests may build at the same time.
exec 9>"$build/conformance/.lock"
flock 9
for program in "${programs[@]}"; do
  [ "$what" = build ] || [ "$what" = "$program" ] || continue
  go build -C "$MODULE" -o "$build/conformance/$program" "./$program"
done
exec 9>&-

case $what in
  build) ;;
  suite) exec "$build/conformance/suite" "$@" "$build/kollect" "$(cd "$MODULE" && go list -m -f '{{.Dir}}' cel.dev/expr)/tests/simple/testdata" ;;
  diff) exec "$build/conformance/diff" "$@" "$build/kollect" "$HERE/../docs/cel.md" ;;
  speed) exec "$build/conformance/speed" "$@" ;;
  *) die "unknown: $what" ;;
esac
