#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh FOLDER: builds the docs site in FOLDER from docs/, with the playground if make playground has built it.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$(hack/site/venv.sh)
# Otherwise mkdocs advertises a newer major version on standard output.
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --quiet --strict --config-file hack/site/mkdocs.yml --site-dir "$out"
