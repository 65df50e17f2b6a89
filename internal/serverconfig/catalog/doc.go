// SPDX-License-Identifier: Apache-2.0

// Package catalog reports what each release line of the server knows: its APIs and what they need, its provider types
// with the names and types of their config fields, which of those an endpoint, a key, a region or a deployment name
// goes to, its storage backends and stores, its sections, and the environment variables that steer it.
//
// A release line is what its newest patch release knows. ForVersion returns it as the patch release of the version
// knows it: the file has what is different in older ones, as JSON merge patches.
//
// Contract: the knowledge is data, one embedded file for each release line; supporting a provider or a release is an
// edit of data, never of code. "make catalog" writes the files from the servers' own packages and from overlay.yaml,
// the only part that is written by hand (docs/release-lines.md). A release line is read when it is asked for first.
// What is returned is shared and must not be changed. The package does no I/O and does not know the custom resource.
package catalog
