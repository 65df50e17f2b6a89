// SPDX-License-Identifier: Apache-2.0

// Package prometheus holds what the Prometheus Operator needs to watch the operator: how its metrics are scraped, and
// the alerts.
//
// Contract: Alerts are those of rules.yaml, in its order; each says what it means, and what to do. The Helm chart has
// the same rules.
package prometheus
