// SPDX-License-Identifier: Apache-2.0

// Package gather reads the inputs of a reconcile; it decides and writes nothing.
//
// It reads Secrets and ConfigMaps live, only referenced ones and up to a sum of bytes; only admission caches settings.
// A failed read is a transient error; a missing object is a fact in the Inputs.
package gather
