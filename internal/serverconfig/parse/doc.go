// SPDX-License-Identifier: Apache-2.0

// Package parse parses the open fields of a LlamaStackDistribution, such as one object or a list. It checks limits
// before decoding, and never changes the spec.
//
// It validates only the shape; package serverconfig validates values against the release line. Messages show a value
// only if it is similar to a known name, because others may be secrets.
package parse
