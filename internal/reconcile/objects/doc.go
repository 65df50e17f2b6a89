// SPDX-License-Identifier: Apache-2.0

// Package objects builds the Kubernetes objects of a LlamaStackDistribution, one file and one function for each kind.
//
// Contract: pure functions of Params; the same Params give the same objects. A builder returns nil where the object is
// not needed. Names and selectors stand in names.go alone and never change: a cluster that runs
// llama-stack-k8s-operator v0.9 keeps the same Deployment, Service and PVC. No builder reads a cluster. Only
// DerivedSecret opens secret values.
package objects
