// SPDX-License-Identifier: Apache-2.0

// Package ogx converts between LlamaStackDistribution and OGXServer (ogx.io/v1beta1), the API of llama-stack's
// successor.
//
// It is pure. Every field without an equivalent is returned as a Finding with the type of its value and a way to keep
// it, except the status and metadata set by the cluster. Providers become typed OGXServer entries if these have all
// their fields, otherwise custom ones. The API server accepts each OGXServer that it makes: fields.txt has the limits.
package ogx
