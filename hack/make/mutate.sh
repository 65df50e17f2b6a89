#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# mutate.sh GREMLINS PACKAGE...: changes the code of each package in small ways and lets its unit tests find out (mutation testing).
#
# gremlins tries only what the tests cover, by Go's coverage profile. That has no block for the conditions of a switch without
# a tag, so they would all count as not covered. A go command of its own, first in PATH, widens the block of each case by its
# condition: covered is then what some test makes true.
set -euo pipefail
gremlins=$1 && shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/go" <<'GO'
#!/usr/bin/env bash
"$REAL_GO" "$@" || exit $?
profile=
for argument; do
  [ "${previous:-}" != -coverprofile ] || profile=$argument
  case $argument in -coverprofile=*) profile=${argument#*=} ;; esac
  previous=$argument
done
[ -n "$profile" ] || exit 0
awk -v module="$("$REAL_GO" list -m)/" '
  { at = index($1, ":"); name = substr($1, 1, at - 1); split(substr($1, at + 1), from, "[.,]") }
  /^mode:/ { print; next }
  !(name in seen) { seen[name] = 1; file = substr(name, length(module) + 1); n = 0; while ((getline text < file) > 0) source[name, ++n] = text; close(file) }
  source[name, from[1]] ~ /^\t*case / { $1 = name ":" from[1] ".1," from[3] "." from[4] }
  { print }
' "$profile" >"$profile.widened" && mv "$profile.widened" "$profile"
GO
chmod +x "$scratch/go"
REAL_GO=$(command -v go)
export REAL_GO
for package; do
  echo "== $package"
  PATH=$scratch:$PATH nice "$gremlins" unleash "./$package" --workers 1 --timeout-coefficient 30 --output-statuses lct \
    --threshold-efficacy "${EFFICACY:-95}" --threshold-mcover "${COVERAGE:-90}" ${MUTATEFLAGS:-}
done
