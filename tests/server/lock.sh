#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lock.sh [VERSION...]: writes locks/, with the version and the hashes of each Python package that tests install: for releases of the release
# table (all of them by default) what their server and its extra packages need, and what their clients need; and the tools of locks/*.in.
# Asks the package registry. Only what has a hash there is installed.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

uv=$(uv_bin)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# compile INPUT OUTPUT OPTION... locks the requirements of a file.
compile() {
  local input=$1 output=$2
  shift 2
  "$uv" pip compile --quiet --generate-hashes --no-annotate --no-header --no-emit-index-url --universal --python-version 3.12 --python "$(find_python)" \
    "$@" "$input" --output-file "$scratch/lock"
  mv "$scratch/lock" "$output"
}

lock_release() {
  load_release "$1"
  tr ' ' '\n' <<<"$constraints" >"$scratch/constraints"
  # shellcheck disable=SC2046,SC2086 # one word for each requirement
  printf '%s\n' "$package==$version" $(line_extras "$line") $vector_packages >"$scratch/server.in"
  compile "$scratch/server.in" "$locks/$package-$version.txt" --exclude-newer "$as_of" --constraints "$scratch/constraints"
  printf '%s\n' openai "$package-client==$version" >"$scratch/clients.in"
  compile "$scratch/clients.in" "$locks/clients-$package-$version.txt" --exclude-newer "$as_of"
}

if [ $# -eq 0 ]; then
  for tools in uv tools; do
    compile "$locks/$tools.in" "$locks/$tools.txt" --no-deps
  done
  # shellcheck disable=SC2046 # one word for each release
  set -- $(awk -F '\t' '!/^#/ { print $3 }' "$releases_file")
fi
for release in "$@"; do
  lock_release "$release"
  echo "$locks/$package-$version.txt"
done
