// SPDX-License-Identifier: Apache-2.0

// Package step has helpers for unit tests of the engine's steps: small documents, release lines, specs, and problems as
// text. Invalid input fails the test at once.
package step
