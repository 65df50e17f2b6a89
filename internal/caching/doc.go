// SPDX-License-Identifier: Apache-2.0

// Package caching says what the operator holds in memory: its own objects, a few fields of the pods of its servers, and of
// Secrets and ConfigMaps a few metadata.
//
// Contract: no value of a Secret or ConfigMap gets into a cache, and nothing at all of those that neither a custom resource nor the
// operator's settings refer to, but for the operator's own, the operator's settings and the platform's CA bundles. It reads nothing
// by itself: the caches are the manager's.
package caching
