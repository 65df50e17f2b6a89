// SPDX-License-Identifier: Apache-2.0

// Package modelserverdouble is a fake model server for the real llama-stack server. It serves GET /health, and with a
// bearer key GET /v1/models, POST /v1/chat/completions (whole and streamed) and POST /v1/embeddings.
// GET /double/requests returns the recorded requests, without their keys.
//
// An answer repeats the last message, and an embedding depends on the text alone. A question with a search tool calls
// the tool, and a model named "llama-guard…" classifies texts.
package modelserverdouble
