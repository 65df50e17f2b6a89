#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails, with the difference, unless the generated files are what the sources generate. It generates in a copy of the
# checkout, so that uncommitted work counts, and new and vanished files too, and nothing here is changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/before"
tar --exclude=./.git --exclude=./bin -cf - . | tar -xf - -C "$scratch/before"
cp -R "$scratch/before" "$scratch/after"

# The committed files name the release's own version and image, whatever the caller builds. Without paths in what is built, Go finds it in its cache
# wherever the copy is.
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
