// SPDX-License-Identifier: Apache-2.0

// Package provider merges the entries of spec.providers into a configuration: id, type, endpoint, settings, credentials
// and storage locations.
//
// An entry is merged over the base's entry with its id and type, and keeps its state. Otherwise it starts as a copy of
// the base's first entry of the type, with its own storage locations. Secrets become environment references, and
// messages show no values that may be secrets. Provider types are data in package catalog, not code.
package provider
