// SPDX-License-Identifier: Apache-2.0

// Package disabled applies spec.disabled: before generation, Read removes the disabled parts of the spec; after it,
// Apply removes the APIs with their references and dependents from the configuration. Removed entries of the spec cause
// an error or a warning, dependents in the base a warning.
package disabled
