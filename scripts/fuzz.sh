#!/bin/bash
# Runs every fuzzer of a fuzz build, JOBS at a time.
#   fuzz.sh BUILD-DIR SECONDS JOBS
# Inputs in fuzz/corpus/<name>/ are the start; what is found on the way is kept in BUILD-DIR/corpus/<name>/, and an input
# that breaks something in BUILD-DIR/findings/<name>-*. Exit code 1 when there is one.
set -uo pipefail
BUILD=$1
SECONDS_EACH=$2
JOBS=$3
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")

run_one() { # PROGRAM
  local name corpus log rc line
  name=$(basename "$1")
  corpus=$BUILD/corpus/$name
  log=$BUILD/$name.log
  mkdir -p "$corpus" "$BUILD/findings"
  local seeds=()
  [ -d "$ROOT/fuzz/corpus/$name" ] && seeds=("$ROOT/fuzz/corpus/$name")
  "$1" -max_total_time="$SECONDS_EACH" -timeout=20 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$BUILD/findings/$name-" "$corpus" "${seeds[@]}" >"$log" 2>&1
  rc=$?
  line=$(awk '/stat::number_of_executed_units/{print $2 " inputs"}' "$log")
  if [ $rc = 0 ]; then
    echo "fuzz: $name: $line, nothing found"
  else
    tail -n 40 "$log"
    echo "fuzz: $name: FOUND (exit $rc), log $log, input in $BUILD/findings"
    touch "$BUILD/failed"
  fi
}

rm -f "$BUILD/failed"
programs=("$BUILD"/fuzzers/*_fuzz)
[ -x "${programs[0]}" ] || { echo "fuzz: no fuzzers in $BUILD/fuzzers" >&2; exit 2; }
echo "fuzz: ${#programs[@]} fuzzers, $SECONDS_EACH s each, $JOBS at a time"
for program in "${programs[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
  echo "fuzz: $(basename "$program") ..."
  run_one "$program" &
done
wait
[ ! -e "$BUILD/failed" ]
