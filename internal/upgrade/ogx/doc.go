// SPDX-License-Identifier: Apache-2.0

// Package ogx converts between LlamaStackDistribution and OGXServer (ogx.io/v1beta1), the API of llama-stack's
// successor.
//
// It is pure. Every field without an equivalent, or with a value of the wrong type, is returned as a Loss, except the
// status and metadata set by the cluster. Providers become typed OGXServer entries if these have all their fields,
// otherwise custom ones.
package ogx
