// SPDX-License-Identifier: Apache-2.0

// Package admission validates the creation of an object as the API server does, without one.
//
// It uses the API server's libraries in the same order (unknown fields, defaults, metadata, OpenAPI schema, list types,
// CEL rules), so that messages equal those of kubectl apply. Rules compile for the oldest supported Kubernetes.
// Webhooks, rules for updates and the scale subresource are not covered.
package admission
