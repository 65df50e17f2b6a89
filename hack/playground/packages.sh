#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh: prints the cached folder with the packages that the page of the playground is made of and tested with (page/package-lock.json),
# installing them first when they are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tests/server/lib.sh
. ../../tests/server/lib.sh
packages=$(cache_dir)/playground/$(cat page/package.json page/package-lock.json | sha256sum | cut -c 1-16)
venv=$(../site/venv.sh)

install_packages() {
  [ ! -e "$packages/.complete" ] || return 0
  rm -rf "$packages"
  mkdir -p "$packages"
  cp page/package.json page/package-lock.json "$packages/"
  (cd "$packages" && PATH="$venv/bin:$PATH" npm ci --silent --ignore-scripts --no-audit --no-fund)
  touch "$packages/.complete"
}
locked playground install_packages >&2
echo "$packages"
