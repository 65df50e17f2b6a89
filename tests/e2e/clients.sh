#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clients.sh VERSION: prints the Python of a cached virtual environment with the clients of this release of the server:
# openai as of the day of the release table, and the release's own client.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../server/lib.sh"

[ $# -eq 1 ] || die "usage: clients.sh VERSION"
load_release "$1"
lock=$locks/clients-$package-$version.txt
[ -f "$lock" ] || die "there is no $lock: run tests/server/lock.sh $version"
home=$(cache_dir)/venv/clients-$package-$version-$(sha256sum <"$lock" | cut -c 1-8)

build() {
  local uv python
  [ ! -x "$home/bin/python" ] || return 0
  python=$(find_python)
  uv=$(uv_bin)
  mkdir -p "$(dirname "$home")"
  scratch=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  UV_PYTHON_DOWNLOADS=never "$uv" venv --quiet --relocatable --python "$python" "$scratch/venv"
  "$uv" pip install --quiet --only-binary :all: --require-hashes --python "$scratch/venv/bin/python" --requirement "$lock"
  mv -T "$scratch/venv" "$home"
}

if ! "$home/bin/python" -c '' 2>/dev/null; then
  rm -rf "$home"
  locked "$(basename "$home")" build >&2
fi
echo "$home/bin/python"
