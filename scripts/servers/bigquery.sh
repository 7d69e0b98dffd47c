#!/bin/bash
# An emulator of BigQuery's REST API (bqemulator, on DuckDB) on 127.0.0.1. It checks no credentials.
#   eval "$(bigquery.sh start [NAME])"   exports BIGQUERY_EMULATOR_HOST BIGQUERY_PROJECT
#   bigquery.sh kill NAME                kill -9; returns when the process is gone
#   bigquery.sh stop|env [NAME]
# start after kill or stop (KEEP=1) goes on with the same data and port.
# Environment: OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/bigquery-$NAME

load_ports() { [ -f "$D/ports" ] || die "no instance '$NAME' (start it first)"; read -r PORT GRPC <"$D/ports"; }

print_env() {
  load_ports
  echo "export BIGQUERY_EMULATOR_HOST=http://127.0.0.1:$PORT BIGQUERY_PROJECT=test"
}

case $COMMAND in
  start)
    need bqemulator "run scripts/servers/build.sh bqemulator"
    began=$(now_ms)
    mkdir -p "$D"
    if [ ! -f "$D/ports" ]; then
      read -r free grpc < <(free_ports 2)
      echo "${PORT:-$free} $grpc" >"$D/ports"
    fi
    load_ports
    spawn "$D/server.pid" "$D/server.log" bqemulator start --rest-port "$PORT" --grpc-port "$GRPC" --project test \
      --persistent --data-dir "$D/data" --log-level warning
    wait_for 60 "$D/server.pid" "$D/server.log" curl -sf "http://127.0.0.1:$PORT/bigquery/v2/projects/test/datasets"
    stop_with_owner "$SELF" "$NAME"
    echo "# bigquery $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: bigquery.sh start|kill|stop|env [NAME]" ;;
esac
