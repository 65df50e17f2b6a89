// SPDX-License-Identifier: Apache-2.0

// Package external adds the entries of spec.externalProviders to a configuration: providers whose code comes as a
// Python package in an image.
//
// Contract: pure and deterministic. An entry replaces the one with its id of its API, of the spec or of the base, with
// a warning, and takes nothing over from it; else it follows the others. What its package is called, which type it
// brings, and which config fields are the endpoint and the key, the file in the image says, or the entry itself: who
// has read the file passes it in. A package that is not known yet is a problem of its own, which goes away without an
// edit.
//
// It reads no image and knows no registry.
package external
