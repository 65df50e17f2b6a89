// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/programs"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// sources is what a build of the cluster's binaries needs. The command carries
// it so that it builds the pinned versions wherever it is called from.
//
//go:embed go.mod go.sum coredns/main.go etcd/main.go pause/main.go
var sources embed.FS

// Build compiles the programs of a tier that the cache lacks, and returns the
// directory that holds them. Progress, with seconds for each program, goes to progress.
func Build(ctx context.Context, tier state.Tier, progress io.Writer) (string, error) {
	return programs.Build(ctx, sources, tier, progress)
}
