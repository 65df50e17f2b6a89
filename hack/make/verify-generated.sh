#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails, with the difference, if the generated files are outdated. It generates in a copy of the checkout, which
# includes uncommitted, new and deleted files, and leaves the checkout unchanged.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/before"
tar --exclude=./.git --exclude=./bin -cf - . | tar -xf - -C "$scratch/before"
cp -R "$scratch/before" "$scratch/after"

# The committed files have the release's version and image, so the caller's are unset. With -trimpath, Go's build cache
# works for the copy, too.
if ! env -u IMG -u VERSION -u MAKEFLAGS GOFLAGS="${GOFLAGS:-} -trimpath" make --no-print-directory -C "$scratch/after" generate >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo 'verify-generated: make generate failed' >&2
  exit 1
fi

cd "$scratch"
if ! diff -ruN before after; then
  echo 'verify-generated: the files above are not what the sources generate; run: make generate' >&2
  exit 1
fi
