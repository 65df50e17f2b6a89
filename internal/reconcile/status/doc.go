// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a resource from observed facts.
//
// Compute is pure. Each setter sets one field or condition, and keeps the last value if a fact is unknown. Texts are
// stable, so that unchanged facts cause no write.
package status
