// SPDX-License-Identifier: Apache-2.0

package problem

import "slices"

// Row is what is known of a reason. docs/status.md shows it.
type Row struct {
	// Reason is the reason.
	Reason Reason
	// Class is the class of its problems, unless a problem says another one.
	Class Class
	// Conditions are the types of the conditions that report it, the usual one first.
	Conditions []string
	// Elsewhere is true where an edit of the spec is not what fixes it: the settings of the operator, another object or
	// time do.
	Elsewhere bool
	// BySettings is true where an entry in the operator's settings can fix it.
	BySettings bool
	// Polled is true where the operator does not watch what fixes it, and looks again from time to time.
	Polled bool
	// Meaning says what is wrong, in one sentence.
	Meaning string
	// Example is a problem with this reason.
	Example Problem
	// Remedy says what to do.
	Remedy string
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

// rowOf returns the row of a reason. A test proves that each reason has one.
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
