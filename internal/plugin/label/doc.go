// SPDX-License-Identifier: Apache-2.0

// Package label implements the verb label, which adds a base configuration and the server's release to the labels of an
// image.
//
// It changes only labels and, for a large configuration, adds one layer, for every platform. It rejects a configuration
// that the operator would reject. It accesses only the image's registry with the user's credentials, and writes only as
// --push and --output say.
package label
