// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the conversion and validating webhooks of LlamaStackDistribution.
//
// Conversion works on JSON trees, so that every stored object can be converted. Validation admits a request that it
// cannot decode or check. Intake bounds the memory of reviews and answers 503 when it is used up; Connections bounds
// idle connections. A NetworkPolicy must keep slow clients away. Every replica serves before any cache syncs, because
// the cache of custom resources needs conversion. On SIGTERM the server keeps serving for DefaultDrain.
package webhook
