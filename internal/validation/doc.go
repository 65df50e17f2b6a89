// SPDX-License-Identifier: Apache-2.0

// Package validation checks values that a custom resource passes through to Kubernetes' own objects: names,
// duplicates, quantities, and what the API server takes in a Deployment and refuses in its pods. Defaults in the
// operator's settings are checked alike.
//
// Contract: pure. It refuses only what the API server of every supported Kubernetes refuses. A dry run finds the rest,
// and reports it with the field of the custom resource.
package validation
