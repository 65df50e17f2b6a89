// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Clean removes the routes and empty cgroups that a stopped cluster leaves on the machine, unless another cluster has
// its index.
func Clean(s *state.State) error {
	if s.Result.Index == nil {
		return nil
	}
	plan, err := addresses.NewPlan(*s.Result.Index)
	if err != nil {
		return err
	}
	held, err := Indexes.Holds(plan.Index, s.Result.Dir)
	if err != nil || !held {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := sandbox.LeaveNetwork(ctx, plan); err != nil {
		return err
	}
	if err := host.RemoveCgroups(ctx, plan.Link); err != nil {
		return err
	}
	return Indexes.Release(plan.Index)
}

// Load imports an image archive, as docker save and OCI tools write it, into the node whose first process is pid. The
// archive is passed as standard input, because the node may see another file at its path.
func Load(ctx context.Context, pid int, archive string, progress io.Writer) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	begin := time.Now()
	cmd := exec.CommandContext(ctx, "nsenter", "--target", strconv.Itoa(pid), "--mount",
		"ctr", "--namespace", "k8s.io", "images", "import", "-")
	cmd.Stdin = file
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, files.LastLines(string(out), 5))
	}
	_, err = fmt.Fprintf(progress, "%s(%.1f s)\n", out, time.Since(begin).Seconds())
	return err
}
