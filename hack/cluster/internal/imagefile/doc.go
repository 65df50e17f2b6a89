// SPDX-License-Identifier: Apache-2.0

// Package imagefile packs and reads image archives without a container engine, for all images of this repository. An
// image has one layer, of single files ([Files]) or of a whole root file system ([Tree]), and one platform.
//
// Contract: equal files give the same digest, whatever their times, owners' names and order. Archives have the format
// of "docker save", which "ctr images import" and "docker load" read.
package imagefile
