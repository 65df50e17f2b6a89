#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the module, one after the other, for the given time each:
#
#     hack/make/fuzz.sh 10m
#
# Inputs are minimized in a few attempts only: Go's default takes a minute and more. Failing inputs are written to
# testdata/fuzz of the package, where later test runs find them.

set -o errexit -o nounset -o pipefail

time=${1:?usage: fuzz.sh TIME}
failed=0
targets=()
# The relevant lines of each package are the names of its targets, then "ok <package> ...".
while read -r first second _; do
  case $first in
  Fuzz*) targets+=("$first") ;;
  ok)
    for target in "${targets[@]}"; do
      echo "== $second $target, $time"
      go test "$second" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x || failed=1
    done
    targets=()
    ;;
  esac
done < <(go test -list '^Fuzz' ./api/... ./distributions/... ./hack/... ./internal/...)
exit "$failed"
