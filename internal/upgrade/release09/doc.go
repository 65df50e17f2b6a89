// SPDX-License-Identifier: Apache-2.0

// Package release09 knows what release 0.9 of the operator leaves in a cluster: which objects are its own and which
// fields it wrote, which image it runs, the conditions that it shows, and how the rollout from its pods must go to lose
// no request.
//
// Contract: pure. Everything that exists only for release 0.9 is here and in the packages below: adoption takes over
// its objects, leftovers removes what its manifest left, and downgrade prepares the way back. One day they are deleted
// together. What v1alpha1 can say and v1alpha2 cannot is not among it: that version of the API is served.
package release09
