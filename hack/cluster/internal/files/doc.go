// SPDX-License-Identifier: Apache-2.0

// Package files has the cache directory, locks that end with their process, and atomically replaced files.
package files
