// SPDX-License-Identifier: Apache-2.0

// Package admissionpolicy validates an object by a ValidatingAdmissionPolicy as the API server would, without one.
//
// Contract: the API server's own library, so that the messages are those that kubectl apply prints. Expressions compile
// as on the oldest Kubernetes that is supported. It is a package of its own because that library is large, and not all
// that uses the schema needs it.
package admissionpolicy
