// SPDX-License-Identifier: Apache-2.0

// Package admissionpolicy evaluates a ValidatingAdmissionPolicy as the API server does, without one.
//
// It uses the API server's library, so that messages equal those of kubectl apply. Expressions compile for the oldest
// supported Kubernetes. It is separate from package admission because the library is large.
package admissionpolicy
