// SPDX-License-Identifier: Apache-2.0

// Package oci reads what an image says about itself: in its labels the release of the server and the configuration that
// the image ships, and in the description of the server's Python package its release.
//
// Contract: pure functions over labels and the content of files. No registry is asked here: the caller passes labels
// and files in. A label that is there and cannot be used is an error that names it; labels of someone else are left
// alone.
package oci
