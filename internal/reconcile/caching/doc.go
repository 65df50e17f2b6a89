// SPDX-License-Identifier: Apache-2.0

// Package caching says what the operator's cache holds: its own objects, a few fields of the pods of its servers, the
// metadata of Secrets and ConfigMaps, and custom resources undecoded.
//
// Contract: no value of a Secret or ConfigMap gets into the cache. A custom resource that Go's types cannot decode
// affects only its own reconcile.
package caching
