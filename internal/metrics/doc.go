// SPDX-License-Identifier: Apache-2.0

// Package metrics has the operator's own Prometheus metrics.
//
// Definitions has all values of all labels, so the number of series is bounded; docs/metrics.md is generated from it.
// Gauges are computed from the last reconcile of each existing custom resource.
package metrics
