// SPDX-License-Identifier: Apache-2.0

// Package prober decides when running servers are asked about themselves; package probe does the asking.
//
// Contract: a server is asked a few times after each rollout and each change of its pods, off the reconcile worker, and then no more. What is
// new becomes an event on the channel of Events. What counts is what came of the last question, a failure too, but for the first one after a
// rollout or a change of the pods: a server that is asked again, and fails, is silent. How many servers are asked at once is bounded, in all
// and for each namespace, and apart for those that answer within a second, those that answer later, those that do not answer, and those of
// which nobody knows: so slow ones delay none that is quicker. A question that panics has failed, and ends nothing else. Everything that was
// started ends with the context of New.
package prober
