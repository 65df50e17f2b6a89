// SPDX-License-Identifier: Apache-2.0

// Package demo holds the tests of the scripts of the demo.
//
// Contract: nothing imports it. "make demo" runs the scripts.
package demo
