// SPDX-License-Identifier: Apache-2.0

// Package problem is the one type for a thing that is wrong, from where it is found to where it is shown.
//
// Contract: a Problem is a value with properties. Anyone who needs to know something about it reads a property; no code
// reads a message. The exception are errors of libraries and of the API server that are nothing but a text: the tests
// of tests/layout list the files that read one. Text is made once, where a problem leaves the program (a condition, an
// Event, an admission response, a log line, the kubectl plugin), by String, in Kubernetes' own form:
//
//	spec.disabled[0]: Unsupported value: "inferense": did you mean "inference"?
//
// Each Reason has a row in the table of this package. It says what the reason means, which condition shows it, which
// class it has and who can fix it, with an example. docs/status.md is made from the table.
//
// Texts are stable (no times, sorted lists), bounded and hold no value of a Secret. The package is pure: it depends on
// the API machinery's field errors and on the limits of internal/limits, and on nothing else, so that any program can
// import it.
package problem
