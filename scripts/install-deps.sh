#!/bin/bash
# Installs the Debian 12 packages that building and testing need. What is there already is skipped, so it is quick to
# run again.
#   install-deps.sh [build|test|dev]   build: compiler, libraries, what the demo uses; test: also what tests start; dev: also clang tools
set -euo pipefail

build=(
  g++ cmake ninja-build ccache mold make git pkg-config ca-certificates python3 curl
  libboost1.81-dev libcurl4-openssl-dev libssl-dev zlib1g-dev libzstd-dev libxxhash-dev
  libsimdjson-dev libyaml-dev libre2-dev libsqlite3-dev libgit2-dev libfmt-dev libspdlog-dev libcli11-dev
  libpq-dev librdkafka-dev libmongoc-dev libicu-dev prometheus-cpp-dev libgtest-dev libgmock-dev libbenchmark-dev libmimalloc-dev
)
test=(libnats-dev postgresql-15 nginx-light fcgiwrap openssh-server openssh-client openssl python3-yaml python3-venv procps prometheus)
test+=(chromium) # the web console; Node is looked for below
test+=(openjdk-17-jre-headless maven) # Kafka
# Node and npm may come from elsewhere, in packages that do not go with Debian's.
command -v node >/dev/null || test+=(nodejs)
command -v npm >/dev/null || test+=(npm)
dev=(clang-16 clang-tidy-16 clang-format-16 libclang-rt-16-dev)

case ${1:-dev} in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  dev) wanted=("${build[@]}" "${test[@]}" "${dev[@]}") ;;
  *) echo "usage: install-deps.sh [build|test|dev]" >&2; exit 2 ;;
esac

say() { echo "deps: $*" >&2; }

if ! command -v dpkg-query >/dev/null; then
  say "not a Debian system; these packages, or what corresponds to them, must be there: ${wanted[*]}"
  exit 0
fi

present=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null | awk '$1 == "ii" {print $2}' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package" <<<"$present" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { say "run as root: apt-get install ${missing[*]}"; exit 1; }
  as_root=(sudo)
fi
say "installing ${#missing[@]} packages: ${missing[*]}"
# RUNLEVEL=1: the servers are for tests, which start their own instances; the system's are not started.
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o Dpkg::Use-Pty=0 "$@"; }
apt -q update
apt -q install -y --no-install-recommends "${missing[@]}"
say "done"
