// SPDX-License-Identifier: Apache-2.0

// Package modelserverdouble stands in for the model server on a GPU that the real llama-stack server talks to.
//
// A Double answers the parts of the OpenAI HTTP API that an inference provider uses (GET /v1/models,
// POST /v1/chat/completions, whole and streamed, and POST /v1/embeddings, behind a bearer key), GET /health, and GET /double/requests, by which
// a test asks what arrived. It reports whether the key was right and the start of its hash, never the key.
//
// It runs no model: an answer repeats the last message, so that a test can recognize it, and an embedding depends on the text alone. A question that comes
// with a tool that searches calls this tool, and a model whose name begins with "llama-guard" judges texts.
package modelserverdouble
