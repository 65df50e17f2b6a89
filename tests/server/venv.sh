#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# venv.sh LINE|VERSION: prints the Python of a cached virtual environment with the real server of a release and the
# extra packages of its release line (extras.tsv), and builds a missing one. It can run several times at once. Each
# recipe has its own environment, so that a change does not affect users of the former recipe.
# venv.sh all: does this for the newest release of each release line, JOBS (2) at a time, and prints rows: release line,
# tab, Python.
#
# Environment: PYTHON (the Python to build with), LLSD_CACHE (the cache folder, else XDG_CACHE_HOME, else ~/.cache).
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# usable succeeds if the environment has this recipe and its Python starts.
usable() {
  [ "$(cat "$venv/recipe" 2>/dev/null)" = "$recipe" ] && "$venv/bin/python" -c '' 2>/dev/null
}

build() {
  local uv python
  ! usable || return 0
  python=$(find_python)
  uv=$(uv_bin)
  mkdir -p "$(dirname "$venv")"
  scratch=$(mktemp -d "$venv.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  # Relocatable, because it moves to its place when it is complete.
  UV_PYTHON_DOWNLOADS=never "$uv" venv --quiet --relocatable --python "$python" "$scratch/venv"
  # shellcheck disable=SC2086 # one word for each requirement
  "$uv" pip install --quiet --only-binary :all: --require-hashes --python "$scratch/venv/bin/python" --constraints "$lock" $requirements
  echo "$recipe" >"$scratch/venv/recipe"
  rm -rf "$venv"
  mv -T "$scratch/venv" "$venv"
}

all() {
  local script
  script=$(realpath "${BASH_SOURCE[0]}")
  # Once, so that the builds do not wait for it.
  uv_bin >/dev/null
  release_lines | xargs -P "${JOBS:-2}" -I '{}' "$script" '{}' >/dev/null
  release_lines | while read -r line; do printf '%s\t%s\n' "$line" "$("$script" "$line")"; done
}

[ $# -eq 1 ] || die "usage: venv.sh LINE|VERSION|all"
if [ "$1" = all ]; then
  all
  exit
fi
load_release "$1"
lock=$(lock_of)
# shellcheck disable=SC2046 # one word for each package
requirements=$(pinned "$lock" "$package" $(line_extras "$line"))
recipe="uv=$uv_version requirements=$requirements lock=$(sha256sum <"$lock" | cut -c 1-16)"
venv=$(cache_dir)/venv/$package-$version-$(printf '%s' "$recipe" | sha256sum | cut -c 1-8)
if ! usable; then
  locked "$(basename "$venv")" build >&2
fi
echo "$venv/bin/python"
