#!/bin/bash
# Prints deploy/operator/operator.yaml: what charts/kollect renders, without the words of Helm.
set -euo pipefail
PATH=$PATH:${KOLLECT_TESTBED:-$HOME/.cache/kollect-testbed}/bin
cd "$(dirname "$(readlink -f "$0")")/../.."
echo "# What charts/kollect renders: make manifests"
helm template kollect charts/kollect --namespace kollect-system --set webhooks.enabled=false "$@" |
  grep -Ev '^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): |^# Source: '
