// SPDX-License-Identifier: Apache-2.0

// Package build turns what was gathered into what shall exist: the server's configuration and the objects that run it.
//
// Contract: Build is a pure function of Inputs, the same for the operator and for offline tools, so that what is shown
// is what is applied. It returns either a complete Desired or faults that say what is wrong or missing, never half of
// the objects: a failing edit leaves what runs as it is.
package build
