// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Indexes has the reservations of the machine's clusters.
var Indexes = addresses.Indexes{Dir: "/run/llama-stack-cluster"}

// Commands are the parts of a node that run as processes of the program that uses this package, which must call them by
// the first argument.
var Commands = map[string]func(context.Context, []string) error{
	registry.Command:  registry.Serve,
	initCommand:       runInit,
	supervisorCommand: runSupervisor,
}

const (
	initCommand       = "internal-init"
	supervisorCommand = "internal-supervisor"

	// File descriptors of the pipes between the supervisor and the command that starts its cluster: the supervisor's
	// reports, and the signal that the network is ready.
	reportsFD      = 3
	networkReadyFD = 4
)

type nodeSpec struct {
	Dir    string         `json:"dir"`    // the cluster's directory as the machine sees it
	Bin    string         `json:"bin"`    // the programs' directory as the machine sees it
	CNIBin string         `json:"cniBin"` // the CNI plugins
	Plan   addresses.Plan `json:"plan"`
}

// Start starts the init process of a cluster in its own namespaces, joins its network to the machine's, and waits for
// its supervisor until the cluster is usable.
func Start(ctx context.Context, s *state.State, bin string, progress io.Writer) error {
	plan, err := reservePlan(ctx, s.Result.Dir)
	if err != nil {
		return err
	}
	setAddresses(&s.Result, plan)
	spec, err := json.Marshal(nodeSpec{Dir: s.Result.Dir, Bin: bin, CNIBin: host.Inspect().CNIBin, Plan: plan})
	if err != nil {
		return err
	}
	reports, reportsEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = reports.Close() }()
	networkReadyEnd, networkReady, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = networkReady.Close() }()

	node, err := process.Launch(s.Result.Dir, "node", func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{reportsEnd, networkReadyEnd} // reportsFD and networkReadyFD
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID
		// The cluster gets no other variables, in particular no proxy.
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "TMPDIR=/var/tmp"}
	}, selfProgram, initCommand, string(spec))
	// The child has these ends of the pipes.
	_, _ = reportsEnd.Close(), networkReadyEnd.Close()
	if err != nil {
		return err
	}
	s.Processes = append(s.Processes, node)
	if err := errors.Join(s.Save(), Indexes.SetOwner(plan.Index, s.Result.Dir, node.Identity)); err != nil {
		return err
	}
	if err := sandbox.JoinNetwork(ctx, plan, node.PID); err != nil {
		return err
	}
	if _, err := networkReady.Write([]byte{1}); err != nil {
		return errors.Join(fmt.Errorf("the node's supervisor does not respond: %w", err), node.StopWithError(process.StopGrace))
	}
	return follow(ctx, reports, node, progress)
}

func reservePlan(ctx context.Context, dir string) (addresses.Plan, error) {
	self, err := process.Identify(os.Getpid())
	if err != nil {
		return addresses.Plan{}, err
	}
	used, err := sandbox.UsedRanges()
	if err != nil {
		return addresses.Plan{}, err
	}
	return Indexes.Reserve(ctx, dir, self, used)
}

func setAddresses(r *state.Result, plan addresses.Plan) {
	r.Index = &plan.Index
	r.Server = newConfig(plan).Server()
	r.NodeName, r.StorageClass = nodeName, storageClass
	r.NodeAddress, r.HostAddress, r.DNS = plan.Node.String(), plan.Host.String(), plan.Node.String()
	r.ServiceRange, r.PodRange = plan.Services.String(), plan.Pods.String()
	r.Registry = plan.Registry()
}

// report is one line that the supervisor sends to the command that started it.
type report struct {
	Progress string `json:"progress,omitempty"`
	Error    string `json:"error,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
}

// follow passes on the supervisor's progress until it reports success or failure.
func follow(ctx context.Context, reports *os.File, node *process.Process, progress io.Writer) error {
	stop := context.AfterFunc(ctx, func() { _ = reports.Close() })
	defer stop()
	lines := bufio.NewScanner(reports)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("unexpected report of the node's supervisor: %w", err)
		}
		switch {
		case r.Ready:
			return nil
		case r.Error != "":
			return errors.New(r.Error)
		default:
			_, _ = fmt.Fprintln(progress, r.Progress)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("waiting for the node (logs in %s): %w", filepath.Dir(node.Log), err)
	}
	return node.StopWithError(process.StopGrace)
}
