#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh up|down: a real cluster on this machine with the operator, a llama-stack server and fake model servers (Linux
# and root). "make demo" and "make demo-down" call it; here.sh uses an existing cluster.
#
# Running "up" again updates a running demo to the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/demo/lib.sh

cluster_name=demo
down_target=demo-down
packages=(containerd runc containernetworking-plugins iproute2 nftables util-linux debootstrap ca-certificates curl)

cluster=$PWD/bin/cluster
cluster_logs=

up() {
  trap finish EXIT
  trap 'exit 130' INT TERM
  can_start_cluster
  install_packages "${packages[@]}"
  scratch=$(mktemp -d)
  make --no-print-directory cluster | indent
  # These jobs run beside the cluster's start, which waits for downloads and servers.
  begin images build_images
  begin server hack/serverimage/build.sh newest # the release of the name starter in a new custom resource
  step "Start a Kubernetes cluster (the first time builds Kubernetes, which takes minutes)"
  start_cluster
  step "Wait for the images of the operator and of the fake model servers"
  await images
  step "Wait for the image of the llama-stack server"
  await server
  server_archive=$(tail -n 1 "$scratch/server.out")
  step "Load the images"
  "$cluster" load --name "$cluster_name" bin/operator-image.tar "$scratch/model-server.tar" "$server_archive" 2>&1 | indent
  step "Install the operator from dist/install.yaml"
  install_operator
  step "Start the fake model servers in namespace $namespace"
  start_model_server
  step "Apply config/samples/v1alpha2-simple.yaml and wait until it is Ready"
  k -n "$namespace" apply -f config/samples/v1alpha2-simple.yaml | indent
  wait_until_ready
  step_done
  show_result
}

# finish runs on exit.
finish() {
  local status=$?
  end_jobs
  report_failure "$status"
}

down() {
  make --no-print-directory cluster
  "$cluster" down --name "$cluster_name"
}

# start_cluster starts the cluster, or reuses a running one, and sets kubectl, cluster_logs and KUBECONFIG.
start_cluster() {
  local result=$scratch/cluster.json
  # Standard error has the messages about a machine that cannot run the cluster.
  "$cluster" up --name "$cluster_name" --tier node 2>&1 >"$result" | indent || fail "the cluster did not start: see above"
  kubectl=$(json_field kubectl "$result")
  cluster_logs=$(json_field logs "$result")
  KUBECONFIG=$(json_field kubeconfig "$result")
  export KUBECONFIG
}

# json_field NAME FILE prints a text field of an indented JSON object.
json_field() {
  sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$2"
}

build_images() {
  make --no-print-directory image | indent
  [ -f dist/install.yaml ] || make --no-print-directory install-manifest | indent
  build_model_server
  pack_image --binary "$scratch/model-server-double" --ref "$model_server_image" --output "$scratch/model-server.tar"
}

install_operator() {
  local known
  known=$(k -n "$operator_namespace" get deployment "$operator" --ignore-not-found -o name)
  k apply -f dist/install.yaml | indent
  register_server
  # A new image under the same name needs a restart.
  [ -z "$known" ] || k -n "$operator_namespace" rollout restart "deployment/$operator" | indent
  k -n "$operator_namespace" rollout status "deployment/$operator" --timeout=90s --request-timeout=0 | indent
}

# register_server registers the image of the names light and starter, because this machine may reach no registry.
register_server() {
  local image version name settings=$scratch/distributions
  image=$(tar -xOf "$server_archive" manifest.json | sed -n 's/.*"RepoTags": *\["\([^"]*\)".*/\1/p')
  [ -n "$image" ] || fail "$server_archive does not say the name of its image"
  version=${image##*:}
  for name in light starter; do
    printf '%s:\n  image: %s\n  serverVersion: "%s"\n  config: |\n' "$name" "$image" "$version"
    sed -f hack/serverimage/documents.sed hack/serverimage/light-ogx.yaml | sed 's/^\(.\)/    \1/'
  done >"$settings"
  k -n "$operator_namespace" create configmap llama-stack-operator-config --from-file="distributions=$settings" \
    --dry-run=client -o yaml | k apply --server-side --force-conflicts -f - | indent
}

# published_image prints the built-in image of the name starter in a new custom resource.
published_image() {
  local list=distributions/distributions.json repository version
  repository=$(sed -n '/"repository": /{s/.*: "\(.*\)",$/\1/p;q}' "$list")
  version=$(sed -n '/"version": /{s/.*"version": "\([^"]*\)".*/\1/p;q}' "$list")
  echo "$repository:$version"
}

show_result() {
  local url
  # Service addresses are routed on this machine.
  url=http://$(k -n "$namespace" get service "$stack-service" -o jsonpath='{.spec.clusterIP}:{.spec.ports[0].port}')/v1/chat/completions
  heading "kubectl -n $namespace get llsd -o wide"
  k -n "$namespace" get llsd -o wide
  heading "conditions"
  print_conditions
  show_chat "$url"
  cat <<END


The demo is ready after $SECONDS s. Its server is made here, of the package. On a cluster of yours, the name starter pulls
  $(published_image)

To go on:

  export KUBECONFIG=$KUBECONFIG
  alias kubectl=$kubectl
  curl -H 'Content-Type: application/json' -d @hack/demo/chat.json $url
$(show_hints starter)

To end it: make demo-down
END
}

case "${1:-}" in
up) up ;;
down) down ;;
*) fail "usage: hack/demo/demo.sh up|down" ;;
esac
