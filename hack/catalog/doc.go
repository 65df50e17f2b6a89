// SPDX-License-Identifier: Apache-2.0

// Command catalog reads the server's packages and writes the catalog of its release lines:
// internal/serverconfig/catalog/<line>.yaml and apis.yaml, distributions/starter/<line>.yaml, and docs/providers.md. It
// runs introspect.py in a virtual environment of tests/server/venv.sh for each package, and applies
// internal/serverconfig/catalog/overlay.yaml.
//
// catalog [-line LINE]... [-newest] [-check] writes the files; the newest release of a release line gives the file, and
// older patch releases (tests/server/patches.tsv) its section patches. -line reads only these release lines, -newest
// skips older patch releases, and -check writes nothing and fails if a file differs.
//
// catalog -python PYTHON prints the differences between the package of that Python and the catalog (make upstream).
//
// catalog -hashes detects manual edits by the content hash in each header, without Python.
//
// Contract: equal packages and overlays give equal bytes. Starter bases without the header's mark are maintained by
// hand.
package main
