#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# venv.sh: prints the folder of a cached virtual environment of requirements.txt, and builds it if needed: mkdocs, Node
# and npm for the playground, and Playwright for the browser tests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/server/lib.sh
. "$here/../../tests/server/lib.sh"

venv=$(cache_dir)/site/$(sha256sum <"$here/requirements.txt" | cut -c 1-16)

build() {
  local uv python
  [ ! -e "$venv/.complete" ] || return 0
  python=$(find_python)
  uv=$(uv_bin)
  rm -rf "$venv"
  mkdir -p "$(dirname "$venv")"
  UV_PYTHON_DOWNLOADS=never "$uv" venv --quiet --python "$python" "$venv"
  "$uv" pip install --quiet --require-hashes --python "$venv/bin/python" -r "$here/requirements.txt"
  touch "$venv/.complete"
}

locked site build >&2
echo "$venv"
