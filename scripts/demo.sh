#!/bin/bash
# The demo: an example cluster (examples/dump) is collected into a Git repository and SQLite, three objects change, and it is
# collected again.
#   demo.sh KOLLECT [WORK-FOLDER]
set -euo pipefail
KOLLECT=$(readlink -f "$1")
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")
WORK=${2:-$ROOT/build/demo}

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' off=$'\e[0m'; else bold="" dim="" green="" off=""; fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$off"; }
# Shows a command as one would type it, then runs it.
run() { printf '%s$ %s%s\n' "$dim" "$*" "$off"; "$@"; }
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

step "Try next"
cat <<TEXT
  alias kollect=$KOLLECT
  kollect query $WORK/inventory.db "SELECT namespace, name, attributes->>'version' FROM inventory_rows WHERE kind = 'Deployment' LIMIT 10"
  kollect collect --config $ROOT/examples/inventory/deployment-images --output -       # your own cluster, from your kubeconfig
  kollect init --output-dir my-inventory                                               # questions instead of YAML
  kollect help
TEXT
