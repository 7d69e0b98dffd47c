#!/bin/bash
# One broker of Apache Kafka (KRaft) on 127.0.0.1, with TLS, SASL and an authorizer. Jars by build.sh kafka; needs Java 17.
#   eval "$(kafka.sh start [NAME])"   exports KAFKA_PLAIN KAFKA_SASL KAFKA_SASL_TLS KAFKA_TLS (addresses of the listeners)
#                                     KAFKA_CA KAFKA_CLIENT_CERT KAFKA_CLIENT_KEY (files)
#                                     KAFKA_TOKEN KAFKA_OLD_TOKEN KAFKA_FOREIGN_TOKEN (JWTs for OAUTHBEARER)
#   kafka.sh kill NAME                kill -9; returns when the process is gone
#   kafka.sh stop|env [NAME]
#   kafka.sh java NAME CLASS ARGS...  a tool of the same jars
# KAFKA_PLAIN: nobody asks, everything is allowed. KAFKA_SASL, KAFKA_SASL_TLS: users test / secret (everything allowed) and
# guest / secret (nothing but what ACLs give), by SCRAM-SHA-256, SCRAM-SHA-512, PLAIN. KAFKA_SASL_TLS also by OAUTHBEARER: KAFKA_TOKEN is the
# user test's; KAFKA_OLD_TOKEN has expired, KAFKA_FOREIGN_TOKEN is signed by somebody else. KAFKA_TLS: a client certificate is asked for.
# The listeners on 127.0.0.1 are advertised as that address; KAFKA_NAMED (no security) as broker.test.
# start after kill or stop (KEEP=1) goes on with the same data and ports.
# Environment: OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/kafka-$NAME
JARS="$TESTBED/kafka/libs/*"
# Short-lived and small: no second compiler, no parallel collector.
java_with() { # MEGABYTES
  java=(java -Xms64m "-Xmx$1m" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$JARS")
}

load_ports() { [ -f "$D/ports" ] || die "no instance '$NAME' (start it first)"; read -r PLAIN SASL SASL_TLS TLS NAMED CONTROLLER <"$D/ports"; }

print_env() {
  load_ports
  cat <<SH
export KAFKA_PLAIN=127.0.0.1:$PLAIN KAFKA_SASL=127.0.0.1:$SASL KAFKA_SASL_TLS=127.0.0.1:$SASL_TLS KAFKA_TLS=127.0.0.1:$TLS KAFKA_NAMED=127.0.0.1:$NAMED
export KAFKA_CA=$D/tls/ca.crt KAFKA_CLIENT_CERT=$D/tls/client.crt KAFKA_CLIENT_KEY=$D/tls/client.key
$(cat "$D/tls/tokens")
SH
}

make_certificates() {
  mkdir -p "$D/tls"
  cd "$D/tls"
  local key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
  openssl req -x509 "${key[@]}" -keyout ca.key -out ca.crt -days 3650 -subj "/CN=kafka test authority" 2>/dev/null
  openssl req "${key[@]}" -keyout server.key -out server.csr -subj /CN=localhost 2>/dev/null
  openssl req "${key[@]}" -keyout client.key -out client.csr -subj /CN=test 2>/dev/null
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out server.crt \
    -extfile <(echo "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:broker.test") 2>/dev/null
  openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out client.crt 2>/dev/null
  cat server.key server.crt >server.pem
}

# A key pair: the broker gets its public half (RFC 7517), tokens are signed with the other (RFC 7519, RS256).
make_tokens() {
  python3 - "$D/tls" <<'PY'
import base64, json, pathlib, re, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])

def url64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

def openssl(*args, **options):
    return subprocess.run(["openssl", *args], check=True, capture_output=True, **options).stdout

def new_key(name):
    openssl("genrsa", "-out", str(folder / name), "2048")
    return str(folder / name)

def token(key, expires):
    body = {"iss": "https://issuer.test", "aud": "kafka", "sub": "test", "iat": int(time.time()) - 7200, "exp": expires}
    signed = url64(b'{"alg":"RS256","kid":"k1","typ":"JWT"}') + "." + url64(json.dumps(body).encode())
    return signed + "." + url64(openssl("dgst", "-sha256", "-sign", key, input=signed.encode()))

ours, foreign = new_key("token.key"), new_key("foreign.key")
modulus = openssl("rsa", "-in", ours, "-noout", "-modulus").decode().split("=")[1].strip()
jwk = {"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256", "e": "AQAB", "n": url64(bytes.fromhex(modulus))}
(folder / "jwks.json").write_text(json.dumps({"keys": [jwk]}))
later = int(time.time()) + 10 * 365 * 86400
(folder / "tokens").write_text(
    f"export KAFKA_TOKEN={token(ours, later)}\nexport KAFKA_OLD_TOKEN={token(ours, int(time.time()) - 3600)}\n"
    f"export KAFKA_FOREIGN_TOKEN={token(foreign, later)}\n")
PY
}

write_properties() {
  local plain='org.apache.kafka.common.security.plain.PlainLoginModule required user_test="secret" user_guest="secret";'
  local scram='org.apache.kafka.common.security.scram.ScramLoginModule required;'
  local local_listeners="PLAINTEXT://127.0.0.1:$PLAIN,SASL_PLAINTEXT://127.0.0.1:$SASL,SASL_SSL://127.0.0.1:$SASL_TLS,SSL://127.0.0.1:$TLS"
  cat <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$CONTROLLER
listeners=$local_listeners,NAMED://127.0.0.1:$NAMED,CONTROLLER://127.0.0.1:$CONTROLLER
advertised.listeners=$local_listeners,NAMED://broker.test:$NAMED
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,NAMED:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
ssl.keystore.type=PEM
ssl.keystore.location=$D/tls/server.pem
ssl.truststore.type=PEM
ssl.truststore.location=$D/tls/ca.crt
listener.name.ssl.ssl.client.auth=required
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:test;User:CN=test
log.dirs=$D/data
num.partitions=3
num.network.threads=2
num.io.threads=4
background.threads=2
# A killed broker is let in again when its session is over.
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
initial.broker.registration.timeout.ms=20000
controlled.shutdown.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
log.cleaner.dedupe.buffer.size=2000000
log.cleaner.backoff.ms=200
log.initial.task.delay.ms=200
CONF
  local name
  for name in sasl_plaintext sasl_ssl; do
    echo "listener.name.$name.plain.sasl.jaas.config=$plain"
    echo "listener.name.$name.scram-sha-256.sasl.jaas.config=$scram"
    echo "listener.name.$name.scram-sha-512.sasl.jaas.config=$scram"
  done
  cat <<CONF
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.sasl_ssl.sasl.oauthbearer.jwks.endpoint.url=file://$D/tls/jwks.json
listener.name.sasl_ssl.sasl.oauthbearer.expected.audience=kafka
listener.name.sasl_ssl.sasl.oauthbearer.expected.issuer=https://issuer.test
CONF
}

make_instance() {
  local id mechanism user users=()
  make_certificates
  make_tokens
  free_ports 6 >"$D/ports.new"
  mv "$D/ports.new" "$D/ports"
  load_ports
  write_properties >"$D/server.properties"
  for mechanism in SCRAM-SHA-256 SCRAM-SHA-512; do
    for user in test guest; do users+=(--add-scram "$mechanism=[name=$user,password=secret]"); done
  done
  id=$(python3 -c 'import base64, uuid; print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))')
  java_with 128
  "${java[@]}" kafka.tools.StorageTool format -t "$id" -c "$D/server.properties" "${users[@]}" >"$D/format.log" 2>&1 ||
    { rm -f "$D/ports"; tail -n 5 "$D/format.log" >&2; die "format failed"; }
}

port_open() { timeout 1 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1"; }

start_server() {
  java_with 256
  java+=("-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://$D/tls/jwks.json")
  spawn "$D/server.pid" "$D/server.log" "${java[@]}" kafka.Kafka "$D/server.properties"
  wait_for 60 "$D/server.pid" "$D/server.log" port_open "$PLAIN"
}

case $COMMAND in
  start)
    need java "run scripts/install-deps.sh test"
    [ -d "$TESTBED/kafka" ] || die "no jars: run scripts/servers/build.sh kafka"
    began=$(now_ms)
    mkdir -p "$D"
    [ -f "$D/ports" ] || make_instance
    load_ports
    start_server
    stop_with_owner "$SELF" "$NAME"
    echo "# kafka $NAME ready after $(($(now_ms) - began)) ms; $(rss_mib "$(cat "$D/server.pid")")"
    print_env
    ;;
  env) print_env ;;
  java)
    shift 2
    java_with 512
    exec "${java[@]}" "$@"
    ;;
  kill) kill_pid "$D/server.pid" ;;
  stop)
    # Nobody needs what it would write in a proper shutdown, unless the data is kept.
    if [ "${KEEP:-0}" = 1 ]; then
      stop_pid "$D/server.pid"
    elif [ -f "$D/server.pid" ]; then
      kill -KILL "$(cat "$D/server.pid")" 2>/dev/null || true
      stop_pid "$D/server.pid"
      rm -rf "$D"
    fi
    ;;
  *) die "usage: kafka.sh start|kill|stop|env|java [NAME]" ;;
esac
