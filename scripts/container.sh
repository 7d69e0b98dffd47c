#!/bin/bash
# Builds the image with buildah, which wants no daemon, and looks whether what is in it runs. As root; not a part of CI, for it compiles everything
# anew.
#   container.sh [--program DIR]   with --program what `cmake --install build/release --prefix DIR` made is taken, nothing is compiled
# BASE is the image to build on; without it a small Debian is made from packages (debootstrap; from MIRROR, where that is set), for machines that
# reach no registry.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=
case ${1:-} in
  "") ;;
  --program) program=$(cd "${2:?--program takes a folder}" && pwd) ;;
  *) echo "usage: container.sh [--program DIR]" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

base=${BASE:-}
if [ -z "$base" ]; then
  debootstrap --variant=minbase bookworm "$work/base" ${MIRROR:+"$MIRROR"} >"$work/debootstrap.log" \
    || { cat "$work/debootstrap.log" >&2; exit 1; }
  base=localhost/kollect-base
  made=$(build from scratch)
  build copy --quiet "$made" "$work/base" / >/dev/null
  build commit --quiet --rm "$made" "$base" >/dev/null
  rm -rf "$work/base"
fi

context=$root
file=$root/Containerfile
if [ -n "$program" ]; then
  context=$program
  file=$work/Containerfile
  # The first stage only copies; the last one is as it stands.
  awk '/^FROM .* AS build$/ {print "FROM scratch AS build\nCOPY . /opt/kollect/"; skip = 1; next} /^FROM / {skip = 0} !skip' "$root/Containerfile" >"$file"
fi
build build --quiet --isolation chroot --build-arg "BASE=$base" --file "$file" --tag localhost/kollect "$context"

container=$(build from localhost/kollect)
try() { build run --isolation chroot "$container" -- "$@"; }
try kollect --version
for command in "/manager --help" "/kollect-pipeline --help" "kubectl-kollect --help" "git --version" "ssh -V"; do
  # shellcheck disable=SC2086  # words
  try $command >"$work/out" 2>&1 || { echo "does not run in the image: $command" >&2; cat "$work/out" >&2; exit 1; }
done
[ "$(try id -u)" = 65532 ] || { echo "the image does not run as user 65532" >&2; exit 1; }
try sh -c 'touch /tmp/written && ! touch /usr/local/bin/written 2>/dev/null' || { echo "more or less than /tmp can be written" >&2; exit 1; }
echo "the image is fine"
