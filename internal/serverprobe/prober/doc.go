// SPDX-License-Identifier: Apache-2.0

// Package prober decides when running servers are asked about themselves; package serverprobe does the asking.
//
// Contract: a server is asked a few times after each rollout and each change of its pods, off the reconcile worker, and
// then no more. News are told by their custom resource. The last answer or failure counts, except a first failure after
// a rollout or a change of the pods. The questions under way are bounded: first ones, which take at most a second, and
// repeated ones apart, so that silent servers do not delay new ones for long. A panic fails only its own question.
// Everything ends with the context of New.
package prober
