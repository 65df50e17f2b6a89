// SPDX-License-Identifier: Apache-2.0

// Package downgrade prepares a cluster for release 0.9: its CRD is admitted, and what it finds is as it would have left
// it.
//
// Contract: Prepare can be repeated, and goes on where it was interrupted. No Deployment is changed but for who owns
// which field, so that no server restarts before release 0.9 runs. It needs the operator for one step, the conversion
// of what is stored, and ends it then. It runs with the rights of the caller, never with those of the operator. It does
// not install release 0.9.
package downgrade
