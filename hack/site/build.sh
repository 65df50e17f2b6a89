#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh FOLDER: makes the docs site in FOLDER from docs/ and, if make playground has made it, the page of the playground.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$(hack/site/venv.sh)
# A newer major version of the maker is advertised on standard output otherwise.
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --quiet --strict --config-file hack/site/mkdocs.yml --site-dir "$out"
