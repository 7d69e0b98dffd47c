#!/bin/bash
# Prints deploy/operator/operator.yaml: what charts/kollect renders, without the words of Helm. HELM names the program.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
echo "# What charts/kollect renders: scripts/generate/operator_manifests.sh > deploy/operator/operator.yaml"
"${HELM:-helm}" template kollect charts/kollect --namespace kollect-system --set webhooks.enabled=false "$@" |
  grep -Ev '^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): |^# Source: '
