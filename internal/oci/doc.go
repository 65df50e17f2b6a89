// SPDX-License-Identifier: Apache-2.0

// Package oci reads what the labels of a distribution's image say: the release of the server, and the configuration that the
// image ships.
//
// Contract: pure functions over labels. No registry is asked here: who has the labels passes them in. A label that is there and
// cannot be used is an error that names it; labels of someone else are left alone.
package oci
