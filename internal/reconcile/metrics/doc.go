// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what the operator does, for Prometheus.
//
// Contract: Definitions lists every metric of the operator's own with all values of its labels, and docs/metrics.md is
// made from it: no label has the name of a custom resource, a namespace, an image or a host, so the number of series is
// bounded, whatever users create. The gauges are made from what the last reconcile of each custom resource reported,
// when they are read; a custom resource that is gone is in none of them. Several managers of one process share one
// Metrics. It reads nothing from the cluster and starts nothing.
package metrics
