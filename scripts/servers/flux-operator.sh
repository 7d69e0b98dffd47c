#!/bin/bash
# The Flux Operator for a cluster of kube.sh: the client of `kollect fleet serve`. Flux itself does not run; its kinds are
# there, so that what the operator renders can be looked at.
#   eval "$(flux-operator.sh start [NAME] [KUBE])"   KUBE: name of the cluster (default: NAME); exports FLUX_LOG,
#                                                    FLUX_METRICS
#   flux-operator.sh kinds [NAME] [KUBE]             only the kinds and the namespace flux-system
#   flux-operator.sh stop [NAME]
# Environment: FLUX_ARGS (flags of the operator), OWNER_PID (stop when that process ends).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
KUBE=${3:-$NAME}
D=$STATE/flux-$NAME

install_kinds() {
  mkdir -p "$D"
  export KUBECONFIG=$STATE/kube-$KUBE/kubeconfig
  [ -f "$KUBECONFIG" ] || die "no cluster '$KUBE' (kube.sh start $KUBE)"
  kubectl apply --server-side -f "$TESTBED/flux-crds" >"$D/crds.log"
  # A status that is not written yet is an error to kubectl; that is over in a moment.
  local tries
  for tries in 1 2 3 4 5; do
    kubectl wait --for=condition=Established --timeout=60s -f "$TESTBED/flux-crds" >>"$D/crds.log" && break
    [ "$tries" -lt 5 ] || return 1
  done
  kubectl create namespace flux-system --dry-run=client -o yaml | kubectl apply --server-side -f - >>"$D/crds.log"
}

case $COMMAND in
  kinds)
    need kubectl "run scripts/servers/build.sh kubectl"
    install_kinds
    ;;
  start)
    need flux-operator "run scripts/servers/build.sh flux-operator"
    need kubectl "run scripts/servers/build.sh kubectl"
    began=$(now_ms)
    mkdir -p "$D/data"
    read -r metrics health < <(free_ports 2)
    install_kinds
    # Its TLS refuses to start outside the FIPS mode.
    spawn "$D/flux.pid" "$D/flux.log" env GODEBUG=fips140=on RUNTIME_NAMESPACE=flux-system flux-operator \
      --metrics-addr="127.0.0.1:$metrics" --health-addr="127.0.0.1:$health" --web-server-port=0 \
      --enable-leader-election=false --interval-jitter-percentage=0 --storage-path="$D/data" --log-encoding=console ${FLUX_ARGS:-}
    wait_for 60 "$D/flux.pid" "$D/flux.log" curl -sf "http://127.0.0.1:$health/readyz"
    stop_with_owner "$SELF" "$NAME"
    echo "# flux-operator $NAME ready after $(($(now_ms) - began)) ms; $(rss_mib "$(cat "$D/flux.pid")")"
    echo "export FLUX_LOG=$D/flux.log FLUX_METRICS=http://127.0.0.1:$metrics/metrics"
    ;;
  stop)
    stop_pid "$D/flux.pid"
    rm -rf "$D"
    ;;
  *) die "usage: flux-operator.sh start|kinds|stop [NAME] [KUBE]" ;;
esac
