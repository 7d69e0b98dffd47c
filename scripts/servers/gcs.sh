#!/bin/bash
# An emulator of Google Cloud Storage (fake-gcs-server) on 127.0.0.1. It checks no credentials.
#   eval "$(gcs.sh start [NAME])"   exports STORAGE_EMULATOR_HOST GCS_BUCKET
#   gcs.sh kill NAME                kill -9; returns when the process is gone
#   gcs.sh stop|env [NAME]
# start after kill or stop (KEEP=1) goes on with the same objects and port.
# Environment: OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/gcs-$NAME

load_port() { [ -f "$D/port" ] || die "no instance '$NAME' (start it first)"; PORT=$(cat "$D/port"); }

print_env() {
  load_port
  echo "export STORAGE_EMULATOR_HOST=http://127.0.0.1:$PORT GCS_BUCKET=inventory"
}

case $COMMAND in
  start)
    need fake-gcs-server "run scripts/servers/build.sh fake-gcs-server"
    began=$(now_ms)
    mkdir -p "$D/data/inventory"
    [ -f "$D/port" ] || echo "${PORT:-$(free_ports 1)}" >"$D/port"
    load_port
    spawn "$D/server.pid" "$D/server.log" fake-gcs-server -scheme http -host 127.0.0.1 -port "$PORT" -backend filesystem \
      -filesystem-root "$D/data" -external-url "http://127.0.0.1:$PORT" -public-host "127.0.0.1:$PORT" -log-level warn
    wait_for 20 "$D/server.pid" "$D/server.log" curl -sf "http://127.0.0.1:$PORT/storage/v1/b/inventory"
    stop_with_owner "$SELF" "$NAME"
    echo "# gcs $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: gcs.sh start|kill|stop|env [NAME]" ;;
esac
