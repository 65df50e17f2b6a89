#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lock.sh [VERSION...]: writes locks/, with the version and the hashes of each Python package that tests install: for releases of the release
# table (all of them by default) what their server and its extra packages need, and what their clients need; for older patch releases only
# what differs from the first release of the table's line; and the tools of locks/*.in.
# Asks the package registry. Only what has a hash there is installed.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

uv=$(uv_bin)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# compile INPUT OUTPUT OPTION... locks the requirements of a file. Where there is a file $scratch/lock, its versions are preferred.
compile() {
  local input=$1 output=$2
  shift 2
  "$uv" pip compile --quiet --generate-hashes --no-annotate --no-header --no-emit-index-url --universal --python-version 3.12 --python "$(find_python)" \
    "$@" "$input" --output-file "$scratch/lock"
  mv "$scratch/lock" "$output"
}

# entries_that_differ LOCK OTHER prints the entries of another lock, all of a package, where not all of them stand in the lock.
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
