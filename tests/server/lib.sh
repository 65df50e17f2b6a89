# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # scripts that source this file use the variables
#
# Shared by venv.sh and hack/serverimage/build.sh: the release table, the locks, the cache folder, a Python, and uv.
# Sourced, never run.

releases_file=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/releases.tsv
patches_file=$(dirname "$releases_file")/patches.tsv
extras_file=$(dirname "$releases_file")/extras.tsv
locks=$(dirname "$releases_file")/locks
uv_version=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$locks/uv.txt")
# Imported by the providers remote::pgvector and inline::sqlite-vec; hack/serverimage installs them.
vector_packages="chardet numpy pgvector psycopg2-binary pypdf sqlite-vec"

die() {
  echo "error: $*" >&2
  exit 1
}

# cache_dir prints the cache folder, which is outside of the checkout and safe to delete.
cache_dir() {
  echo "${LLSD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/llama-stack-k8s-operator"
}

# load_release LINE|VERSION|newest sets line, package, version, as_of and constraints from the release table, for a
# release line from its first row. For an older patch release, it also sets newer to the release of the first row.
# newest is the last release line.
load_release() {
  local found of want=$1
  [ "$want" != newest ] || want=$(release_lines | tail -n 1)
  newer=
  of=$(awk -F '\t' -v want="$want" '!/^#/ && index(" " $2 " ", " " want " ") { print $1; exit }' "$patches_file")
  found=$(awk -F '\t' -v want="$want" -v of="$of" '!/^#/ && ($1 == want || $3 == want) { row = $0; exit } !/^#/ && $1 == of && !row { row = $0 } END { print row }' \
    "$releases_file")
  [ -n "$found" ] || die "release '$1' is neither in $releases_file, which has $(awk -F '\t' '!/^#/ { printf "%s (%s) ", $1, $3 }' "$releases_file"), nor in $patches_file"
  IFS=$'\t' read -r line package version as_of constraints <<<"$found"
  if [ "$want" != "$line" ] && [ "$want" != "$version" ]; then
    newer=$version version=$want constraints=${constraints//"==$newer"/"==$want"}
  fi
}

# release_lines prints the release lines of the table.
release_lines() {
  awk -F '\t' '!/^#/ && !seen[$1]++ { print $1 }' "$releases_file"
}

# patch_releases prints the older patch releases without a row in the release table.
patch_releases() {
  awk -F '\t' '!/^#/ { if (FNR == NR) row[$3]; else for (n = split($2, of, " "); n > 0; n--) if (!(of[n] in row)) print of[n] }' "$releases_file" "$patches_file"
}

# line_extras LINE prints the extra packages of a release line, separated by spaces.
line_extras() {
  awk -F '\t' -v line="$1" '!/^#/ && ($2 == "*" || index("," $2 ",", "," line ",")) { printf "%s%s", sep, $1; sep = " " }' "$extras_file"
}

# lock_of prints the lock file of the loaded release, with versions and hashes, which lock.sh writes. The lock of an
# older patch release is the lock of its release line's first row, overridden by its own entries.
lock_of() {
  local file=$locks/$package-$version.txt whole
  [ -f "$file" ] || die "there is no $file: run tests/server/lock.sh $version"
  if [ -n "$newer" ]; then
    whole=$(cache_dir)/lock/$package-$version-$(cat "$locks/$package-$newer.txt" "$file" | sha256sum | cut -c 1-16).txt
    mkdir -p "$(dirname "$whole")"
    [ -s "$whole" ] || { lock_entries "$file" "$locks/$package-$newer.txt" >"$whole.$$" && mv "$whole.$$" "$whole"; }
    file=$whole
  fi
  echo "$file"
}

# lock_entries LOCK OTHER prints the entries of a lock, and those of OTHER for packages that LOCK lacks.
lock_entries() {
  awk 'FNR == 1 { file++ } /^[^ ]/ { name = $0; sub(/==.*/, "", name); keep = file == 1 || !(name in first); if (file == 1) first[name] } keep' "$1" "$2"
}

# pinned LOCK NAME... prints the packages with the versions of a lock, separated by spaces. With --require-hashes and
# the lock as constraints, their dependencies also have the lock's versions and hashes.
pinned() {
  local lock=$1 name found sep=
  shift
  for name in "$@"; do
    found=$(sed -n "s/^\(${name%%[=<>]*}==[^ ]*\).*/\1/p" "$lock")
    [ -n "$found" ] || die "$lock does not have $name: run tests/server/lock.sh"
    printf '%s%s' "$sep" "$found"
    sep=" "
  done
}

# find_python prints the first Python of at least 3.12 that starts (a pyenv shim may not).
find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    [ -n "$candidate" ] || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12)); ' >/dev/null 2>&1 || continue
    "$candidate" -c 'import sys; print(sys.executable)'
    return
  done
  die "no Python of version 3.12 or newer: looked at \$PYTHON, python3.13, python3.12, python3 and ~/.pyenv/versions; install one or set PYTHON to its path"
}

# locked NAME COMMAND... runs the command under the lock NAME of the cache.
locked() {
  local name=$1 cache
  shift
  cache=$(cache_dir)
  mkdir -p "$cache/lock"
  (
    flock -w 1200 9 || die "waited 20 minutes for $cache/lock/$name"
    "$@"
  ) 9>"$cache/lock/$name"
}

# uv_bin installs the pinned uv into its own virtual environment if necessary, and prints its path.
uv_bin() {
  local home
  home=$(cache_dir)/uv/$uv_version
  if [ ! -x "$home/bin/uv" ]; then
    locked uv install_uv "$home" >&2
  fi
  echo "$home/bin/uv"
}

install_uv() {
  local home=$1 python
  [ ! -x "$home/bin/uv" ] || return 0
  python=$(find_python)
  mkdir -p "$(dirname "$home")"
  uv_scratch=$(mktemp -d "$home.XXXXXX")
  trap 'rm -rf "$uv_scratch"' EXIT
  "$python" -m venv "$uv_scratch/uv"
  "$uv_scratch/uv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$locks/uv.txt"
  mv -T "$uv_scratch/uv" "$home"
}
