#!/bin/bash
# A server of the MongoDB wire protocol (SecantusDB) on 127.0.0.1, with TLS and SCRAM passwords; data in the state folder.
#   eval "$(mongo.sh start [NAME])"   exports MONGO_PORT MONGO_CA MONGO_LOG MONGO_PYTHON (one that has a client)
#   mongo.sh kill NAME                kill -9 of the process
#   mongo.sh stop|env [NAME]
# User test / secret may do everything, user reader / secret may read (both in the database admin). start after kill or stop
# (KEEP=1) goes on with the same data and port.
# Environment: OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/mongo-$NAME

python_with_client() { echo "$(dirname "$(readlink -f "$(command -v secantusd-py)")")/python"; }
load_port() { [ -f "$D/port" ] || die "no instance '$NAME' (start it first)"; PORT=$(cat "$D/port"); }

print_env() {
  load_port
  echo "export MONGO_PORT=$PORT MONGO_CA=$D/server.crt MONGO_LOG=$D/server.log MONGO_PYTHON=$(python_with_client)"
}

launch() { # FLAG...
  spawn "$D/server.pid" "$D/server.log" secantusd-py --host 127.0.0.1 --port "$PORT" --storage-path "$D/data" --standalone \
    --log-level WARNING --cache-size 256M --tls-cert-file "$D/server.crt" --tls-key-file "$D/server.key" "$@"
  wait_for 60 "$D/server.pid" "$D/server.log" bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT"
}

make_instance() {
  mkdir -p "$D"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/server.key" -out "$D/server.crt" \
    -days 3650 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:db.test" 2>/dev/null
  PORT=${PORT:-$(free_ports 1)}
  # Users are made while nobody has to sign in.
  launch
  "$(python_with_client)" - "$PORT" "$D/server.crt" <<'PY'
import sys
import pymongo
client = pymongo.MongoClient("127.0.0.1", int(sys.argv[1]), tls=True, tlsCAFile=sys.argv[2], directConnection=True)
for name, role in (("test", "root"), ("reader", "readAnyDatabase")):
    client.admin.command("createUser", name, pwd="secret", roles=[{"role": role, "db": "admin"}])
PY
  stop_pid "$D/server.pid"
  echo "$PORT" >"$D/port"
}

case $COMMAND in
  start)
    need secantusd-py "run scripts/servers/build.sh secantusd-py"
    began=$(now_ms)
    [ -f "$D/port" ] || make_instance
    load_port
    launch --auth
    stop_with_owner "$SELF" "$NAME"
    echo "# mongo $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: mongo.sh start|kill|stop|env [NAME]" ;;
esac
