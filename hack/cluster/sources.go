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

// sources are embedded, so that the command builds the pinned versions wherever it runs.
//
//go:embed go.mod go.sum coredns/main.go etcd/main.go pause/main.go
var sources embed.FS

// Build compiles the programs of a tier that the cache lacks, and returns their directory. kubernetes is a directory
// whose go.mod pins another release of Kubernetes; empty means the embedded one.
func Build(ctx context.Context, tier state.Tier, kubernetes string, progress io.Writer) (string, error) {
	override, err := overrideSources(tier, kubernetes)
	if err != nil {
		return "", err
	}
	return programs.Build(ctx, sources, override, tier, progress)
}

// overrideSources returns the sources of another release of Kubernetes, nil without a directory.
func overrideSources(tier state.Tier, kubernetes string) (fs.FS, error) {
	if kubernetes == "" {
		return nil, nil //nolint:nilnil // the embedded sources apply
	}
	if tier != state.ControlPlane {
		return nil, fmt.Errorf("--kubernetes %s: another release is supported only by the tier %s: omit the flag, or use that tier", kubernetes, state.ControlPlane)
	}
	return os.DirFS(kubernetes), nil
}
