#!/bin/bash
# PostgreSQL on 127.0.0.1 and a local socket, with TLS and SCRAM passwords; a cluster of its own in the state folder.
#   eval "$(postgres.sh start [NAME])"   exports PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE DATABASE_URL PG_CA PG_SOCKETS
#                                        PG_BIN (folder of psql)
#   postgres.sh kill NAME                kill -9 of the main process; returns when all its processes are gone
#   postgres.sh promote NAME             a standby becomes a primary
#   postgres.sh stop|env [NAME]
# User test / secret owns everything. start after kill or stop (KEEP=1) goes on with the same data and port.
# Environment: STANDBY_OF=NAME2 (a new instance is a hot standby of that one), OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/postgres-$NAME
PG_BIN=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)

# The server refuses to run as root.
as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
as_server() { if [ "$(id -u)" = 0 ]; then "${as_postgres[@]}" "$@"; else "$@"; fi; }

load_port() { [ -f "$D/port" ] || die "no instance '$NAME' (start it first)"; PORT=$(cat "$D/port"); }

print_env() {
  load_port
  cat <<SH
export PGHOST=127.0.0.1 PGPORT=$PORT PGUSER=test PGPASSWORD=secret PGDATABASE=test PG_CA=$D/tls/server.crt
export DATABASE_URL=postgresql://test:secret@127.0.0.1:$PORT/test PG_SOCKETS=$D/sockets PG_BIN=$PG_BIN
SH
}

make_instance() {
  mkdir -p "$D/tls" "$D/sockets"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/tls/server.key" -out "$D/tls/server.crt" \
    -days 3650 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:db.test" 2>/dev/null
  chmod 600 "$D/tls/server.key"
  echo secret >"$D/password"
  if [ "$(id -u)" = 0 ]; then chown -R postgres "$D"; fi
  as_server "$PG_BIN/initdb" -D "$D/data" -U test --pwfile="$D/password" -A scram-sha-256 --no-sync -E UTF8 --locale=C.UTF-8 \
    >"$D/initdb.log" 2>&1 || { tail -n 5 "$D/initdb.log" >&2; die "initdb failed"; }
  cat >>"$D/data/postgresql.conf" <<CONF
ssl = on
ssl_cert_file = '$D/tls/server.crt'
ssl_key_file = '$D/tls/server.key'
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 1GB
shared_buffers = 64MB
CONF
  echo "${PORT:-$(free_ports 1)}" >"$D/port"
}

# A copy that goes on following; configuration and certificates are those of the other one.
make_standby() {
  mkdir -p "$D/sockets"
  if [ "$(id -u)" = 0 ]; then chown -R postgres "$D"; fi
  PGPASSWORD=secret as_server "$PG_BIN/pg_basebackup" -h 127.0.0.1 -p "$(cat "$STATE/postgres-$STANDBY_OF/port")" -U test -D "$D/data" \
    -R -X stream -c fast --no-sync 2>"$D/basebackup.log" || { tail -n 5 "$D/basebackup.log" >&2; die "pg_basebackup failed"; }
  echo "${PORT:-$(free_ports 1)}" >"$D/port"
}

ask() { PGPASSWORD=secret "$PG_BIN/psql" -h 127.0.0.1 -p "$PORT" -U test -d postgres -XAtqc "$1"; }

start_server() {
  local log=$D/server.log
  local command=("$PG_BIN/postgres" -D "$D/data" -h 127.0.0.1 -p "$PORT" -k "$D/sockets")
  if [ "$(id -u)" = 0 ]; then command=("${as_postgres[@]}" "${command[@]}"); fi
  spawn "$D/server.pid" "$log" "${command[@]}"
  wait_for 30 "$D/server.pid" "$log" ask 'SELECT 1'
  [ "$(ask "SELECT 1 FROM pg_database WHERE datname = 'test'")" = 1 ] || ask 'CREATE DATABASE test'
}

# Ends the main process as a crash would and waits for its children, which notice by themselves.
kill_server() {
  local children
  children=$(pgrep -P "$(cat "$D/server.pid")" || true)
  kill_pid "$D/server.pid"
  # shellcheck disable=SC2086 # one word each
  wait_gone $children
  # The number of the dead process may live on as a zombie, which the next start would take for a running server.
  rm -rf "$D/data/postmaster.pid" "$D"/sockets/.s.*
}

case $COMMAND in
  start)
    [ -n "$PG_BIN" ] || die "PostgreSQL is missing: run scripts/install-deps.sh test"
    began=$(now_ms)
    mkdir -p "$D"
    chmod 755 "$STATE"
    if [ ! -f "$D/port" ]; then
      if [ -n "${STANDBY_OF:-}" ]; then make_standby; else make_instance; fi
    fi
    load_port
    start_server
    stop_with_owner "$SELF" "$NAME"
    echo "# postgres $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_server ;;
  promote)
    load_port
    ask 'SELECT pg_promote()' >/dev/null
    ;;
  stop)
    # A fast shutdown: sessions are ended, nothing waits for them.
    [ ! -f "$D/server.pid" ] || kill -INT "$(cat "$D/server.pid")" 2>/dev/null || true
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: postgres.sh start|kill|promote|stop|env [NAME]" ;;
esac
