// SPDX-License-Identifier: Apache-2.0

// Package environment says which environment variables the server needs beside its config.yaml: what they are called,
// where their values come from, and which of them are known to be set.
//
// Contract: pure. No value of a Secret ever reaches it: a variable names the Secret and its key.
package environment
