// SPDX-License-Identifier: Apache-2.0

// Package upgrade is the verb upgrade-check: what another release of the server would do to a custom resource.
//
// Contract: both releases are made by the operator's own code from the same spec, and compared. What the server itself
// does to its state when it starts with another release is not known here. It changes nothing, and reads no Secret.
package upgrade
