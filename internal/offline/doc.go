// SPDX-License-Identifier: Apache-2.0

// Package offline reports what would become of a resource in a cluster, without one: the API server's checks, then the
// operator's own code.
//
// Contract: pure. The same resource, operator settings and replacement give the same result, and what it shows is made
// by the function that the operator itself calls. Secrets count as found, with a content that is not known, and so do
// the ConfigMaps that Fill does not get. What only the operator in its cluster knows (keyed hashes, the resource's uid)
// reads secret.OnCluster.
package offline
