#!/bin/bash
# An S3 server (Versity S3 Gateway over a folder; it checks signatures and rights) on 127.0.0.1, addressed by path.
#   eval "$(s3.sh start [NAME])"   exports S3_ENDPOINT AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION S3_BUCKET S3_DATA, a second
#                                  user without rights on the bucket (S3_OTHER_KEY S3_OTHER_SECRET), with TLS=1 S3_CA
#   s3.sh kill NAME                kill -9 of the process
#   s3.sh stop|env [NAME]
# start after kill or stop (KEEP=1) goes on with the same data and port.
# Environment: TLS=1, OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
# The state folder's file system must know extended attributes.
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/s3-$NAME
USER_KEY=testkey
USER_SECRET=testsecret1234567890

load_port() { [ -f "$D/port" ] || die "no instance '$NAME' (start it first)"; PORT=$(cat "$D/port"); }
url() { if [ -f "$D/server.crt" ]; then echo "https://127.0.0.1:$PORT"; else echo "http://127.0.0.1:$PORT"; fi; }
is_up() { curl -skf -o /dev/null "$(url)/health"; }

print_env() {
  load_port
  cat <<SH
export S3_ENDPOINT=$(url) AWS_ACCESS_KEY_ID=$USER_KEY AWS_SECRET_ACCESS_KEY=$USER_SECRET AWS_REGION=us-east-1
export S3_BUCKET=inventory S3_DATA=$D/data S3_OTHER_KEY=other S3_OTHER_SECRET=othersecret1234567890 S3_CA=$([ ! -f "$D/server.crt" ] || echo "$D/server.crt")
SH
}

make_instance() {
  mkdir -p "$D/data" "$D/iam"
  if [ "${TLS:-0}" = 1 ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/server.key" -out "$D/server.crt" \
      -days 3650 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:store.test" 2>/dev/null
  fi
  echo "${PORT:-$(free_ports 1)}" >"$D/port"
}

start_server() {
  local tls=()
  [ ! -f "$D/server.crt" ] || tls=(--cert "$D/server.crt" --key "$D/server.key")
  spawn "$D/server.pid" "$D/server.log" versitygw --port "127.0.0.1:$PORT" --access "$USER_KEY" --secret "$USER_SECRET" \
    --region us-east-1 --iam-dir "$D/iam" --health /health --quiet "${tls[@]}" posix "$D/data"
  wait_for 30 "$D/server.pid" "$D/server.log" is_up
}

make_users() {
  curl -skf -o /dev/null -X PUT --user "$USER_KEY:$USER_SECRET" --aws-sigv4 aws:amz:us-east-1:s3 \
    -H "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" "$(url)/inventory"
  versitygw admin --access "$USER_KEY" --secret "$USER_SECRET" --endpoint-url "$(url)" --allow-insecure \
    create-user --access other --secret othersecret1234567890 --role user >"$D/user.log" 2>&1 || { cat "$D/user.log" >&2; die "no second user"; }
}

case $COMMAND in
  start)
    need versitygw "run scripts/servers/build.sh versitygw"
    began=$(now_ms)
    fresh=0
    if [ ! -f "$D/port" ]; then
      make_instance
      fresh=1
    fi
    load_port
    start_server
    [ $fresh = 0 ] || make_users
    stop_with_owner "$SELF" "$NAME"
    echo "# s3 $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    # Data that goes anyway needs no orderly end, which takes seconds.
    [ "${KEEP:-0}" = 1 ] || [ ! -f "$D/server.pid" ] || kill -KILL "$(cat "$D/server.pid")" 2>/dev/null || true
    stop_pid "$D/server.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: s3.sh start|kill|stop|env [NAME]" ;;
esac
