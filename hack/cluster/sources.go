// SPDX-License-Identifier: Apache-2.0

package cluster

import "embed"

// sources is what a build of the cluster's binaries needs. The command carries
// it so that it builds the pinned versions wherever it is called from.
//
//go:embed go.mod go.sum coredns/main.go etcd/main.go pause/main.go
var sources embed.FS

// modulePath is the path of this module; the embedded commands live below it.
const modulePath = "github.com/llamastack/llama-stack-k8s-operator/hack/cluster"
