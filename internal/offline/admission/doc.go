// SPDX-License-Identifier: Apache-2.0

// Package admission validates an object as the API server would when it is created, without one.
//
// Contract: the same steps in the same order by the API server's own libraries (unknown fields, defaults, metadata,
// OpenAPI schema, list types, CEL rules), so that the messages are those that kubectl apply prints. Rules compile as on
// the oldest Kubernetes that is supported. Admission webhooks are not part of it, and neither are what only an update
// can violate and what the scale subresource says a second time.
package admission
