// SPDX-License-Identifier: Apache-2.0

// Package render implements the verb render, which shows the operator's build of a custom resource.
//
// It uses the operator's code and prints nothing but errors if a resource has any. It reads the operator's settings
// from a cluster only if a flag says so, reads no Secrets and writes no files.
package render
