// SPDX-License-Identifier: Apache-2.0

// Package status turns what was observed into the status of a resource.
//
// Contract: Compute is pure. It is a flat list of small setters; each says one thing, and only what was observed: what
// is not known is left as it was written last. Texts are stable (sorted lists, no times), so that an unchanged world
// gives an unchanged status. Times change only with the content that they belong to. The previous status is used for
// those times and for what is not known, never to decide anything.
package status
