#!/bin/bash
# clang-format (a difference is an error) and clang-tidy.
#   lint.sh changed|all JOBS     changed: files that differ from BASE (default: the branch's fork from origin/main,
#                                else the last commit), and those not committed yet
set -euo pipefail
cd "$(dirname "$0")/.."
WHAT=$1
JOBS=$2

all_files() { git ls-files -co --exclude-standard 'src/*.cc' 'src/*.h' 'bench/*.cc' 'fuzz/*.cc' 'tests/*.cc' 'tests/*.h'; }
changed_files() {
  local base
  base=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD~1 2>/dev/null || git rev-parse HEAD)
  comm -12 <(all_files | sort) <({ git diff --name-only "$base"; git ls-files -o --exclude-standard; } | sort -u)
}

if [ "$WHAT" = all ]; then mapfile -t files < <(all_files); else mapfile -t files < <(changed_files); fi
existing=()
for file in "${files[@]}"; do [ ! -f "$file" ] || existing+=("$file"); done
[ ${#existing[@]} -gt 0 ] || { echo "lint: nothing changed"; exit 0; }

failed=0
echo "lint: clang-format on ${#existing[@]} files"
clang-format-16 --dry-run -Werror "${existing[@]}" || failed=1

mapfile -t sources < <(printf '%s\n' "${existing[@]}" | grep -E '\.cc$' | grep -vE '_fuzz\.cc$' || true)
if [ ${#sources[@]} -gt 0 ]; then
  echo "lint: clang-tidy on ${#sources[@]} files"
  cmake --preset lint >/dev/null
  printf '%s\n' "${sources[@]}" | xargs -P "$JOBS" -I{} sh -c '
    out=$(clang-tidy-16 -p build/lint --quiet "$1" 2>/dev/null) || rc=$?
    [ -z "$out" ] || printf "%s\n" "$out"
    exit ${rc:-0}' _ {} || failed=1
fi
[ $failed = 0 ] && echo "lint: clean" || { echo "lint: see above ('make format' mends the layout)"; exit 1; }
