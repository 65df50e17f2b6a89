// SPDX-License-Identifier: Apache-2.0

// Command release makes the files of a release from built programs; make release calls it.
//
//	go run ./hack/release -build bin/build -output bin/release -version 0.10.0 -commit abc -time 1767323045 -image quay.io/…:v0.10.0
//
// The build directory has the plugin as plugin/OS-ARCH/kubectl-llamastack, and the operator's images as
// image/linux-ARCH.tar, each beside its program manager-linux-ARCH. The output is an archive of the plugin for each
// platform, with a krew manifest; one OCI archive with the operator's image for all architectures; the Helm chart; an
// SPDX document for each program; a provenance statement; and checksums.
//
// Contract: it needs no network, and equal input gives equal bytes: the only time is that of the commit.
package main
