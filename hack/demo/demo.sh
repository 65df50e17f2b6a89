#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh up|down: a real cluster on this machine with the operator, a llama-stack server that it configures and runs,
# and a fake model server behind it. Linux and root. "make demo" and "make demo-down" call it.
#
# Running "up" again brings a running demo up to date with the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/demo/lib.sh

cluster_name=demo
namespace=llama-stack-demo
stack=my-stack # of config/samples/v1alpha2-simple.yaml
operator_namespace=llama-stack-k8s-operator-system
operator=llama-stack-k8s-operator-controller-manager
ready_timeout=180 # seconds
packages=(containerd runc containernetworking-plugins iproute2 nftables util-linux debootstrap ca-certificates curl)

cluster=${LLSD_CLUSTER:-$PWD/bin/cluster}
kubectl=
cluster_logs=
scratch=

k() { "$kubectl" --request-timeout=30s "$@"; }

up() {
  trap report_failure EXIT
  install_packages "${packages[@]}"
  scratch=$(mktemp -d)
  step "Start a Kubernetes cluster (the first time builds Kubernetes, which takes minutes)"
  start_cluster
  step "Build the images of the operator and of the fake model server"
  build_images
  step "Build the image of the llama-stack server (the first time takes a minute)"
  server_archive=$(hack/serverimage/build.sh)
  step "Load the images"
  "$cluster" load --name "$cluster_name" bin/operator-image.tar "$scratch/model-server.tar" "$server_archive" 2>&1 | indent
  step "Install the operator from dist/install.yaml"
  install_operator
  step "Start the fake model server in namespace $namespace"
  start_model_server
  step "Apply config/samples/v1alpha2-simple.yaml and wait until it is Ready"
  k -n "$namespace" apply -f config/samples/v1alpha2-simple.yaml | indent
  wait_until_ready
  step_done
  show_result
}

down() {
  [ -x "$cluster" ] || make --no-print-directory cluster
  "$cluster" down --name "$cluster_name"
}

# start_cluster starts the cluster, or finds it running, and learns how to use it.
start_cluster() {
  local result=$scratch/cluster.json
  [ -x "$cluster" ] || make --no-print-directory cluster
  # Its words about a machine that cannot run it are on standard error.
  "$cluster" up --name "$cluster_name" --tier node 2>&1 >"$result" | indent || fail "the cluster did not start: see above"
  kubectl=$(json_field kubectl "$result")
  cluster_logs=$(json_field logs "$result")
  KUBECONFIG=$(json_field kubeconfig "$result")
  export KUBECONFIG
}

# json_field NAME FILE prints a text field of an object with one field per text line.
json_field() {
  sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$2"
}

build_images() {
  make --no-print-directory image | indent
  [ -f dist/install.yaml ] || make --no-print-directory install-manifest | indent
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$scratch/model-server-double" ./tests/backend/cmd/model-server-double
  go -C hack/cluster run ./cmd/image --binary "$scratch/model-server-double" --ref localhost/model-server-double:dev \
    --output "$scratch/model-server.tar" | indent
}

install_operator() {
  local known
  known=$(k -n "$operator_namespace" get deployment "$operator" --ignore-not-found -o name)
  k apply -f dist/install.yaml | indent
  register_server
  # The image may be new under the same name, which alone changes nothing.
  [ -z "$known" ] || k -n "$operator_namespace" rollout restart "deployment/$operator" | indent
  k -n "$operator_namespace" rollout status "deployment/$operator" --timeout=90s --request-timeout=0 | indent
}

# register_server configures which image the distribution names stand for here: this machine may reach no registry.
register_server() {
  local image version name settings=$scratch/distributions
  image=$(tar -xOf "$server_archive" manifest.json | sed -n 's/.*"RepoTags": *\["\([^"]*\)".*/\1/p')
  [ -n "$image" ] || fail "$server_archive does not say the name of its image"
  version=${image##*:}
  for name in light starter; do
    printf '%s:\n  image: %s\n  serverVersion: "%s"\n  config: |\n' "$name" "$image" "$version"
    sed 's/^\(.\)/    \1/' tests/server/testdata/light-base.yaml
  done >"$settings"
  k -n "$operator_namespace" create configmap llama-stack-operator-config --from-file="distributions=$settings" \
    --dry-run=client -o yaml | k apply --server-side --force-conflicts -f - | indent
}

start_model_server() {
  k apply -f hack/demo/namespace.yaml | indent
  # A new random key that nobody sees: it goes from here into the Secret and nowhere else.
  if [ -z "$(k -n "$namespace" get secret vllm-creds --ignore-not-found -o name)" ]; then
    printf 'demo-%s' "$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')" |
      k -n "$namespace" create secret generic vllm-creds --from-file=token=/dev/stdin | indent
  fi
  k apply -f hack/demo/model-server.yaml | indent
  k -n "$namespace" rollout status deployment/vllm --timeout=60s --request-timeout=0 | indent
}

# wait_until_ready prints phase and conditions whenever they change, until the operator has applied the spec.
wait_until_ready() {
  local began=$SECONDS now last='' generation observed ready stalled phase conditions
  while [ $((SECONDS - began)) -lt "$ready_timeout" ]; do
    now=$(k -n "$namespace" get llsd "$stack" -o jsonpath='{.metadata.generation}|{.status.observedGeneration}|{.status.conditions[?(@.type=="Ready")].status}|{.status.conditions[?(@.type=="Stalled")].status}|{.status.phase}|{range .status.conditions[*]} {.type}={.status} ({.reason}){end}')
    IFS='|' read -r generation observed ready stalled phase conditions <<<"$now"
    if [ "$now" != "$last" ]; then
      printf '    %3d s  %s %s\n' $((SECONDS - began)) "${phase:-(no status yet)}" "$conditions"
      last=$now
    fi
    if [ "$observed" = "$generation" ]; then
      [ "$ready" != True ] || return 0
      [ "$stalled" != True ] || fail "the operator says that only an edit of the resource can help"
    fi
    sleep 1
  done
  fail "not Ready after $ready_timeout s"
}

print_conditions() {
  k -n "$namespace" get llsd "$stack" \
    -o jsonpath='{range .status.conditions[*]}{.type}{"\t"}{.status}{"\t"}{.reason}{"\t"}{.message}{"\n"}{end}' |
    awk -F '\t' 'BEGIN { row = "%-20s %-8s %-28s %s\n"; printf row, "CONDITION", "STATUS", "REASON", "MESSAGE" } { printf row, $1, $2, $3, $4 }'
}

show_result() {
  local config url
  # A Service's address is routed on this machine.
  url=http://$(k -n "$namespace" get service "$stack-service" -o jsonpath='{.spec.clusterIP}:{.spec.ports[0].port}')/v1/chat/completions
  config=$(k -n "$namespace" get llsd "$stack" -o jsonpath='{.status.configGeneration.configMapName}')
  heading "kubectl -n $namespace get llsd -o wide"
  k -n "$namespace" get llsd -o wide
  heading "conditions"
  print_conditions
  heading "a chat completion: through the server, to the model server, with the key of the Secret"
  cat hack/demo/chat.json
  curl --silent --show-error --fail-with-body --noproxy '*' --max-time 60 \
    --header 'Content-Type: application/json' --data @hack/demo/chat.json "$url"
  cat <<END


The demo is ready after $SECONDS s. To go on:

  export KUBECONFIG=$KUBECONFIG
  alias kubectl=$kubectl
  kubectl config set-context --current --namespace=$namespace

  kubectl describe llsd $stack
  kubectl get configmap $config -o jsonpath='{.data.config\.yaml}'   # the generated config.yaml
  kubectl edit llsd $stack
  curl -H 'Content-Type: application/json' -d @hack/demo/chat.json $url
  kubectl port-forward service/$stack-service 8321   # for clients that want http://localhost:8321

To end it: make demo-down
END
}

case "${1:-}" in
up) up ;;
down) down ;;
*) fail "usage: hack/demo/demo.sh up|down" ;;
esac
