#!/bin/bash
# The demo: an example cluster (examples/dump) is collected into a Git repository and SQLite, three objects change, and it is
# collected again. Then `kollect sandbox` serves the same cluster over the Kubernetes API, and `kollect operator` keeps both in step.
#   demo.sh KOLLECT [WORK-FOLDER]
set -euo pipefail
KOLLECT=$(readlink -f "$1")
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")
WORK=${2:-$ROOT/build/demo}

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' off=$'\e[0m'; else bold="" dim="" green="" off=""; fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$off"; }
# typed WORD...: the words as one would type them, so that the line can be copied.
typed() {
  local word line=""
  for word in "$@"; do
    if [[ $word == *\'* && $word != *[\"\$\`\\!]* ]]; then word="\"$word\""; elif [[ ! $word =~ ^[A-Za-z0-9_./:=,@%+~-]+$ ]]; then word=${word@Q}; fi
    line+=" $word"
  done
  printf '%s' "${line# }"
}
# Shows a command, then runs it.
run() { printf '%s$ %s%s\n' "$dim" "$(typed "$@")" "$off"; "$@"; }
kollect() { "$KOLLECT" "$@"; }

# drop_object FILE KIND NAME NAMESPACE: takes one item out of a List.
drop_object() {
  awk -v kind="  kind: $2" -v name="    name: $3" -v ns="    namespace: $4" '
    function flush() { if (item != "" && !(has_kind && has_name && has_ns)) printf "%s", item; item = ""; has_kind = has_name = has_ns = 0 }
    /^- / { flush(); in_item = 1 }
    /^[a-z]/ { flush(); in_item = 0 }
    { if (!in_item) { print; next } item = item $0 "\n"
      if ($0 == kind) has_kind = 1; if ($0 == name) has_name = 1; if ($0 == ns) has_ns = 1 }
    END { flush() }' "$1" >"$1.new"
  mv "$1.new" "$1"
}

rm -rf "$WORK"
mkdir -p "$WORK/config"
cp -r "$ROOT/examples/dump" "$WORK/cluster"
for topic in deployment-images helm-releases ingress-hosts namespaces certificates; do
  for file in profile target; do cp "$ROOT/examples/inventory/$topic/$file.yaml" "$WORK/config/$topic-$file.yaml"; done
done
git init -q --bare -b main "$WORK/inventory.git"
cat >"$WORK/config/sink.yaml" <<YAML
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {name: git, namespace: kollect-system}
spec:
  type: git
  endpoint: file://$WORK/inventory.git
  layout: {mode: perResource, content: item}
  git:
    branch: main
    commitMessage: "inventory of {cluster}: {itemCount} rows"
YAML
cd "$WORK"
printf '%s$ cd %s%s\n' "$dim" "$(typed "$WORK")" "$off"

step "1. Collect the example cluster: $(cat cluster/*.yaml | grep -c '^- apiVersion') objects, five targets, into Git and SQLite"
run kollect collect --config config --manifests cluster --cluster harbor --sqlite inventory.db --summary text --log-level error
run git -C inventory.git log --oneline --shortstat
run git -C inventory.git show main:harbor/shop-prod/deployment/checkout.yaml

step "2. Three things change: an image, an Ingress goes, a namespace comes"
sed -i 's|\(shop/checkout:\)[^ ]*|\19.0.0|' cluster/shop-prod.yaml
drop_object cluster/payments-prod.yaml Ingress ledger-api payments-prod
cat >cluster/new.yaml <<'YAML'
apiVersion: v1
kind: Namespace
metadata:
  name: analytics-prod
  uid: 7b1f6f0e-51a4-4b57-a3f3-0c2f6f6a9d10
  creationTimestamp: "2026-04-02T08:00:00Z"
  labels: {team: analytics, stage: prod}
status: {phase: Active}
YAML
run kollect collect --config config --manifests cluster --cluster harbor --sqlite inventory.db --summary text --log-level error

step "3. What Git says"
run git -C inventory.git log --oneline --shortstat
run git -C inventory.git --no-pager diff --color="$([ -n "$green" ] && echo always || echo never)" -U1 main~1 main -- harbor

step "4. What the history in SQLite says"
run kollect query inventory.db "SELECT change, kind, namespace, name, before->>'images' AS images_before, after->>'images' AS images_after FROM inventory_changes WHERE at > (SELECT min(at) FROM inventory_changes) ORDER BY kind, name"

step "5. A third run changes nothing"
run kollect collect --config config --manifests cluster --cluster harbor --sqlite inventory.db --summary none --log-level error
[ "$(git -C inventory.git rev-list --count main)" = 2 ] || { echo "demo: a run without changes made a commit" >&2; exit 1; }
echo "${green}still two commits${off}"

# From here on nobody runs a command for each export: an API server, and the operator that watches it.
WATCHED=()
end_watched() { [ ${#WATCHED[@]} = 0 ] || { kill "${WATCHED[@]}" && wait "${WATCHED[@]}"; } 2>/dev/null || true; }
trap end_watched EXIT
# start NAME kollect ARGUMENT...: runs beside us, its log in a file.
start() {
  local name=$1
  shift 2
  printf '%s$ kollect %s &%s\n' "$dim" "$(typed "$@")" "$off"
  "$KOLLECT" "$@" >"$name.out" 2>"$name.log" &
  WATCHED+=($!)
}
# until_true WHAT COMMAND...: asks ten times a second, half a minute long.
until_true() {
  local what=$1; shift
  for _ in $(seq 300); do if "$@" >/dev/null 2>&1; then return 0; fi; sleep 0.1; done
  echo "demo: $what: not within 30 s; see the logs in $WORK" >&2
  exit 1
}
git init -q --bare -b main "$WORK/live.git"
mkdir live
kollect crds >live/0-crds.yaml
for file in config/*-profile.yaml config/*-target.yaml; do cp "$file" "live/1-$(basename "$file")"; done
cat >live/2-where.yaml <<YAML
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {name: git, namespace: kollect-system}
spec:
  type: git
  cluster: harbor
  endpoint: file://$WORK/live.git
  layout: {mode: perResource, content: item}
  git: {branch: main}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: sqlite, namespace: kollect-system}
spec:
  type: sqlite
  cluster: harbor
  sqlite: {path: live.db}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectInventory
metadata: {name: harbor, namespace: kollect-system}
spec:
  snapshotSinkRefs: [git]
  databaseSinkRefs: [sqlite]
YAML

step "6. The same without anybody running it: an API server from memory, and the operator that watches it"
start sandbox kollect sandbox --load cluster --load live --kubeconfig-out kubeconfig
until_true "the sandbox" test -s sandbox.out
start operator kollect operator --kubeconfig kubeconfig --sqlite-dir . --allow-local-sinks --export-start-spread 0s --health-probe-bind-address 0 --validating-webhooks-enabled=false
rows_are() { [ "$(kollect query live.db --format csv "SELECT count(*) FROM inventory_rows" | tail -1)" -ge "$1" ]; }
until_true "the first export" rows_are 1
until_true "the first commit" git -C live.git rev-parse -q --verify main
run kollect query live.db "SELECT kind, count(*) AS rows, count(DISTINCT namespace) AS namespaces FROM inventory_rows GROUP BY kind ORDER BY kind"
run git -C live.git log --oneline --shortstat
step "7. An image changes and an Ingress goes, through the API"
SERVER=$(head -1 sandbox.out)
call() { run curl -sS --fail-with-body -o /dev/null "$@"; }
call -X PATCH -H 'Content-Type: application/json-patch+json' "$SERVER/apis/apps/v1/namespaces/shop-prod/deployments/checkout" \
  -d '[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.harbor.example/shop/checkout:9.1.0"}]'
call -X DELETE "$SERVER/apis/networking.k8s.io/v1/namespaces/payments-staging/ingresses/ledger-api"
changes_are() { [ "$(kollect query live.db --format csv "SELECT count(*) FROM inventory_changes WHERE at > (SELECT min(at) FROM inventory_changes)" | tail -1)" -ge "$1" ]; }
in_git() { git -C live.git grep -q 'checkout:9.1.0' main && ! git -C live.git cat-file -e main:harbor/payments-staging/ingress/ledger-api.yaml; }
until_true "the changes in SQLite" changes_are 2
until_true "the changes in Git" in_git

step "8. The exported difference, and the history"
run git -C live.git --no-pager diff --color="$([ -n "$green" ] && echo always || echo never)" -U1 "$(git -C live.git rev-list --max-parents=0 main)" main -- harbor
run kollect query live.db "SELECT at, change, kind, namespace, name, before->>'images' AS images_before, after->>'images' AS images_after FROM inventory_changes WHERE at > (SELECT min(at) FROM inventory_changes) ORDER BY at, kind"
end_watched
WATCHED=()

step "Try next"
cat <<TEXT
  alias kollect=$KOLLECT
  kollect query $WORK/inventory.db "SELECT namespace, name, attributes->>'version' FROM inventory_rows WHERE kind = 'Deployment' LIMIT 10"
  kollect collect --config $ROOT/examples/inventory/deployment-images --output -       # your own cluster, from your kubeconfig
  kollect init --output-dir my-inventory                                               # questions instead of YAML
  kollect sandbox --generate Deployment=100000 --change-rate 100/s --kubeconfig-out sandbox.kubeconfig   # a large cluster to try things on
  kollect help
TEXT
