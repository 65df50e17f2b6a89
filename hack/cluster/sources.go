// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"

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
// Kubernetes is a directory whose go.mod pins another release of Kubernetes; empty means
// the release that this command carries.
func Build(ctx context.Context, tier state.Tier, kubernetes string, progress io.Writer) (string, error) {
	other, err := pinnedIn(tier, kubernetes)
	if err != nil {
		return "", err
	}
	return programs.Build(ctx, sources, other, tier, progress)
}

// pinnedIn are the sources of another release of Kubernetes; nil where no directory is given.
func pinnedIn(tier state.Tier, kubernetes string) (fs.FS, error) {
	if kubernetes == "" {
		return nil, nil //nolint:nilnil // the sources of this command serve
	}
	if tier != state.ControlPlane {
		return nil, fmt.Errorf("--kubernetes %s: another release runs only on the tier %s: leave the flag out, or use that tier", kubernetes, state.ControlPlane)
	}
	return os.DirFS(kubernetes), nil
}
