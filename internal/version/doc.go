// SPDX-License-Identifier: Apache-2.0

// Package version reports which build of the operator this is. The linker sets it.
package version
