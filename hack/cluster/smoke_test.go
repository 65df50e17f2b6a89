// SPDX-License-Identifier: Apache-2.0

//go:build smoke && linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/node"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// TestMain lets this test program be the processes of a node.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if internal, ok := node.Commands[os.Args[1]]; ok {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			if err := internal(ctx, os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// smoke is a cluster of a test.
type smoke struct {
	*testing.T
	Options
	result *state.Result
}

func startSmoke(t *testing.T, tier state.Tier) *smoke {
	t.Helper()
	s := &smoke{T: t, Options: Options{Tier: tier, Name: t.Name(), Dir: filepath.Join(t.TempDir(), "c"), Timeout: 3 * time.Minute, Progress: t.Output()}}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), s.Dir, t.Output()); err != nil {
			t.Error(err)
		}
	})
	s.up(true)
	return s
}

func (s *smoke) up(started bool) {
	s.Helper()
	begin := time.Now()
	result, err := Up(s.Context(), s.Options)
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("up after %.1f s", time.Since(begin).Seconds())
	if result.Started != started {
		s.Errorf("started: %v, want %v", result.Started, started)
	}
	s.result = result
}

// kubectl runs kubectl as an administrator, or with another kubeconfig.
func (s *smoke) kubectl(args ...string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.result.Kubectl, append([]string{"--kubeconfig", s.result.Kubeconfig}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// expect polls kubectl until its output contains text.
func (s *smoke) expect(text string, args ...string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	err := process.Until(ctx, text, nil, func(context.Context) error {
		out, err := s.kubectl(args...)
		if err != nil || !strings.Contains(out, text) {
			return fmt.Errorf("kubectl %q: %q, %v", args, out, err)
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// killAll ends the cluster's processes without any warning and waits until they
// are gone; until then the cluster still answers.
func (s *smoke) killAll() {
	s.Helper()
	st, err := state.Load(s.Dir)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range st.Processes {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			s.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		err := process.Until(ctx, "the end of "+p.Name, nil, func(context.Context) error {
			if p.Alive() {
				return errors.New("it runs")
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
	}
}

func TestSmokeControlPlane(t *testing.T) {
	s := startSmoke(t, state.ControlPlane)
	other := startSmoke(t, state.ControlPlane)
	if s.result.Server == other.result.Server {
		t.Fatalf("two clusters share %s", s.result.Server)
	}
	s.expect("created", "create", "deployment", "d", "--image=none")
	s.expect("Pending", "get", "pods")
	s.expect("created", "create", "serviceaccount", "reader")
	s.expect("created", "create", "rolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader")

	data, err := ServiceAccountKubeconfig(t.Context(), s.Dir, "default/reader", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "reader")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect("Pending", "--kubeconfig", file, "get", "pods")
	if out, err := s.kubectl("--kubeconfig", file, "get", "secrets"); err == nil || !strings.Contains(out, "Forbidden") {
		t.Errorf("secrets as a reader: %q, %v; want Forbidden", out, err)
	}

	s.up(false)
	s.killAll()
	s.up(true)
	s.expect("No resources found", "get", "pods")
}

func TestSmokeNode(t *testing.T) {
	s := startSmoke(t, state.Node)
	archive := s.helloImage()
	if err := Load(t.Context(), s.Dir, []string{archive}, t.Output()); err != nil {
		t.Fatal(err)
	}
	s.runsHello()
	s.hasItsShare()

	ref, err := Push(t.Context(), s.Dir, archive, "team/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	s.expect("created", "run", "pulled", "--image="+ref)
	s.expect("Running", "get", "pod", "pulled")

	s.killAll() // with all pods
	s.up(true)
	s.expect("No resources found", "get", "pods")
	if err := Load(t.Context(), s.Dir, []string{archive}, t.Output()); err != nil {
		t.Fatal(err)
	}
	s.runsHello()
	s.leavesNothing()
}

// helloImage packs the test's program as an image archive.
func (s *smoke) helloImage() string {
	s.Helper()
	dir := s.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "hello"), "./testdata/hello")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	archive := filepath.Join(dir, "hello.tar")
	if err := imagefile.WriteProgram(archive, "localhost/hello:1", filepath.Join(dir, "hello")); err != nil {
		s.Fatal(err)
	}
	return archive
}

// runsHello deploys the test's program and uses it in every way that people do.
func (s *smoke) runsHello() {
	s.Helper()
	s.expect("created", "apply", "-f", "testdata/hello.yaml")
	s.expect("successfully rolled out", "--namespace=smoke", "rollout", "status", "deployment/hello", "--timeout=60s")
	s.expect("Bound", "--namespace=smoke", "get", "pvc", "data")
	s.expect("listening", "--namespace=smoke", "logs", "deployment/hello")
	s.expect("hello", "--namespace=smoke", "exec", "deployment/hello", "--", "/hello", "get", "http://hello.smoke.svc.cluster.local/")
	if out, err := s.kubectl("--namespace=smoke", "exec", "deployment/hello", "--", "/hello", "get", "http://192.0.2.1/"); err == nil || !strings.Contains(out, "no route to host") {
		s.Errorf("a pod's way out: %q, %v; want no route", out, err)
	}
	if out, err := s.kubectl("--namespace=smoke", "run", "root", "--image=localhost/hello:1"); err == nil || !strings.Contains(out, "violates PodSecurity") {
		s.Errorf("a pod beyond its namespace's security level: %q, %v; want a refusal", out, err)
	}
	address, err := s.kubectl("--namespace=smoke", "get", "service", "hello", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		s.Fatal(address, err)
	}
	if err := apiclient.AnswersOK(s.Context(), "http://"+address+"/"); err != nil {
		s.Errorf("the Service from the machine: %v", err)
	}
	s.removesVolumes()
}

// removesVolumes ends what uses the volume and the PVC: the volume and its data go, too.
func (s *smoke) removesVolumes() {
	s.Helper()
	volume, err := s.kubectl("--namespace=smoke", "get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")
	if err != nil {
		s.Fatal(volume, err)
	}
	data := filepath.Join(s.Dir, "volumes", volume)
	if _, err := os.Stat(data); err != nil {
		s.Error(err)
	}
	s.expect("deleted", "--namespace=smoke", "delete", "deployment/hello", "pvc/data")
	s.expect("", "wait", "--for=delete", "--timeout=60s", "pv/"+volume)
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("the data of %s is left: %v", volume, err)
	}
}

// hasItsShare makes sure that the cluster gets processor time beside much other work, for its own programs as for its pods.
func (s *smoke) hasItsShare() {
	s.Helper()
	plan, err := addresses.NewPlan(*s.result.Index)
	if err != nil {
		s.Fatal(err)
	}
	group := "/sys/fs/cgroup/" + plan.Link
	weight, err := os.ReadFile(group + "/cpu.weight")
	if errors.Is(err, os.ErrNotExist) { // version 1
		group = "/sys/fs/cgroup/cpu/" + plan.Link
		weight, err = os.ReadFile(group + "/cpu.shares")
	}
	if got := strings.TrimSpace(string(weight)); err != nil || got != "800" && got != "8192" {
		s.Errorf("the cluster's weight beside what else wants a processor: %q, %v; want eight times that of a process", got, err)
	}
	own, err := os.ReadFile(group + "/system/cgroup.procs")
	if programs := strings.Fields(string(own)); err != nil || len(programs) < 5 { // containerd, etcd, and at least three of Kubernetes
		s.Errorf("the cluster's own programs in its control group: %q, %v", programs, err)
	}
}

// leavesNothing ends the cluster and looks for what it left on the machine.
func (s *smoke) leavesNothing() {
	s.Helper()
	plan, err := addresses.NewPlan(*s.result.Index)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := Down(s.Context(), s.Dir, s.Output()); err != nil {
		s.Fatal(err)
	}
	routes, err := exec.Command("ip", "route").CombinedOutput()
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range plan.Ranges() {
		if strings.Contains(string(routes), r.String()) {
			s.Errorf("a route for %s is left:\n%s", r, routes)
		}
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		s.Fatal(err)
	}
	if strings.Contains(string(mounts), s.Dir) {
		s.Errorf("mounts are left:\n%s", mounts)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/" + plan.Link, "/sys/fs/cgroup/" + plan.Link, "/sys/class/net/" + plan.Link, node.Indexes.File(plan.Index)} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			s.Errorf("left: %v", left)
		}
	}
}
