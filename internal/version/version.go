// SPDX-License-Identifier: Apache-2.0

package version

// Set by the linker: see the Makefile.
var (
	version = "0.0.0-dev"
	commit  = ""
)

// Version is the release of the operator, such as "0.10.0".
func Version() string { return version }

// Build identifies the build: the release, and the commit where it is known.
func Build() string {
	if commit == "" {
		return version
	}
	return version + "+" + commit
}
