// SPDX-License-Identifier: Apache-2.0

// Package label is the verb that puts a base configuration and the server's release into the labels of an image, so
// that the operator finds them there.
//
// Contract: it changes labels and, for a large configuration, adds one layer; everything else of the image stays as it
// is, for each platform. It reads the configuration as the operator will, and refuses what the operator would refuse.
// It asks only the registry of the image, with the credentials of the user, and writes only what --push or --output
// names. Of an archive it unpacks the files of the image, and no more than the archive has.
package label
