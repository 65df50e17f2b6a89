// SPDX-License-Identifier: Apache-2.0

// Package validation checks values that a custom resource or the operator's settings pass through to Kubernetes
// objects, such as names and quantities.
//
// It is pure, and rejects only values that every supported API server rejects, in the Deployment or in its pods. A dry
// run finds other errors.
package validation
