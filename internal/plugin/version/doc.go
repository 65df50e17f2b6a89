// SPDX-License-Identifier: Apache-2.0

// Package version implements the verb version, which prints the plugin's build and the supported release lines. It does
// not access a cluster.
package version
