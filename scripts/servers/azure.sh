#!/bin/bash
# Azure Blob Storage (Azurite; it checks keys, shared access signatures and the form of tokens) on 127.0.0.1.
#   eval "$(azure.sh start [NAME])"   exports AZURE_ENDPOINT (with the account in its path) AZURE_STORAGE_ACCOUNT AZURE_STORAGE_KEY,
#                                     AZURE_OTHER_KEY (of another account), with TLS=1 AZURE_CA and tokens are taken
#   azure.sh kill NAME                kill -9 of the process
#   azure.sh stop|env [NAME]
# start after kill or stop (KEEP=1) goes on with the same data and port; what was written in the last seconds before a kill is lost.
# Environment: TLS=1, OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/azure-$NAME
KEY=$(printf 'the key of the account of tests..' | base64)
OTHER_KEY=$(printf 'the key of some other account....' | base64)

load_port() { [ -f "$D/port" ] || die "no instance '$NAME' (start it first)"; PORT=$(cat "$D/port"); }
url() { if [ -f "$D/server.crt" ]; then echo "https://127.0.0.1:$PORT"; else echo "http://127.0.0.1:$PORT"; fi; }
# Refused requests are answers as well.
is_up() { curl -sk -o /dev/null "$(url)/test?comp=list"; }

print_env() {
  load_port
  cat <<SH
export AZURE_ENDPOINT=$(url)/test AZURE_STORAGE_ACCOUNT=test AZURE_STORAGE_KEY=$KEY AZURE_OTHER_KEY=$OTHER_KEY
export AZURE_CA=$([ ! -f "$D/server.crt" ] || echo "$D/server.crt")
SH
}

make_instance() {
  mkdir -p "$D/data"
  if [ "${TLS:-0}" = 1 ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/server.key" -out "$D/server.crt" \
      -days 3650 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:store.test" 2>/dev/null
  fi
  echo "${PORT:-$(free_ports 1)}" >"$D/port"
}

start_server() {
  local tls=()
  [ ! -f "$D/server.crt" ] || tls=(--cert "$D/server.crt" --key "$D/server.key" --oauth basic)
  AZURITE_ACCOUNTS="test:$KEY;other:$OTHER_KEY" spawn "$D/server.pid" "$D/server.log" azurite --blobHost 127.0.0.1 --blobPort "$PORT" \
    --location "$D/data" --silent --disableTelemetry --disableProductStyleUrl "${tls[@]}"
  wait_for 30 "$D/server.pid" "$D/server.log" is_up
}

case $COMMAND in
  start)
    need azurite "run scripts/servers/build.sh azurite"
    began=$(now_ms)
    [ -f "$D/port" ] || make_instance
    load_port
    start_server
    stop_with_owner "$SELF" "$NAME"
    echo "# azure $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: azure.sh start|kill|stop|env [NAME]" ;;
esac
