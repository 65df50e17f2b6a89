#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# upstream.sh: reports releases of the server in the package index that are newer than the release table. If the newest
# one is not in the table, it is installed into a temporary directory: the script prints its differences from the
# catalog and boots the bases on it. It fails if there is a newer release, so that a weekly run shows it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/server/lib.sh
. tests/server/lib.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
uv=$(uv_bin)

# newest_of REQUIREMENT prints the newest release in the index.
newest_of() {
  echo "$1" >"$scratch/wanted.in"
  "$uv" pip compile --quiet --no-deps --no-annotate --no-header --no-emit-index-url --python-version 3.12 --python "$(find_python)" "$scratch/wanted.in" |
    sed -n 's/^[^#= ]*==\([0-9][^ ]*\).*/\1/p'
}

# is_newer A B reports whether release A is newer than release B.
is_newer() {
  [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]
}

# report PACKAGE FOUND KNOWN prints a newer release, and fails if FOUND is not newer than KNOWN.
report() {
  is_newer "$2" "$3" || return 1
  echo "$1 $2 is newer than the catalog's $3: docs/release-lines.md says how to add it"
}

found=0
for each in $(release_lines); do
  load_release "$each"
  latest=$(newest_of "$package==$line.*")
  [ -n "$latest" ] || die "the package index has no release of $package $line"
  if report "$package" "$latest" "$version"; then found=1; fi
done
load_release newest
known=$version
latest=$(newest_of "$package")
[ -n "$latest" ] || die "the package index has no release of $package"
if is_newer "$latest" "$known"; then
  [ "${latest%.*}" = "$line" ] || report "$package" "$latest" "$known"
  found=1
  # shellcheck disable=SC2046,SC2086 # one word for each requirement
  printf '%s\n' "$package==$latest" $(line_extras "$line") $vector_packages >"$scratch/server.in"
  UV_PYTHON_DOWNLOADS=never "$uv" venv --quiet --python "$(find_python)" "$scratch/venv" &&
    "$uv" pip compile --quiet --generate-hashes --no-emit-index-url --python "$scratch/venv/bin/python" "$scratch/server.in" --output-file "$scratch/lock" &&
    "$uv" pip install --quiet --only-binary :all: --require-hashes --python "$scratch/venv/bin/python" --requirement "$scratch/lock" ||
    die "$package $latest cannot be installed"
  echo "what differs from the catalog:"
  go run ./hack/catalog -python "$scratch/venv/bin/python" || echo "the catalog cannot be made from $package $latest as it is"
  export LLSD_UPSTREAM=$latest "LLSD_SERVER_PYTHON_${latest//./_}=$scratch/venv/bin/python"
  if go test ./tests/server -count=1 -timeout 20m -run TestUpstreamReleaseBoots; then
    echo "the bases of $known boot on $package $latest"
  else
    echo "the bases of $known do not boot on $package $latest"
  fi
fi
if [ "$found" = 0 ]; then
  echo "no release of $package is newer than those of the catalog, of which $known is the newest"
fi
exit "$found"
