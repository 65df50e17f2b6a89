// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the conversion and validating webhooks of LlamaStackDistribution.
//
// Conversion works on JSON trees, so that every stored object can be converted. Validation admits a request if it
// cannot decode or check it. Intake bounds the memory of reviews, Connections the number of connections; both answer
// 503 when full. Every replica serves before any cache syncs, because the custom resource's own cache needs conversion.
// On SIGTERM the server keeps serving for DefaultDrain.
package webhook
