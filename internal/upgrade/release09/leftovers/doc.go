// SPDX-License-Identifier: Apache-2.0

// Package leftovers removes obsolete objects of release 0.9's manifest once at startup of the leader.
//
// Only a binding that is certainly unused is removed. Other objects, whose roles users may have bound, are reported in
// the log and in an Event of the operator's Deployment. Failures are only logged.
package leftovers
