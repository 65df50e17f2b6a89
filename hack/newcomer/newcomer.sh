#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# newcomer.sh [--cache DIR] [--go-caches] [--keep] demo|test|all|ci: follows the README on a new machine, which is a
# bare Debian made by debootstrap. It clones the checked-out commit, runs "make demo" and "make demo-down" (demo), "make
# test" (test), both (all), or ".ci/run" (ci), and prints how long each took.
#
# The bare Debian has only the README's requirements: Go (this machine's), Python, git and make. Everything runs in its
# own mount and process namespaces, below one directory, which is removed at the end.
#
#   --cache DIR  uses and keeps the project's cache DIR; by default it is empty, and Kubernetes is built from source
#   --go-caches  uses this machine's Go module and build caches; by default they are empty
#   --keep       keeps the directory, and prints its path
#
# Needs Linux and root, with debootstrap, Go and git. It uses this machine's proxies and package registries.
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
checkout=$(cd "$(dirname "$self")/../.." && pwd)
suite=${NEWCOMER_SUITE:-trixie} # its Python satisfies the README's requirements
demands=(python3 git make ca-certificates)

die() {
  echo "error: $*" >&2
  exit 1
}

# make_root DIR creates the bare Debian.
make_root() {
  local root=$1 include
  include=$(IFS=,; echo "${demands[*]}")
  debootstrap --variant=minbase --include="$include" "$suite" "$root" >"$root.log" || die "debootstrap failed: $(tail -n 5 "$root.log")"
  mkdir -p "$root/usr/local/go" "$root/root/.cache"/{llama-stack-k8s-operator,go-build} "$root/root/go/pkg/mod" "$root/run/llama-stack-cluster"
  # It has this machine's network, with its names and CA certificates.
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  [ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  [ ! -f /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc/"
  git -C "$checkout" bundle create --quiet "$root/root/source.bundle" HEAD
}

# enter ROOT CACHE COMMAND runs the rest of this script in the root, in its own mount and process namespaces. CACHE may
# be empty.
enter() {
  local root=$1 cache=$2 command=$3
  # In the background, so that signals are handled at once: unshare ignores them.
  ROOT=$root CACHE=$cache GOROOT=$(go env GOROOT) COMMAND=$command GO_CACHES=$go_caches MODULES=$(go env GOMODCACHE) BUILDS=$(go env GOCACHE) \
    unshare --mount --pid --fork --kill-child --propagation private "$self" inside &
  trap 'interrupted=true; kill -TERM $(cat /proc/'$!'/task/'$!'/children)' INT TERM
  until wait $!; do
    local status=$?
    $interrupted || return "$status"
    interrupted=false # the trap interrupted this wait while the newcomer cleans up
  done
}

interrupted=false

# become_newcomer runs in the new namespaces. It makes ROOT the root of the mount namespace, which containers need.
become_newcomer() {
  local name keep=()
  mkdir -p /run/llama-stack-cluster # the address indexes of this machine's clusters, so that no index is used twice
  mount --bind "$ROOT" "$ROOT"
  mount -t proc proc "$ROOT/proc"
  mount --rbind /sys "$ROOT/sys"
  mount --rbind /dev "$ROOT/dev"
  mount --bind /run/llama-stack-cluster "$ROOT/run/llama-stack-cluster"
  mount --bind -o ro "$GOROOT" "$ROOT/usr/local/go"
  [ -z "$CACHE" ] || mount --bind "$CACHE" "$ROOT/root/.cache/llama-stack-k8s-operator"
  if $GO_CACHES; then
    mount --bind "$MODULES" "$ROOT/root/go/pkg/mod"
    mount --bind "$BUILDS" "$ROOT/root/.cache/go-build"
  fi
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY GOPROXY GOSUMDB GONOSUMDB GOFLAGS; do
    [ -z "${!name:-}" ] || keep+=("$name=${!name}")
  done
  # Some programs have their own CA certificates, and use these by this variable.
  [ -z "${SSL_CERT_FILE:-}" ] || keep+=(SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt)
  cp "$self" "$ROOT/root/newcomer.sh"
  cd "$ROOT"
  mkdir -p old
  pivot_root . old
  umount -l /old
  rmdir /old
  cd /root
  exec env -i HOME=/root TERM=dumb PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${keep[@]}" \
    COMMAND="$COMMAND" /root/newcomer.sh follow
}

# follow runs the README's commands, and always stops the cluster.
follow() {
  set -m # each command is a process group, so that it can be killed as a whole
  trap '[ -z "$running" ] || kill -TERM -- "-$running"; exit 130' INT TERM
  git -c advice.detachedHead=false clone --quiet source.bundle llama-stack-k8s-operator
  cd llama-stack-k8s-operator
  case $COMMAND in
  demo) follow_demo ;;
  test) timed 'make test' ;;
  all)
    follow_demo
    timed 'make test'
    ;;
  ci) timed .ci/run ;;
  esac
  printf '\nA newcomer with %s, %s and %d processors needed:\n%s\n' "$(go env GOVERSION)" "$(python3 --version)" "$(nproc)" "$times"
}

follow_demo() {
  trap 'make demo-down' EXIT
  timed 'make demo'
  trap - EXIT
  timed 'make demo-down'
}

go_caches=false
times=
running=

# timed COMMAND runs a command, which must be in the README unless it is .ci/run, and records how long it took.
timed() {
  local began=$SECONDS
  [ "$1" = .ci/run ] || grep -qx "$1" README.md || die "the README does not say $1"
  printf '\n$ %s\n' "$1"
  bash -c "$1" </dev/null &
  running=$!
  wait "$running" || die "$1 failed after $((SECONDS - began)) s"
  running=
  times+=$(printf '\n%6d s  %s' $((SECONDS - began)) "$1")
}

main() {
  local cache='' keep=false command='' scratch status=0
  while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=${2:?--cache needs a directory} && shift ;;
    --go-caches) go_caches=true ;;
    --keep) keep=true ;;
    demo | test | all | ci) command=$1 ;;
    *) die "usage: newcomer.sh [--cache DIR] [--go-caches] [--keep] demo|test|all|ci" ;;
    esac
    shift
  done
  [ -n "$command" ] || die "usage: newcomer.sh [--cache DIR] [--go-caches] [--keep] demo|test|all|ci"
  [ "$(id -u)" = 0 ] || die "must run as root: it makes namespaces"
  [ -z "$cache" ] || cache=$(mkdir -p "$cache" && realpath "$cache")
  for program in debootstrap go git unshare pivot_root; do
    command -v "$program" >/dev/null || die "$program is missing"
  done
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/newcomer.XXXXXX")
  echo "making a bare Debian $suite in $scratch"
  make_root "$scratch/root"
  enter "$scratch/root" "$cache" "$command" || status=$?
  if $keep; then
    echo "kept: $scratch"
  else
    rm -rf --one-file-system "$scratch"
  fi
  exit "$status"
}

case ${1:-} in
inside) become_newcomer ;;
follow) follow ;;
*) main "$@" ;;
esac
