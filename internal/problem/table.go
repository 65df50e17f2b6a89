// SPDX-License-Identifier: Apache-2.0

package problem

import "slices"

// Row holds the properties of a reason. docs/status.md shows it.
type Row struct {
	Reason Reason
	// Class is the default class of its problems.
	Class Class
	// Conditions are the types of the conditions that report it, the default first.
	Conditions []string
	// FixedElsewhere means that an edit of the spec does not fix it, but the operator's settings, another object or time.
	FixedElsewhere bool
	// BySettings means that an entry in the operator's settings can fix it.
	BySettings bool
	// Polled means that the operator does not watch for the fix, and polls instead.
	Polled  bool
	Meaning string
	Example Problem
	Remedy  string
}

// Rows returns the rows of all reasons, in the order of the documentation.
func Rows() []Row {
	return slices.Concat(fieldRows, contentRows, distributionRows, referenceRows, writeRows)
}

var byReason = func() map[Reason]Row {
	rows := map[Reason]Row{}
	for _, row := range Rows() {
		rows[row.Reason] = row
	}
	return rows
}()

// rowOf returns the row of a reason, or the row of InternalError for an unknown one.
func rowOf(r Reason) Row {
	row, ok := byReason[r]
	if !ok {
		return byReason[InternalError]
	}
	return row
}

var (
	inConfigGenerated   = []string{configGenerated}
	inSecretsResolved   = []string{secretsResolved}
	inDeploymentUpdated = []string{deploymentUpdated}
)
