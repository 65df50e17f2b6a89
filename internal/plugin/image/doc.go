// SPDX-License-Identifier: Apache-2.0

// Package image reads the labels of an image, and the release of its server, from the image's registry.
//
// It uses the user's own credentials, connects to no other registry, and writes nothing.
package image
