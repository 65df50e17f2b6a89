// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ReconcileCount returns the number of reconciles of custom resources in this process, by all operators that ran in it.
func ReconcileCount(t testing.TB) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	NoError(t, err)
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "llamastackdistribution" {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
