# SPDX-License-Identifier: Apache-2.0
#
# Functions of both demos (demo.sh with its own cluster, here.sh with an existing one): output, failure reports, fake
# model servers, and the wait for the server. Sourced, never run.

namespace=llama-stack-demo
stack=my-stack # in config/samples/v1alpha2-simple.yaml
operator_namespace=llama-stack-k8s-operator-system
operator=llama-stack-k8s-operator-controller-manager
model_server_image=localhost/model-server-double:dev
ready_timeout=180 # seconds
scratch=
kubectl=
chat=hack/demo/chat.json # the request that is shown

k() { "$kubectl" --request-timeout=30s "$@"; }

step_title=
step_began=0

# step TITLE ends the previous step and begins a new one.
step() {
  step_done
  step_title=$1
  step_began=$SECONDS
  printf '\n==> %s\n' "$step_title"
}

step_done() {
  [ -z "$step_title" ] || printf '    done in %d s\n' $((SECONDS - step_began))
  step_title=
}

heading() { printf '\n--- %s\n' "$1"; }

indent() { sed -u 's/^/    /'; }

fail() {
  echo "error: $*" >&2
  exit 1
}

declare -A jobs=()

# begin NAME COMMAND... runs a command in the background, with its output in $scratch/NAME.out.
begin() {
  local name=$1
  shift
  set -m # a process group, so that it can be killed as a whole
  "$@" >"$scratch/$name.out" 2>&1 &
  set +m
  jobs[$name]=$!
}

# await NAME waits for the command of begin, prints its output, and fails if the command failed.
await() {
  local job=${jobs[$1]} status=0
  wait "$job" || status=$?
  unset "jobs[$1]"
  indent <"$scratch/$1.out"
  [ "$status" -eq 0 ] || fail "it failed with exit status $status: see above"
}

# end_jobs stops the running commands of begin.
end_jobs() {
  local job
  for job in "${jobs[@]}"; do
    kill -TERM -- "-$job" 2>/dev/null || true
    wait "$job" 2>/dev/null || true
  done
  jobs=()
}

# can_start_cluster fails with a hint if this machine cannot run the demo's cluster.
can_start_cluster() {
  local else="make demo-here uses the cluster of your kubeconfig, as docs/demo-here.md explains"
  [ "$(uname -s)" = Linux ] || fail "the demo starts a cluster, which needs Linux; $else"
  [ "$(id -u)" = 0 ] || fail "the demo starts a cluster, which needs root: sudo make demo; $else"
}

# install_packages PACKAGE... prints and installs the missing Debian packages, as root; LLSD_INSTALL=no only prints
# them.
install_packages() {
  local package missing=()
  command -v dpkg-query >/dev/null || return 0 # on another distribution, the cluster command reports missing programs
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  # Debian's Python lacks the module for virtual environments.
  if [ -z "${PYTHON:-}" ] && ! python3 -c 'import ensurepip' 2>/dev/null; then missing+=(python3-venv); fi
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "${LLSD_INSTALL:-yes}" != no ] || fail "packages are missing: apt-get install --no-install-recommends ${missing[*]}"
  step "Install the Debian packages ${missing[*]} (not with LLSD_INSTALL=no)"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } 2>&1 | indent ||
    fail "apt-get failed: see above"
}

# report_failure STATUS runs on exit: after a failure it prints the failed step and the cluster's state. 130 means that
# the user stopped the demo.
report_failure() {
  local status=$1 how=failed
  [ "$status" -ne 130 ] || how='was stopped'
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ "$status" -ne 0 ] || return 0
  trap - EXIT
  set +e
  {
    printf '\nThe demo %s%s.\n' "$how" "${step_title:+ in the step \"$step_title\"}"
    if [ -n "$kubectl" ]; then
      [ "$how" != failed ] || show_cluster
      printf '\nThe cluster still runs. To look around:\n'
      [ -z "${KUBECONFIG:-}" ] || printf '  export KUBECONFIG=%s\n' "$KUBECONFIG"
      printf '  %s -n %s describe llsd %s\n' "$kubectl" "$namespace" "$stack"
      printf '  %s -n %s logs deployment/%s\n' "$kubectl" "$namespace" "$stack"
      [ -z "${cluster_logs:-}" ] || printf 'Logs of the cluster itself: %s\n' "$cluster_logs"
      printf 'To try again, run the same command: it continues. To end it: make %s\n' "$down_target"
    fi
  } >&2
  exit "$status"
}

# show_cluster prints a bounded summary of the operator and the demo. It reads no Secret.
show_cluster() {
  local where
  [ -n "$(k get namespace "$operator_namespace" --ignore-not-found -o name)" ] || return 0
  for where in "$operator_namespace" "$namespace"; do
    heading "namespace $where"
    k -n "$where" get deployments,pods -o wide
    k -n "$where" get events --sort-by=.lastTimestamp 2>/dev/null | tail -n 8
  done
  heading "operator log, last lines"
  k -n "$operator_namespace" logs "deployment/$operator" --tail=5
  [ -n "$(k -n "$namespace" get llsd "$stack" --ignore-not-found -o name 2>/dev/null)" ] || return 0
  heading "LlamaStackDistribution $stack"
  print_conditions
}

# pack_image ARGUMENT... packs a container image, and may push it (hack/cluster).
pack_image() { go -C hack/cluster run ./cmd/image "$@" | indent; }

# build_model_server builds the program of the fake model servers for Linux.
build_model_server() {
  GOOS=linux CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$scratch/model-server-double" ./tests/backend/cmd/model-server-double
}

# start_model_server starts a fake model server with a key in a Secret, and one without a key.
start_model_server() {
  local server
  k apply -f hack/demo/namespace.yaml | indent
  # A new random key, which is only written to the Secret.
  if [ -z "$(k -n "$namespace" get secret vllm-creds --ignore-not-found -o name)" ]; then
    printf 'demo-%s' "$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')" |
      k -n "$namespace" create secret generic vllm-creds --from-file=token=/dev/stdin | indent
  fi
  sed "s|image: .*|image: $model_server_image|" hack/demo/model-server.yaml | k apply -f - | indent
  for server in vllm open-models; do
    k -n "$namespace" rollout status "deployment/$server" --timeout="${ready_timeout}s" --request-timeout=0 | indent
  done
}

# wait_until_ready prints phase and conditions whenever they change, until the operator has applied the spec.
wait_until_ready() {
  local began=$SECONDS now last='' generation observed ready stalled phase conditions
  while [ $((SECONDS - began)) -lt "$ready_timeout" ]; do
    now=$(k -n "$namespace" get llsd "$stack" -o jsonpath='{.metadata.generation}|{.status.observedGeneration}|{.status.conditions[?(@.type=="Ready")].status}|{.status.conditions[?(@.type=="Stalled")].status}|{.status.phase}|{range .status.conditions[*]} {.type}={.status} ({.reason}){end}') || true
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

# show_chat URL sends a chat completion to the model through the server.
show_chat() {
  heading "a chat completion: through the server, to the model server${MODEL_URL:-, with the key of the Secret}"
  cat "$chat"
  curl --silent --show-error --fail-with-body --noproxy '*' --max-time 60 --retry 5 --retry-connrefused \
    --header 'Content-Type: application/json' --data @"$chat" "$1"
}

# show_hints DISTRIBUTION prints the next steps.
show_hints() {
  local manifest=hack/demo/own-stack.yaml apply
  apply="kubectl -n mine apply -f $manifest"
  [ "$1" = starter ] || apply="sed 's/name: starter/name: $1/' $manifest | kubectl -n mine apply -f -"
  cat <<END
  kubectl -n $namespace describe llsd $stack
  kubectl -n $namespace edit llsd $stack
  kubectl -n $namespace port-forward service/$stack-service 8321 &   # then the server is at http://localhost:8321

To see the generated config.yaml:

  kubectl -n $namespace get configmap "\$(kubectl -n $namespace get llsd $stack -o jsonpath='{.status.configGeneration.configMapName}')" \\
    -o jsonpath='{.data.config\.yaml}'

A server of your own, in a namespace of your own, behind the model server that needs no key:

  kubectl create namespace mine
  $apply
  kubectl -n mine wait --for=condition=Ready llsd/own-stack --timeout=5m
END
}
