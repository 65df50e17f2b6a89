// SPDX-License-Identifier: Apache-2.0

// Package imagefile packs and reads image archives, without a container engine. It is the one packer of images in this
// repository: the operator, the test servers, the real server and the cluster's pause image all come from here.
//
// An image has one layer, of single files ([Files]) or of a whole root file system ([Tree]). The same files give the
// same digest: times, names of owners and order do not come from the machine. Archives are in the format of "docker
// save", which "ctr images import" and "docker load" take.
//
// It compiles nothing, adds no shared libraries, and makes images of one platform only.
package imagefile
