// SPDX-License-Identifier: Apache-2.0

// Package leaves sets each field of the spec to an example value. It finds the fields by reflection and fails for a
// type without an example. Tests create the Secrets and ConfigMaps that the values refer to.
package leaves
