// SPDX-License-Identifier: Apache-2.0

// Command metricspage writes docs/metrics.md from the definitions of the metrics, and docs/alerts.md from the
// PrometheusRule:
//
//	go run ./hack/metricspage
//
// Contract: equal sources give equal bytes.
package main
