// SPDX-License-Identifier: Apache-2.0

// Package offline validates and builds custom resources without a cluster, with the API server's checks and the
// operator's code.
//
// It is pure. Secrets, and ConfigMaps not passed to Fill, count as existing with unknown content. Values known only to
// the running operator, such as keyed hashes and the UID, become secret.OnCluster.
package offline
