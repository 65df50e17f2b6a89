// SPDX-License-Identifier: Apache-2.0

// Package leaves finds every field of the spec, with a value that means something.
//
// Contract: the fields come from the Go types by reflection, so that a new one cannot be forgotten: a type without an example fails the
// test. What else the values refer to (Secrets, ConfigMaps) is for the test to bring.
package leaves
