// SPDX-License-Identifier: Apache-2.0

// Command image packs a static binary, or a whole root file system, into a container image without a container daemon.
//
//	go -C hack/cluster run ./cmd/image --binary /path/to/manager --ref quay.io/llamastack/llama-stack-k8s-operator:v0.10.0 --output /path/to/image.tar
//	go -C hack/cluster run ./cmd/image --root /path/to/root --entrypoint /bin/server --ref localhost/server:dev --output /path/to/image.tar
//
// Package imagefile defines the image's content. On success the command prints the image's name and digest.
package main
