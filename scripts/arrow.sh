#!/bin/bash
# Fetches Apache Arrow's C++ libraries, which the Parquet module links (docs/parquet.md), from the Python wheel that has them,
# once into ${KOLLECT_ARROW:-<the user's cache>/kollect-arrow/VERSION}. Prints the folder. Needs python3-venv or pip.
#   arrow.sh
set -euo pipefail
VERSION=26.0.1
# Of the wheel for Python 3.11; what we take from it does not depend on Python.
declare -A SHA256=(
  [x86_64]=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
  [aarch64]=22a96a225de107eb9acd1ad9a818198ca832df2a4c0952412f754a7ed2105a98
)
folder=${KOLLECT_ARROW:-${XDG_CACHE_HOME:-$HOME/.cache}/kollect-arrow/$VERSION}
machine=$(uname -m)
die() { echo "arrow: $*" >&2; exit 1; }

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
if [ ! -f "$folder/libparquet.so.2600" ]; then
  [ -n "${SHA256[$machine]:-}" ] || die "no wheel is known for $machine; install Apache Arrow C++ with its CMake files instead"
  echo "arrow: fetching Apache Arrow $VERSION (55 MB)" >&2
  work=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  pip=(python3 -m pip)
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    python3 -m venv "$work/venv" >/dev/null || die "python3 has neither pip nor venv: install python3-venv"
    pip=("$work/venv/bin/pip")
  fi
  echo "pyarrow==$VERSION --hash=sha256:${SHA256[$machine]}" >"$work/wanted"
  "${pip[@]}" download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --python-version 3.11 \
    --platform "manylinux_2_28_$machine" -d "$work/wheel" -r "$work/wanted" >&2
  python3 - "$work" <<'PY'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
wheel = zipfile.ZipFile(next((work / "wheel").glob("*.whl")))
for name in wheel.namelist():
    place = None
    if name.startswith(("pyarrow/include/arrow/", "pyarrow/include/parquet/")):
        place = name.removeprefix("pyarrow/")
    elif name in ("pyarrow/libarrow.so.2600", "pyarrow/libparquet.so.2600"):
        place = name.removeprefix("pyarrow/")
    elif name.endswith((".dist-info/licenses/LICENSE.txt", ".dist-info/licenses/NOTICE.txt")):
        place = name.rpartition("/")[2]
    if place and not name.endswith("/"):
        target = work / "made" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(wheel.read(name))
PY
  rm -rf "$folder"
  mv "$work/made" "$folder"
fi
echo "$folder"
