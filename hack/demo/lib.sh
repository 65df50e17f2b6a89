# SPDX-License-Identifier: Apache-2.0
#
# How the demo shows what it does and what went wrong. Sourced by demo.sh, never run.

step_title=
step_began=0

# step TITLE ends the step before and begins a new one.
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

# install_packages PACKAGE... installs the Debian packages that are missing, after saying which; LLSD_INSTALL=no only says which. It needs root, as
# everything after it does.
install_packages() {
  local package missing=()
  [ "$(id -u)" = 0 ] || fail "the demo starts a cluster, which needs root: sudo make demo"
  command -v dpkg-query >/dev/null || return 0 # another distribution: the cluster says what it misses
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "${LLSD_INSTALL:-yes}" != no ] || fail "packages are missing: apt-get install --no-install-recommends ${missing[*]}"
  step "Install the Debian packages ${missing[*]} (not with LLSD_INSTALL=no)"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } 2>&1 | indent ||
    fail "apt-get failed: see above"
}

# report_failure runs on exit: after a failure it says what failed, and shows what usually explains it.
report_failure() {
  local status=$?
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ "$status" -ne 0 ] || return 0
  trap - EXIT
  set +e
  {
    printf '\nThe demo failed%s.\n' "${step_title:+ in the step \"$step_title\"}"
    if [ -n "$kubectl" ]; then
      show_cluster
      printf '\nThe cluster still runs. To look around:\n'
      printf '  export KUBECONFIG=%s\n  %s -n %s describe llsd %s\n' "$KUBECONFIG" "$kubectl" "$namespace" "$stack"
      printf '  %s -n %s logs deployment/%s\n' "$kubectl" "$namespace" "$stack"
      printf 'Logs of the cluster itself: %s\n' "$cluster_logs"
      printf 'To end it: make demo-down\n'
    fi
  } >&2
  exit "$status"
}

# show_cluster prints the state of the operator and of the demo, each part bounded. No Secret is read.
show_cluster() {
  local where
  for where in "$operator_namespace" "$namespace"; do
    heading "namespace $where"
    k -n "$where" get deployments,pods -o wide
    k -n "$where" get events --sort-by=.lastTimestamp 2>/dev/null | tail -n 8
  done
  heading "operator log, last lines"
  k -n "$operator_namespace" logs "deployment/$operator" --tail=5
  heading "LlamaStackDistribution $stack"
  print_conditions
}
