// SPDX-License-Identifier: Apache-2.0

// Command image packs a static binary into a container image without a container daemon.
//
//	go run ./hack/image --binary bin/manager --ref quay.io/llamastack/llama-stack-k8s-operator:v0.10.0 --output image.tar
//
// The image has one layer over an empty base: the binary, further files given with --file, /etc/passwd and /etc/group
// with the users root and nonroot, and a /tmp that everybody may write to. The archive is in the format of "docker save",
// which "ctr images import" and "docker load" take. On success the image's name and digest are printed.
//
// The same input gives the same digest: times, owners and order do not come from the machine, and a file's mode is
// 0755 where its owner may execute it and 0644 otherwise.
//
// It does not compile, does not add shared libraries, and makes images of one platform only.
package main
