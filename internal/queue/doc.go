// SPDX-License-Identifier: Apache-2.0

// Package queue has the custom resources that wait for a worker of the controller.
//
// Those with the highest priority are taken first: what somebody edited, then what happened in the cluster, last what the operator found
// when it started. One of ten turns goes to the one that has waited longest, if that is long, whatever its priority. So none waits forever
// while others keep coming, and an edit waits for one pass more at most.
//
// Limits: a request that is added again in the moment in which it is taken has the turn of its priority alone, until it is added once more.
package queue
