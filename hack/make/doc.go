// SPDX-License-Identifier: Apache-2.0

// Package make has the scripts that the Makefile calls, and their tests.
package make
