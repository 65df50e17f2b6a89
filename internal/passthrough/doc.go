// SPDX-License-Identifier: Apache-2.0

// Package passthrough checks the values that a custom resource passes through to Kubernetes' own objects: environment variables, volumes,
// resources, budgets, spread constraints, affinity, tolerations, metadata of pods and names. The operator's settings have defaults for some of them, which
// are checked alike.
//
// Contract: pure. It refuses only what the API server of every supported Kubernetes refuses, so that a spec that it takes may still be
// refused, which a dry run finds out. Each problem has the path of the field in the custom resource: the API server would name a field of
// an object that the user does not know.
package passthrough
