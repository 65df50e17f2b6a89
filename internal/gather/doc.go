// SPDX-License-Identifier: Apache-2.0

// Package gather reads everything that decides what shall exist for a resource: the secret values that it refers to, the
// operator's settings, the Deployment as it stands. It is the one place that reads before anything is decided.
//
// Contract: Secrets and ConfigMaps are read live, never from a cache, and only those that the resource or the operator
// names. (Admission alone reads the operator's settings from a cache of its own, and live before it refuses.) What cannot be read is a problem
// of class Transient; what does not exist is a fact in the Inputs. Nothing is decided here and nothing is written.
package gather
