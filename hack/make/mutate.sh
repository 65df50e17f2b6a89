#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# mutate.sh GREMLINS PACKAGE...: runs mutation tests of each package, without the packages below it. `PACKAGE+OTHER`
# also counts the unit tests of OTHER.
#
# A wrapper of the go command, first in PATH, corrects results of gremlins:
#   - A mutant that does not compile (`-` between two strings) counts as not viable instead of killed, although `go
#     test` has the same exit code for both.
#   - Coverage profiles lack the conditions of a switch without a tag, so the block of each case is extended to its
#     condition. They also lack the constants and variables of a package, which count as covered.
#   - The first run lasts some seconds, because gremlins derives the timeout of a mutant from it, and a cache can make
#     it very short.
set -euo pipefail
gremlins=$1 && shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/go" <<'GO'
#!/usr/bin/env bash
[ "$1" = test ] || exec "$REAL_GO" "$@"
flags=(test -short -vet=off) profile=
for argument in "${@:2:$#-2}"; do
  [ "${previous:-}" != -coverprofile ] || profile=$argument
  previous=$argument
  flags+=("$argument")
done
if [ -z "$profile" ]; then
  for package in $TESTED; do
    output=$("$REAL_GO" "${flags[@]}" "$package" 2>&1) && continue
    case $output in *'[build failed]'*) exit 2 ;; *) exit 1 ;; esac
  done
  exit 0
fi
sleep 4
"$REAL_GO" "${flags[@]}" -coverpkg "${TESTED%% *}" $TESTED || exit $?
awk -v module="$("$REAL_GO" list -m)/" '
  { at = index($1, ":"); name = substr($1, 1, at - 1); split(substr($1, at + 1), from, "[.,]") }
  /^mode:/ { print; next }
  !(name in seen) {
    seen[name] = 1; file = substr(name, length(module) + 1); n = 0; inside = 0
    while ((getline text < file) > 0) {
      source[name, ++n] = text
      if (text ~ /^(const|var) /) inside = 1
      if (inside) print name ":" n ".1," n ".999 1 1"
      if (text !~ /[({,+&|]$/ && inside == 1 && text !~ /^\t/ || text ~ /^[)}]/) inside = 0
    }
    close(file)
  }
  source[name, from[1]] ~ /^\t*case / { $1 = name ":" from[1] ".1," from[3] "." from[4] }
  { print }
' "$profile" >"$profile.widened" && mv "$profile.widened" "$profile"
GO
chmod +x "$scratch/go"
REAL_GO=$(command -v go)
export REAL_GO TESTED
missed=0
for argument; do
  package=${argument%%+*}
  TESTED=$(sed 's#[^+]*#'"$(go list -m)"'/&#g; s#+# #g' <<<"$argument")
  echo "== $argument"
  PATH=$scratch:$PATH nice "$gremlins" unleash "./$package" --workers 1 --timeout-coefficient 10 --output-statuses lct \
    --exclude-files / --exclude-files '^zz_generated' \
    --threshold-efficacy "${EFFICACY:-95}" --threshold-mcover "${COVERAGE:-90}" ${MUTATEFLAGS:-} || missed=1
done
exit "$missed"
