// SPDX-License-Identifier: Apache-2.0

// Package serverconfig is the config engine: it makes the server's config.yaml from a base configuration, the spec of a
// LlamaStackDistribution and the release line of the server.
//
// Generate is a list of steps. Each is a package below this one, takes what it needs, and reports problems; each knows
// only those below it. From the bottom up: catalog (what a release line knows), document (the tree of a configuration)
// and address (hosts, ports); environment (variables of the server) and release (a configuration against a release
// line); storage; provider (the entries of providers); server, resource and auth; disabled and integrity. Nothing
// imports upwards.
//
// Contract: pure and deterministic. The same input gives the same bytes; the base is never changed and may be shared by
// any number of goroutines. Keys that the engine does not know survive at every level of the base. What is wrong comes
// back as problems (package problem), each with the path, what is wrong and how to fix it; none ever carries the value
// of a field that could hold a secret, and no secret value ever reaches this package: Secrets become references to
// environment variables.
//
// A provider of the resource lies over the base's entry with its id, and keeps that one's state; else it begins with
// the base's first entry of its type, and with what the catalog has, and gets namespaces, tables and files that no
// other provider has. Telemetry is not a provider to any server: it becomes environment variables, in which the key of
// a collector is named and does not stand. What is disabled goes with all that refers to it and with what cannot work
// without it. A storage backend keeps its name when it becomes another database, and what the server reads of a
// connection string or password is named as a Part, for others to make. Settings are held against what the release line
// knows: what the server would refuse is an error, what it would ignore a warning. Of some fields the server takes only
// a part of their type (numbers with limits, files that must be there): that is left to it.
//
// It does no I/O, knows no Kubernetes client, and does not check that Secrets exist or that their values can be used.
// What a release line knows about provider types is data: see package catalog.
package serverconfig
