// SPDX-License-Identifier: Apache-2.0

// Package serverconfig generates the server's config.yaml from a base configuration, the spec of a
// LlamaStackDistribution and the release line of the server.
//
// Generate is pure and deterministic, never changes the base, and keeps unknown keys of the base. It does no I/O and
// sees no Secret values: Secrets become references to environment variables. Each step is a package below this one,
// imports only lower steps, and reports problems with paths.
package serverconfig
