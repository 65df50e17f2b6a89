// SPDX-License-Identifier: Apache-2.0

// Package gather reads everything that a reconcile's decisions depend on, and decides and writes nothing.
//
// It reads Secrets and ConfigMaps live, only those that the resource or the operator names, up to a sum of bytes; only
// admission caches settings. The Deployment comes from the cache, or live if the cache lacks it and the resource is not
// new. A failed read is a transient error; a missing object is a fact in the Inputs.
package gather
