// SPDX-License-Identifier: Apache-2.0

// Package explain implements the verb explain, for fields, provider types, conditions, reasons and alerts.
//
// All texts come from the operator's sources: the CRD, the catalog of release lines, the tables of reasons, and the
// PrometheusRule. It accesses no network.
package explain
