#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh [PAGE]: prints the cached folder with the packages that a page is made of and tested with, installing them first when they are not there.
# PAGE is the folder with package.json and package-lock.json: that of the playground, or another one below the checkout.
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
  # Node brings authorities of its own: the machine's are trusted too, as every other program here does.
  (cd "$packages" && NODE_USE_SYSTEM_CA=1 PATH="$venv/bin:$PATH" npm ci --loglevel=error --ignore-scripts --no-audit --no-fund)
  touch "$packages/.complete"
}
locked playground install_packages >&2
echo "$packages"
