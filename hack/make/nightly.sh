#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# nightly.sh LOGS TARGET...: makes all targets, with the output of each in a file of the directory LOGS. Prints a line
# for each target, and fails if one of them failed.
set -euo pipefail
logs=$1
shift
mkdir -p "$logs"
failed=0
for target; do
  began=$SECONDS result=passed
  make --no-print-directory "$target" >"$logs/$target.log" 2>&1 </dev/null || result=FAILED failed=1
  printf '%-18s %s in %d s: %s\n' "$target" "$result" $((SECONDS - began)) "$logs/$target.log"
done
exit "$failed"
