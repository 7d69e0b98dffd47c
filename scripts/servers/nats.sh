#!/bin/bash
# nats-server with JetStream on 127.0.0.1.
#   eval "$(nats.sh start [NAME])"   exports NATS_URL NATS_HOST NATS_MONITOR, the account's users (NATS_USER NATS_PASSWORD; NATS_POOR_USER, who
#                                    may publish nothing; NATS_PLAIN_USER of an account without JetStream), NATS_SEED (of an nkey user),
#                                    with TLS=1 NATS_CA, with AUTH=token NATS_TOKEN, with AUTH=jwt NATS_CREDS (a file)
#   nats.sh kill NAME                kill -9 of the process
#   nats.sh set NAME KEY=VALUE...    sets lines of the configuration (max_payload=65536); they count from the next start on
#   nats.sh stop|env [NAME]
# start after kill or stop (KEEP=1) goes on with the same data and port.
# Environment: TLS=1 (TLS=mutual: clients need a certificate, NATS_CLIENT_CERT NATS_CLIENT_KEY), AUTH=token, AUTH=jwt, OWNER_PID (stop when that
# process ends), KEEP=1 (stop keeps the data), PORT (instead of a free one).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/nats-$NAME
load() { [ -f "$D/ports" ] || die "no instance '$NAME' (start it first)"; . "$D/ports"; }

print_env() {
  load
  echo "export NATS_URL=nats://127.0.0.1:$P NATS_HOST=127.0.0.1:$P NATS_MONITOR=http://127.0.0.1:$M NATS_USER=test NATS_PASSWORD=secret"
  echo "export NATS_POOR_USER=poor NATS_PLAIN_USER=plain NATS_SEED=$(cat "$D/seed" 2>/dev/null || true) NATS_TOKEN=s3cr3t-token"
  [ ! -f "$D/server.crt" ] || echo "export NATS_CA=$D/server.crt"
  [ ! -f "$D/user.creds" ] || echo "export NATS_CREDS=$D/user.creds"
  [ ! -f "$D/client.crt" ] || echo "export NATS_CLIENT_CERT=$D/client.crt NATS_CLIENT_KEY=$D/client.key"
}

certificate() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/$1.key" -out "$D/$1.crt" -days 3650 -subj /CN=localhost \
    -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:bus.test" 2>/dev/null
}

# keys.py nkey: "SEED PUBLIC" of a user. keys.py jwt FOLDER: operator, account with JetStream and user, the configuration lines on
# standard output, user.creds in the folder. Formats: docs.nats.io, "JWTs" and "NKeys".
keys() {
  python3 - "$@" <<'PY'
import base64, hashlib, json, os, pathlib, subprocess, sys, tempfile
USER, ACCOUNT, OPERATOR, SEED = 20 << 3, 0, 14 << 3, 18 << 3

def crc(data):
    out = 0
    for byte in data:
        out ^= byte << 8
        for _ in range(8):
            out = ((out << 1) ^ 0x1021 if out & 0x8000 else out << 1) & 0xffff
    return out.to_bytes(2, "little")

def text(data):
    return base64.b32encode(data + crc(data)).decode().rstrip("=")

def url64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

class Key:
    def __init__(self, kind):
        self.der = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER"], check=True, capture_output=True).stdout
        public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"], input=self.der, check=True,
                                capture_output=True).stdout
        self.seed = text(bytes([SEED | kind >> 5, (kind & 31) << 3]) + self.der[-32:])
        self.public = text(bytes([kind]) + public[-32:])

    def sign(self, data):
        with tempfile.TemporaryDirectory() as folder:
            key, body = pathlib.Path(folder, "key"), pathlib.Path(folder, "body")
            key.write_bytes(self.der)
            body.write_bytes(data)
            return subprocess.run(["openssl", "pkeyutl", "-sign", "-keyform", "DER", "-inkey", key, "-rawin", "-in", body], check=True,
                                  capture_output=True).stdout

def jwt(issuer, subject, name, kind, **claims):
    body = {"iat": 1700000000, "iss": issuer.public, "name": name, "sub": subject.public,
            "nats": {"type": kind, "version": 2, **claims}}
    body["jti"] = base64.b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).decode().rstrip("=")
    signed = url64(b'{"typ":"JWT","alg":"ed25519-nkey"}') + "." + url64(json.dumps(body).encode())
    return signed + "." + url64(issuer.sign(signed.encode()))

if sys.argv[1] == "nkey":
    user = Key(USER)
    print(user.seed, user.public)
else:
    operator, account, system, user = Key(OPERATOR), Key(ACCOUNT), Key(ACCOUNT), Key(USER)
    limits = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    store = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    print("operator:", jwt(operator, operator, "harbor", "operator", system_account=system.public))
    print("system_account:", system.public)
    print("resolver: MEMORY\nresolver_preload: {")
    print(f' {account.public}: {jwt(operator, account, "main", "account", limits={**limits, **store})}')
    print(f' {system.public}: {jwt(operator, system, "system", "account", limits=limits)}')
    print("}")
    token = jwt(account, user, "kollect", "user", subs=-1, data=-1, payload=-1, issuer_account=account.public)
    pathlib.Path(sys.argv[2], "user.creds").write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")
PY
}

make_instance() {
  read -r P M < <(free_ports 2)
  echo "P=${PORT:-$P} M=$M" >"$D/ports"
  read -r seed public < <(keys nkey)
  echo "$seed" >"$D/seed"
  {
    echo "listen: \"127.0.0.1:${PORT:-$P}\""
    echo "http: \"127.0.0.1:$M\""
    echo "server_name: \"$NAME\""
    echo "jetstream { store_dir: \"$D/js\", max_mem: 256MB, max_file: 4GB }"
    if [ "${AUTH:-}" = token ]; then
      echo 'authorization { token: "s3cr3t-token" }'
    elif [ "${AUTH:-}" = jwt ]; then
      keys jwt "$D"
    else
      cat <<CONF
accounts {
  MAIN {
    jetstream: enabled
    users: [
      {user: test, password: secret}
      {user: poor, password: secret, permissions: {publish: {deny: ["kollect.>", "events.>"]}}}
      {nkey: $public}
    ]
  }
  PLAIN { users: [ {user: plain, password: secret} ] }
}
CONF
    fi
    if [ -n "${TLS:-}" ]; then
      certificate server
      echo "tls { cert_file: \"$D/server.crt\", key_file: \"$D/server.key\""
      if [ "$TLS" = mutual ]; then
        certificate client
        echo "  ca_file: \"$D/client.crt\", verify: true"
      fi
      echo "}"
    fi
  } >"$D/nats.conf"
}

is_up() { curl -sf -o /dev/null "http://127.0.0.1:$M/healthz?js-enabled-only=true"; }

case $COMMAND in
  start)
    need nats-server "run scripts/servers/build.sh nats-server"
    began=$(now_ms)
    mkdir -p "$D"
    [ -f "$D/ports" ] || make_instance
    load
    spawn "$D/server.pid" "$D/server.log" nats-server -c "$D/nats.conf"
    wait_for 30 "$D/server.pid" "$D/server.log" is_up
    stop_with_owner "$SELF" "$NAME"
    echo "# nats $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  kill) kill_pid "$D/server.pid" ;;
  set)
    for pair in "${@:3}"; do
      sed -i "/^${pair%%=*}:/d" "$D/nats.conf"
      echo "${pair%%=*}: ${pair#*=}" >>"$D/nats.conf"
    done
    ;;
  stop)
    if [ "${KEEP:-0}" = 1 ]; then
      stop_pid "$D/server.pid"
    else # a server whose data goes need not close it in order
      [ ! -f "$D/server.pid" ] || kill_pid "$D/server.pid"
      rm -rf "$D"
    fi
    ;;
  *) die "usage: nats.sh start|kill|set|stop|env [NAME]" ;;
esac
