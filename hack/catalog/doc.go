// SPDX-License-Identifier: Apache-2.0

// Command catalog makes what the operator knows about the server's release lines:
// internal/serverconfig/catalog/<line>.yaml and apis.yaml there, distributions/starter/<line>.yaml, and
// docs/providers.md.
//
//	catalog [-line LINE]... [-newest] [-check]
//	catalog -python PYTHON
//	catalog -hashes
//
// It asks each release line's real package, in a virtual environment that tests/server/venv.sh makes (introspect.py
// does the asking), lays internal/serverconfig/catalog/overlay.yaml over the answer, and writes the result; the same
// packages and the same overlay give the same bytes. With -line only those release lines are asked, and the others are
// taken from their files. With -check nothing is written: the command fails and names the files that differ.
//
// Of each release line, the package of the newest release makes the file. Those of older patch releases
// (tests/server/patches.tsv) add a section patches with what is different in them, and the command prints these
// differences. With -newest they are not asked, and their differences are taken from the files. With -python nothing is
// written: the command prints what the package of that Python knows otherwise than the catalog (make upstream).
//
// Each generated file has a hash of its content in its header. With -hashes the command compares the files with these
// hashes. That needs no Python and finds edits by hand; whether the packages and the overlay make the same files only
// -check finds out.
//
// A starter base that does not begin with the mark of a generated file is kept by hand and left alone; the tests of the
// server compare it with the package all the same.
package main
