#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# here.sh up|down: the demo on the cluster of the current kubeconfig, with images that its nodes can pull. It needs
# neither root nor Linux. "make demo-here" and "make demo-here-down" call it; docs/demo-here.md explains the variables.
#
# Running "up" again continues where it stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/demo/lib.sh

down_target=demo-here-down
ready_timeout=${READY_TIMEOUT:-600} # seconds: the nodes pull images
registration=llama-stack-demo       # the name of the distribution with SERVER_IMG
forward=                            # the process id of kubectl port-forward
built_server=light                  # part of the names of images that hack/serverimage built
model_provider=${MODEL_PROVIDER:-vllm}

up() {
  trap finish EXIT
  trap 'exit 130' INT TERM
  step "Use the cluster of the current kubeconfig"
  find_cluster
  [ "${PUSH:-no}" != yes ] || push_images
  step "Install the operator from dist/install.yaml, with the image $IMG"
  install_operator
  if [ -n "${MODEL_URL:-}" ]; then
    k apply -f hack/demo/namespace.yaml | indent
    step "Apply a server for $MODEL at $MODEL_URL and wait until it is Ready, at most $ready_timeout s"
  else
    step "Start the fake model servers in namespace $namespace"
    start_model_server
    step "Apply config/samples/v1alpha2-simple.yaml and wait until it is Ready, at most $ready_timeout s"
  fi
  apply_sample
  wait_until_ready
  step "Forward a port of this machine to the server"
  forward_port
  step_done
  show_result
}

# finish runs on exit and stops kubectl port-forward.
finish() {
  local status=$?
  [ -z "$forward" ] || kill "$forward" 2>/dev/null || true
  report_failure "$status"
}

# find_cluster prints the cluster and the images, and fails before any change if the demo cannot run there.
find_cluster() {
  local context
  kubectl=$(command -v "${KUBECTL:-kubectl}") || fail "kubectl is missing: install it, or set KUBECTL to its path"
  scratch=$(mktemp -d)
  context=$("$kubectl" config current-context 2>/dev/null) || fail "no current context: set KUBECONFIG, or run kubectl config use-context"
  say "context" "$context"
  say "operator" "$IMG"
  say "server" "${SERVER_IMG:-the built-in distribution starter}"
  if [ -n "${MODEL_URL:-}" ]; then
    say "model server" "yours, $MODEL_URL"
    [ -n "${MODEL:-}" ] || fail "MODEL is not set: name a model that the server at MODEL_URL has"
  else
    say "model servers" "${MODEL_SERVER_IMG:-none yet}"
    [ -n "${MODEL_SERVER_IMG:-}" ] || fail "MODEL_SERVER_IMG is not set: name a repository and tag that the cluster's nodes can pull, and set PUSH=yes to build the image and push it there; or set MODEL_URL and MODEL to use a model server of yours"
    model_server_image=$MODEL_SERVER_IMG
  fi
  k version >"$scratch/version" 2>&1 || fail "the cluster does not answer: $(tail -n 1 "$scratch/version")"
  say "Kubernetes" "$(sed -n 's/^Server Version: //p' "$scratch/version")"
  [ "$(k auth can-i create customresourcedefinitions.apiextensions.k8s.io 2>/dev/null)" = yes ] ||
    fail "you may not create CustomResourceDefinitions in this cluster: ask an administrator to install the operator, or use another cluster"
  installed=$(k -n "$operator_namespace" get deployment "$operator" --ignore-not-found -o jsonpath='{.spec.template.spec.containers[0].image}')
  [ -z "$installed" ] || [ "$installed" = "$IMG" ] || [ "${REPLACE:-no}" = yes ] ||
    fail "the operator is installed here with the image $installed: set REPLACE=yes to replace it by $IMG"
}

say() { printf '    %-14s %s\n' "$1" "$2"; }

# push_images builds the images for the architecture of the cluster's nodes, and pushes them with the user's registry
# credentials.
push_images() {
  local arch
  arch=$(k get nodes -o jsonpath='{.items[0].status.nodeInfo.architecture}')
  step "Build the images for linux/$arch and push them"
  mkdir -p "$scratch/operator"
  GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$scratch/operator/" ./cmd/manager ./cmd/provider-installer
  pack_image --push --platform "linux/$arch" --binary "$scratch/operator/manager" --file "$scratch/operator/provider-installer:/provider-installer" --ref "$IMG"
  [ -z "${MODEL_URL:-}" ] || return 0
  GOARCH=$arch build_model_server
  pack_image --push --platform "linux/$arch" --binary "$scratch/model-server-double" --ref "$MODEL_SERVER_IMG"
}

install_operator() {
  sed "s|image: .*/llama-stack-k8s-operator:.*|image: $IMG|" dist/install.yaml >"$scratch/install.yaml"
  k apply -f "$scratch/install.yaml" | indent
  # It is registered in a ConfigMap and under a name of the demo, so other servers stay unchanged.
  [ -z "${SERVER_IMG:-}" ] || register_server
  # A new image under the same name needs a restart.
  [ -z "$installed" ] || [ "${PUSH:-no}" != yes ] || k -n "$operator_namespace" rollout restart "deployment/$operator" | indent
  k -n "$operator_namespace" rollout status "deployment/$operator" --timeout="${ready_timeout}s" --request-timeout=0 | indent
}

# register_server registers the server's image under the demo's distribution name.
register_server() {
  local base=${SERVER_CONFIG:-} light
  if [ -z "$base" ] && [[ $SERVER_IMG = *"$built_server"* ]]; then
    base=$scratch/base.yaml
    light=tests/server/testdata/light-base.yaml
    [[ $SERVER_IMG != *ogx* ]] || light=hack/serverimage/light-ogx.yaml
    sed -f hack/serverimage/documents.sed "$light" >"$base"
  fi
  k -n "$operator_namespace" create configmap "$registration" --from-literal="image=$SERVER_IMG" \
    ${SERVER_VERSION:+--from-literal="serverVersion=$SERVER_VERSION"} ${base:+--from-file="config.yaml=$base"} --dry-run=client -o yaml |
    k label --local -f - "llamastack.io/distribution=$registration" -o yaml | k apply -f - | indent
}

# distribution prints the name of the server's distribution.
distribution() { if [ -n "${SERVER_IMG:-}" ]; then echo "$registration"; else echo starter; fi; }

apply_sample() {
  if [ -n "${MODEL_URL:-}" ]; then
    chat=$scratch/chat.json
    sed "s|vllm/llama3.2-8b|$model_provider/$MODEL|" hack/demo/chat.json >"$chat"
    own_sample | k -n "$namespace" apply -f - | indent
  else
    sed "s|name: starter .*|name: $(distribution)|" config/samples/v1alpha2-simple.yaml | k -n "$namespace" apply -f - | indent
  fi
}

# own_sample prints the sample for the user's model server, which needs no key.
own_sample() {
  sed -e "s|name: starter .*|name: $(distribution)|" -e "s|provider: vllm|provider: $model_provider|" \
    -e "s|endpoint: .*|endpoint: \"$MODEL_URL\"|" -e '/apiKey:/,/key: token/d' -e "s|\"llama3.2-8b\"|\"$MODEL\"|" config/samples/v1alpha2-simple.yaml
}

# forward_port forwards a free port of this machine to the server, waits up to a minute for it, and sets url.
forward_port() {
  local began=$SECONDS port=
  : >"$scratch/forward" # the file must exist before the first read below
  "$kubectl" -n "$namespace" port-forward "service/$stack-service" :8321 >"$scratch/forward" 2>&1 &
  forward=$!
  while [ -z "$port" ]; do
    port=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$scratch/forward")
    kill -0 "$forward" 2>/dev/null || fail "kubectl port-forward ended: $(tail -n 1 "$scratch/forward")"
    [ $((SECONDS - began)) -lt 60 ] || fail "kubectl port-forward does not get through: $(tail -n 1 "$scratch/forward")"
    sleep 0.2
  done
  url=http://127.0.0.1:$port/v1/chat/completions
}

show_result() {
  heading "kubectl -n $namespace get llsd -o wide"
  k -n "$namespace" get llsd -o wide
  heading "conditions"
  print_conditions
  show_chat "$url"
  cat <<END


The demo is ready after $SECONDS s. To go on:

$(show_hints "$(distribution)")

To remove it: make demo-here-down
END
}

# down removes the demo, but not the operator.
down() {
  trap finish EXIT
  step "Remove the demo from the cluster of the current kubeconfig"
  kubectl=$(command -v "${KUBECTL:-kubectl}") || fail "kubectl is missing: install it, or set KUBECTL to its path"
  # The custom resource goes first, because the operator removes its objects.
  if [ -n "$(k get crd llamastackdistributions.llamastack.io --ignore-not-found -o name)" ]; then
    k -n "$namespace" delete llsd "$stack" --ignore-not-found --timeout=120s --request-timeout=0 | indent
    k -n "$operator_namespace" delete configmap "$registration" --ignore-not-found | indent
  fi
  k delete namespace "$namespace" --ignore-not-found --timeout=300s --request-timeout=0 | indent
  step_done
  echo
  echo "The operator stays. To remove it with its CustomResourceDefinition and EVERY server of the cluster: kubectl delete -f dist/install.yaml"
}

case "${1:-}" in
up) up ;;
down) down ;;
*) fail "usage: hack/demo/here.sh up|down" ;;
esac
