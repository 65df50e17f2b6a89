// SPDX-License-Identifier: Apache-2.0

// Package caching configures the operator's cache: its own objects, pods, metadata, and undecoded custom resources.
//
// The cache holds no value of a Secret or ConfigMap. An undecodable custom resource affects only its own reconcile.
package caching
