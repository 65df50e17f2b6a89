#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh [PAGE]: prints the cached folder with a page's npm packages, and installs them if needed. PAGE is the
# folder with package.json and package-lock.json; the default is the playground's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
# shellcheck source=tests/server/lib.sh
. tests/server/lib.sh
page=${1:-hack/playground/page}
packages=$(cache_dir)/playground/$(cat "$page/package.json" "$page/package-lock.json" | sha256sum | cut -c 1-16)
venv=$(hack/site/venv.sh)

install_packages() {
  [ ! -e "$packages/.complete" ] || return 0
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$page/package.json" "$page/package-lock.json" "$packages/"
  # Node has its own CA certificates; it must also trust the machine's.
  (cd "$packages" && NODE_USE_SYSTEM_CA=1 PATH="$venv/bin:$PATH" npm ci --loglevel=error --ignore-scripts --no-audit --no-fund)
  touch "$packages/.complete"
}
locked playground install_packages >&2
echo "$packages"
