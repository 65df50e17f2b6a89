// SPDX-License-Identifier: Apache-2.0

// Package parse reads the fields of a LlamaStackDistribution whose schema is open: one object or a list, a string or an
// object, a boolean or an object.
//
// Contract: pure. Input that is over the bounds is refused before it is decoded. The spelling in the spec is not
// changed, and each entry knows its path. Each problem has a path, and says what is wrong and how to fix it; it shows a
// value only where that is a known name or near to one, so that no secret gets into a message.
//
// It knows the shape only. What a value means to a release line is decided in package config.
package parse
