// SPDX-License-Identifier: Apache-2.0

// Package playground answers what the page of the playground asks: what the operator makes of a text, what is wrong
// with it and where, how it differs with another release of the server, and which fields can stand at a place.
//
// Contract: pure. Every answer comes from the functions that the verbs render, validate, diff and explain of the
// kubectl plugin call, with the settings of an operator that has none. It is compiled to WebAssembly: it must not
// import clients of a cluster or of a registry, or flags, because every reader of the page loads them.
package playground
