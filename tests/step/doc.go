// SPDX-License-Identifier: Apache-2.0

// Package step helps the unit tests of single steps of the engine: a small document, a release line, a spec, and problems in a short
// form.
//
// Contract: it knows no step. What cannot be read fails the test at once.
package step
