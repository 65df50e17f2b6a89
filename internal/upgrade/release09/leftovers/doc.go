// SPDX-License-Identifier: Apache-2.0

// Package leftovers looks once for what release 0.9's manifest left and this operator's does not replace.
//
// Contract: what is certainly release 0.9's own and used by nobody else is removed. The rest is logged, and named in an
// Event of the operator's Deployment, with the page that says how to remove it: someone may have bound its roles. It
// runs in the replica that leads, and a failure stops nothing. It goes with release 0.9.
package leftovers
