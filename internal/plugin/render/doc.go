// SPDX-License-Identifier: Apache-2.0

// Package render is the verb that shows what the operator would make of a resource.
//
// Contract: what is printed is made by the operator's own code. Either every resource can be rendered, or nothing is
// printed and the errors are reported, never a part of them. It asks no cluster but for the operator's settings, where
// a flag says so, reads no Secret and writes no file.
package render
