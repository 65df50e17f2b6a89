// SPDX-License-Identifier: Apache-2.0

// Package migrate rewrites a config.yaml for another release line of the server.
//
// It takes the files of llama-stack 0.2 and of all known release lines. It renames fields, APIs and provider types,
// moves stores and resources to where the release line reads them, and removes parts that only other release lines
// read. Keys and provider types that no release line knows stay as they are. Each difference is a Change.
package migrate
