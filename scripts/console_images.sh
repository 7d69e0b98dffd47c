#!/bin/bash
# The pictures of docs/console.md anew, taken by the browser tests: console_images.sh [PROGRAM]
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
export KOLLECT=${1:-$HERE/../build/release/kollect}
export KOLLECT_SCREENSHOTS=$HERE/../docs/images/console
cd "$HERE/.."
python3 tests/e2e/console_test.py
python3 tests/e2e/console_operator_test.py
