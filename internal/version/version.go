// SPDX-License-Identifier: Apache-2.0

package version

// Set by the linker: see the Makefile.
var (
	version = "0.0.0-dev"
	commit  = ""
	image   = "quay.io/llamastack/llama-stack-k8s-operator:v0.0.0-dev"
)

// Version is the release of the operator, such as "0.10.0".
func Version() string { return version }

// Image is the image in which this build is released. An operator that runs may have another one, from a mirror.
func Image() string { return image }

// Build identifies the build: the release, and the commit where it is known.
func Build() string {
	if commit == "" {
		return version
	}
	return version + "+" + commit
}
