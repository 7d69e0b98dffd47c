#!/bin/bash
# A real kube-apiserver with etcd on 127.0.0.1 (with KCM=1 also kube-controller-manager).
#   eval "$(kube.sh start [NAME])"     exports KUBECONFIG, KUBE_SERVER, KUBE_CA, KUBE_TOKEN, ...
#   kube.sh stop [NAME]                stops it and deletes its data (KEEP=1 keeps them for a later start)
#   kube.sh env [NAME]                 prints the exports again
#   kube.sh restart-apiserver [NAME]   same port, same data: for tests of dropped connections
#   kube.sh compact [NAME]             compacts etcd to its newest revision; after restart-apiserver old ones give 410
# Every NAME is an instance of its own on free ports. Tokens: admin-token, alice-token (group team-a), bob-token (team-b),
# nobody-token; kubeconfigs $KUBE_STATE/kubeconfig.<user>.
# Environment: PORT (fixed port), KCM=1, APISERVER_ARGS, ETCD_ARGS, KCM_ARGS, OWNER_PID (stop when that process ends).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/kube-$NAME

auth_get() { curl -sf --max-time 10 --cacert "$D/ca.crt" -H "Authorization: Bearer admin-token" "https://127.0.0.1:$API_PORT$1"; }

start_etcd() {
  spawn "$D/etcd.pid" "$D/etcd.log" etcd --name="$NAME" --data-dir="$D/etcd" \
    --listen-client-urls="http://127.0.0.1:$ETCD_PORT" --advertise-client-urls="http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls="http://127.0.0.1:$PEER_PORT" --initial-advertise-peer-urls="http://127.0.0.1:$PEER_PORT" \
    --initial-cluster="$NAME=http://127.0.0.1:$PEER_PORT" --unsafe-no-fsync --log-level=warn ${ETCD_ARGS:-}
  wait_for 30 "$D/etcd.pid" "$D/etcd.log" curl -sf "http://127.0.0.1:$ETCD_PORT/health"
}

start_apiserver() {
  # "kubernetes.io/..." service accounts need a controller manager; the admission plugin is off so that pods can be made.
  spawn "$D/apiserver.pid" "$D/apiserver.log" kube-apiserver --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
    --bind-address=127.0.0.1 --secure-port="$API_PORT" --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
    --service-cluster-ip-range=10.0.0.0/24 --allow-privileged=true \
    --authorization-mode=Node,RBAC --disable-admission-plugins=ServiceAccount \
    --client-ca-file="$D/ca.crt" --tls-cert-file="$D/server.crt" --tls-private-key-file="$D/server.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$D/sa.pub" \
    --service-account-signing-key-file="$D/sa.key" --token-auth-file="$D/tokens.csv" \
    --requestheader-client-ca-file="$D/ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$D/front-proxy.crt" --proxy-client-key-file="$D/front-proxy.key" \
    --profiling=false ${APISERVER_ARGS:-}
  wait_for 120 "$D/apiserver.pid" "$D/apiserver.log" auth_get /readyz
  # readyz is green before the default namespace appears
  wait_for 60 "$D/apiserver.pid" "$D/apiserver.log" auth_get /api/v1/namespaces/default
}

# Told to end it closes its port at once but keeps open watches for a minute; a restart is to be seen by those as well.
stop_apiserver() { stop_pid "$D/apiserver.pid" 1; }

start_controller_manager() {
  spawn "$D/kcm.pid" "$D/kcm.log" kube-controller-manager --kubeconfig="$D/kubeconfig.kcm" \
    --bind-address=127.0.0.1 --secure-port="$KCM_PORT" --leader-elect=false --use-service-account-credentials=true \
    --service-account-private-key-file="$D/sa.key" --root-ca-file="$D/ca.crt" \
    --cluster-signing-cert-file="$D/ca.crt" --cluster-signing-key-file="$D/ca.key" \
    --tls-cert-file="$D/server.crt" --tls-private-key-file="$D/server.key" ${KCM_ARGS:-}
  wait_for 60 "$D/kcm.pid" "$D/kcm.log" curl -skf "https://127.0.0.1:$KCM_PORT/healthz"
}

new_key() { openssl req "$@" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes 2>/dev/null; }

make_cert() { # NAME SUBJECT EXTENSIONS
  new_key -new -keyout "$D/$1.key" -out "$D/$1.csr" -subj "$2"
  openssl x509 -req -in "$D/$1.csr" -CA "$D/ca.crt" -CAkey "$D/ca.key" -CAcreateserial -days 3650 -out "$D/$1.crt" \
    -extfile <(printf '%s\n' "$3") 2>/dev/null
  rm -f "$D/$1.csr"
}

make_kubeconfig() { # FILE USER-YAML
  cat >"$D/$1" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: $NAME, cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority-data: $(base64 -w0 "$D/ca.crt")}}]
users: [{name: user, user: {$2}}]
contexts: [{name: $NAME, context: {cluster: $NAME, user: user}}]
current-context: $NAME
YAML
}

client_cert() { echo "client-certificate-data: $(base64 -w0 "$D/$1.crt"), client-key-data: $(base64 -w0 "$D/$1.key")"; }

make_instance() {
  local user
  read -r API_PORT ETCD_PORT PEER_PORT KCM_PORT < <(free_ports 4)
  API_PORT=${PORT:-$API_PORT}
  new_key -x509 -keyout "$D/ca.key" -out "$D/ca.crt" -days 3650 -subj "/CN=testbed-ca-$NAME" \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"
  make_cert server "/CN=kube-apiserver" $'subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc\nextendedKeyUsage=serverAuth'
  make_cert admin "/O=system:masters/CN=admin" 'extendedKeyUsage=clientAuth'
  make_cert kcm "/CN=system:kube-controller-manager" 'extendedKeyUsage=clientAuth'
  make_cert front-proxy "/CN=front-proxy" 'extendedKeyUsage=clientAuth'
  openssl genrsa -out "$D/sa.key" 2048 2>/dev/null
  openssl rsa -in "$D/sa.key" -pubout -out "$D/sa.pub" 2>/dev/null
  printf '%s\n' 'admin-token,admin,1,"system:masters"' 'alice-token,alice,2,"team-a"' 'bob-token,bob,3,"team-b"' \
    'nobody-token,nobody,4' >"$D/tokens.csv"
  make_kubeconfig kubeconfig "$(client_cert admin)"
  make_kubeconfig kubeconfig.kcm "$(client_cert kcm)"
  for user in admin alice bob nobody; do make_kubeconfig "kubeconfig.$user" "token: $user-token"; done
  # Written last: an instance with ports is complete.
  printf 'API_PORT=%s\nETCD_PORT=%s\nPEER_PORT=%s\nKCM_PORT=%s\n' "$API_PORT" "$ETCD_PORT" "$PEER_PORT" "$KCM_PORT" >"$D/ports"
}

load_ports() { [ -f "$D/ports" ] || die "no instance '$NAME' (start it first)"; . "$D/ports"; }

print_env() {
  load_ports
  cat <<SH
export KUBECONFIG=$D/kubeconfig
export KUBE_SERVER=https://127.0.0.1:$API_PORT
export KUBE_CA=$D/ca.crt
export KUBE_TOKEN=admin-token
export KUBE_CLIENT_CERT=$D/admin.crt
export KUBE_CLIENT_KEY=$D/admin.key
export KUBE_STATE=$D
export ETCD_ENDPOINT=http://127.0.0.1:$ETCD_PORT
export PATH=${KUBEBUILDER_ASSETS:+$KUBEBUILDER_ASSETS:}$BIN:\$PATH
SH
}

etcd_call() { curl -sf --max-time 10 "http://127.0.0.1:$ETCD_PORT/v3/kv/$1" -d "$2"; }

case $COMMAND in
  start)
    need etcd "run scripts/servers/build.sh etcd kube-apiserver, or set KUBEBUILDER_ASSETS"
    need kube-apiserver "run scripts/servers/build.sh etcd kube-apiserver, or set KUBEBUILDER_ASSETS"
    need openssl "apt-get install openssl"
    need curl "apt-get install curl"
    began=$(now_ms)
    mkdir -p "$D"
    [ -f "$D/ports" ] || make_instance
    load_ports
    start_etcd
    start_apiserver
    [ "${KCM:-0}" != 1 ] || start_controller_manager
    stop_with_owner "$SELF" "$NAME"
    echo "# kube $NAME ready after $(($(now_ms) - began)) ms; etcd $(rss_mib "$(cat "$D/etcd.pid")"), apiserver $(rss_mib "$(cat "$D/apiserver.pid")")"
    print_env
    ;;
  env) print_env ;;
  restart-apiserver)
    load_ports
    stop_apiserver
    start_apiserver
    ;;
  compact)
    load_ports
    revision=$(etcd_call range '{"key":"AA==","limit":"1"}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["revision"])')
    etcd_call compaction "{\"revision\":\"$revision\",\"physical\":true}" >/dev/null
    echo "# compacted to $revision"
    ;;
  stop)
    stop_pid "$D/kcm.pid"
    stop_apiserver
    stop_pid "$D/etcd.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: kube.sh start|stop|env|restart-apiserver|compact [NAME]" ;;
esac
