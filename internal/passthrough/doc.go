// SPDX-License-Identifier: Apache-2.0

// Package passthrough checks the values that a custom resource passes through to Kubernetes' own objects: names, duplicates with what the
// operator makes, quantities, labels and environment names. The operator's settings have defaults for some of them, which are checked alike.
//
// Contract: pure. It refuses only what the API server of every supported Kubernetes refuses. Everything else a dry run finds out before
// anything is applied.
package passthrough
