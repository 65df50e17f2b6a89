// SPDX-License-Identifier: Apache-2.0

// Package disabled applies spec.disabled: Read forgets what the spec configures of the APIs that it disables, and Apply
// takes these APIs out of a configuration with everything that refers to them and what cannot work without them.
//
// Contract: pure. Read runs before all that changes the document, Apply after. What the spec itself configures is never
// removed without an error, what the base has with a warning.
package disabled
