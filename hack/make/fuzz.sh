#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the module, one after the other, for the time that is given for each:
#
#     hack/make/fuzz.sh 10m
#
# Making an input smaller is tried a few times only: by default Go spends the first minute and more on nothing else.
#
# What fails is written below testdata/fuzz of its package, where every later run of the tests finds it.

set -o errexit -o nounset -o pipefail

time=${1:?usage: fuzz.sh TIME}
failed=0
targets=()
# Two lines of interest for each package: the names of its targets, then "ok <package> ...".
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
