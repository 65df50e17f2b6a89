// SPDX-License-Identifier: Apache-2.0

// Package caching says what the operator holds in memory: its own objects, and of Secrets and ConfigMaps a few metadata.
//
// Contract: no value of a Secret or ConfigMap gets into a cache. It reads nothing by itself: the caches are the manager's.
package caching
