#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lock.sh [VERSION...]: writes locks/, with the version and the hashes of each Python package that tests install: for
# each release of the release table (by default all), the packages of its server and clients; for older patch releases,
# the differences to the first release of the release line; and the tools of locks/*.in. It reads the package registry.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

uv=$(uv_bin)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# compile INPUT OUTPUT OPTION... locks the requirements of a file. It prefers the versions of $scratch/lock, if that
# exists.
compile() {
  local input=$1 output=$2
  shift 2
  "$uv" pip compile --quiet --generate-hashes --no-annotate --no-header --no-emit-index-url --universal --python-version 3.12 --python "$(find_python)" \
    "$@" "$input" --output-file "$scratch/lock"
  mv "$scratch/lock" "$output"
}

# entries_that_differ LOCK OTHER prints all entries of OTHER for each package that has an entry which LOCK lacks.
entries_that_differ() {
  awk '
    /^[^ ]/ { entry = $0; name = $0; sub(/==.*/, "", name) }
    FNR == NR { if (/^[^ ]/) known[entry]; next }
    /^[^ ]/ && !(entry in known) { differs[name] }
    { text[name] = text[name] $0 "\n" }
    /^[^ ]/ && !(name in seen) { seen[name]; order[++count] = name }
    END { for (i = 1; i <= count; i++) if (order[i] in differs) printf "%s", text[order[i]] }
  ' "$1" "$2"
}

lock_release() {
  load_release "$1"
  tr ' ' '\n' <<<"$constraints" >"$scratch/constraints"
  # shellcheck disable=SC2046,SC2086 # one word for each requirement
  printf '%s\n' "$package==$version" $(line_extras "$line") $vector_packages >"$scratch/server.in"
  if [ -n "$newer" ]; then
    cp "$locks/$package-$newer.txt" "$scratch/lock"
    compile "$scratch/server.in" "$scratch/whole" --exclude-newer "$as_of" --constraints "$scratch/constraints"
    entries_that_differ "$locks/$package-$newer.txt" "$scratch/whole" >"$locks/$package-$version.txt"
    return
  fi
  compile "$scratch/server.in" "$locks/$package-$version.txt" --exclude-newer "$as_of" --constraints "$scratch/constraints"
  printf '%s\n' openai "$package-client==$version" >"$scratch/clients.in"
  compile "$scratch/clients.in" "$locks/clients-$package-$version.txt" --exclude-newer "$as_of"
}

if [ $# -eq 0 ]; then
  for tools in uv tools; do
    compile "$locks/$tools.in" "$locks/$tools.txt" --no-deps
  done
  # shellcheck disable=SC2046 # one word for each release
  set -- $(awk -F '\t' '!/^#/ { print $3 }' "$releases_file") $(patch_releases)
fi
for release in "$@"; do
  lock_release "$release"
  echo "$locks/$package-$version.txt"
done
