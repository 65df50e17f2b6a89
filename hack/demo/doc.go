// SPDX-License-Identifier: Apache-2.0

// Package demo tests the scripts of the demo, which "make demo" runs.
package demo
