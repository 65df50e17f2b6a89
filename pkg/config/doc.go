// SPDX-License-Identifier: Apache-2.0

// Package config is the config engine: it makes the server's config.yaml from a base configuration, the spec of a
// LlamaStackDistribution and the release line of the server.
//
// Contract: pure and deterministic. The same input gives the same bytes; the base is never changed and may be shared
// by any number of goroutines. Keys that the engine does not know survive at every level of the base. What is wrong
// comes back as findings, each with the path, what is wrong and how to mend it; no finding ever carries the value of
// a field that could hold a secret, and no secret value ever reaches this package: Secrets become references to
// environment variables.
//
// It does no I/O, knows no Kubernetes client, and does not check that Secrets exist or that their values can be used.
// What a release line knows about provider types is data: see package catalog.
package config
