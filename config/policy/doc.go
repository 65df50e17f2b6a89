// SPDX-License-Identifier: Apache-2.0

// Package policy holds the ValidatingAdmissionPolicy as it is installed, for programs that validate resources without a
// cluster.
//
// Contract: the bytes are those of policy.yaml. What the policy refuses, the parsers of api/v1alpha2 or the
// configuration engine refuse, too: a test compares them over shapes that nobody would think of.
package policy
