#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# gotest.sh [--verbose] DIR "PACKAGES" FLAG...: runs "go test FLAG... PACKAGES" in DIR.
#
# RERUN names the program gotestsum, which runs a failed test once more after all others. If it passes then, the run
# passes and prints "flaky: " with the test's name; if more than three fail, none is run again. --verbose prints the
# output of passing tests too, which "go test" does for a single package.
set -euo pipefail

format=standard-quiet
if [ "$1" = --verbose ]; then
  format=standard-verbose
  shift
fi
directory=$1 packages=$2
shift 2
cd "$directory"
if [ -z "${RERUN:-}" ]; then
  # Without a package, go test tests the directory's, and prints its output at once.
  [ "$packages" != . ] || packages=
  # shellcheck disable=SC2086 # a list of packages
  exec go test "$@" $packages
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$RERUN" --format "$format" --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-report "$scratch/report" \
  --jsonfile-timing-events "$scratch/events" --packages "$packages" -- "$@"

# A package without failed tests that still failed is an error: gotestsum does not rerun it.
awk '/"Action":"fail"/ && match($0, /"Package":"[^"]*"/) {
    package = substr($0, RSTART + 11, RLENGTH - 12)
    if ($0 ~ /"Test":/) tests[package]; else packages[package]
  }
  END { for (p in packages) if (!(p in tests)) { print "FAIL " p ": its TestMain failed"; failed = 1 }; exit failed }' "$scratch/events"

# Each line is "PACKAGE.TEST: N runs, N failures". Tests with failed subtests are not printed themselves.
[ ! -f "$scratch/report" ] || while IFS= read -r line; do
  name=${line%: * runs, * failures}
  grep -qF "$name/" "$scratch/report" || echo "flaky: $name"
done <"$scratch/report"
