// SPDX-License-Identifier: Apache-2.0

// Package ogx converts between LlamaStackDistribution and OGXServer (ogx.io/v1beta1), the kind of the operator of
// llama-stack's successor.
//
// Contract: pure. What both kinds can say is converted; everything else of a spec comes back as a Loss with its path,
// and nothing is dropped silently but metadata that only a cluster writes, and the status. A value of the wrong type is
// a Loss too. Providers become typed entries of OGXServer where these can hold all of their fields, and custom ones
// otherwise.
package ogx
