// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a resource from observed facts.
//
// Compute is pure: each setter sets one field or condition, and keeps the last value if the fact is unknown. Texts are
// stable (sorted, without times), so that unchanged facts cause no write. The previous status decides nothing else.
package status
