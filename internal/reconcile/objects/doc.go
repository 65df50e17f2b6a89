// SPDX-License-Identifier: Apache-2.0

// Package objects builds the Kubernetes objects of a LlamaStackDistribution, one function and one file for each kind.
//
// Builders are pure functions of Params and return nil for an object that is not needed. Names and selectors never
// change: clusters that ran release 0.9 keep their Deployments, Services and PVCs.
package objects
