// SPDX-License-Identifier: Apache-2.0

// Package provider lays the entries of spec.providers over a configuration: one entry at a time, its identity, type,
// endpoint, settings, credentials and storage locations.
//
// Contract: pure and deterministic. An entry lies over the base's entry with its id, and keeps that one's state; else
// it begins with the base's first entry of its type, and gets namespaces, tables and files that no other provider has.
// Secrets become references to environment variables. What is wrong is added to a problem.Collector. A message shows no
// value that may be a secret.
//
// The files:
//
//   - apply.go lays the entries over a document; entry.go makes one entry.
//   - resolve.go reads one entry of the spec against the release line; type.go checks its type, endpoint.go and
//     address.go its endpoint.
//   - schema.go is what the release line knows about the config of one type. settings.go checks settings against it,
//     values.go a single value, credentials.go finds what looks like a secret, required.go what is missing.
//   - locations.go names the storage locations of one entry.
//   - secrets.go names the environment variables of Secrets; status.go shows an entry without secrets.
//
// A provider type is data: a row of package catalog. What a server release does with one type alone has no place here.
package provider
