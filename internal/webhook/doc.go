// SPDX-License-Identifier: Apache-2.0

// Package webhook serves what the API server asks the operator: here the validation of LlamaStackDistributions.
//
// Contract: it holds no rules of its own. Validation decodes the review, has the facts gathered, and passes on what
// internal/admission says. What cannot be read or asked is admitted.
package webhook
