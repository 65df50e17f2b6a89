// SPDX-License-Identifier: Apache-2.0

// Package oci reads the server release and the configuration from image labels, and the release from the metadata of
// the server's Python package.
//
// It is pure: the caller passes in labels and file contents. An invalid known label is an error that names it; unknown
// labels are ignored.
package oci
