#!/bin/bash
# All benchmarks: run.sh BUILD-DIR OBJECTS   (OBJECTS: Deployments for the comparison on a real kube-apiserver)
set -euo pipefail
BUILD=$1
OBJECTS=$2
HERE=$(dirname "$(readlink -f "$0")")
shopt -s nullglob
for program in "$BUILD"/bench/*_bench; do
  echo "== $(basename "$program")"
  "$program" --benchmark_min_time=0.3
done
echo "== expressions beside the evaluator of the language's authors"
python3 "$HERE/cel_bench.py" "$BUILD"
echo "== Parquet files beside pyarrow"
"$HERE/../parquet_readers.sh" "$HERE/parquet_bench.py" "$BUILD"
echo "== collect against a raw list, $OBJECTS Deployments"
python3 "$HERE/collect_bench.py" "$BUILD/kollect" --objects "$OBJECTS"
echo "== changes of a fleet on each store"
python3 "$HERE/fleet_store_bench.py" "$BUILD/kollect"
echo "== polls of the fleet API beside a static answer"
python3 "$HERE/fleet_bench.py" "$BUILD"
