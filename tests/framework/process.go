// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// ProcessOptions describe how to run the operator's program.
type ProcessOptions struct {
	// Binary is the program. By default, the environment variable LLSD_OPERATOR names it.
	Binary string
	// Wrapper is a command that runs the program by exec.
	Wrapper    []string
	Kubeconfig string
	// Args and Env are added to the addresses and to Kubeconfig. Without Inherit, the program has no other environment.
	Args, Env []string
	Inherit   bool
	// Health, Webhook and Metrics are addresses. By default, the first two are free ones, and the program chooses the
	// third one.
	Health, Webhook, Metrics string
	// Log is the file to which the output is appended; by default a temporary one.
	Log string
	// Canaries must not be in the output.
	Canaries *Canaries
}

// ContainerOptions returns the arguments and the environment of the operator's container, without addresses. podName is
// the name of its pod.
func ContainerOptions(c *corev1.Container, podName string) (o ProcessOptions) {
	for _, arg := range c.Args {
		if !strings.HasPrefix(arg, "--health-probe-bind-address=") && !strings.HasPrefix(arg, "--webhook-bind-address=") {
			o.Args = append(o.Args, arg)
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			v.Value = map[string]string{"metadata.namespace": OperatorNamespace, "metadata.name": podName}[v.ValueFrom.FieldRef.FieldPath]
		}
		o.Env = append(o.Env, v.Name+"="+v.Value)
	}
	return o
}

// Process is the operator's program. It ends with the test.
type Process struct {
	Health, Webhook, Metrics string
	// Log is the file with the output.
	Log   string
	Began time.Time
	// Ended is closed when the process has ended.
	Ended chan struct{}

	cmd *exec.Cmd
	err error
}

// StartProcess starts the operator's program.
func StartProcess(t testing.TB, o ProcessOptions) *Process {
	t.Helper()
	binary := cmp.Or(o.Binary, os.Getenv("LLSD_OPERATOR"))
	if binary == "" {
		t.Fatal("LLSD_OPERATOR does not name the operator's program: let make run these tests")
	}
	p := &Process{Health: o.Health, Webhook: o.Webhook, Metrics: o.Metrics, Log: o.Log, Ended: make(chan struct{})}
	for _, address := range []*string{&p.Health, &p.Webhook} {
		if *address == "" {
			*address = FreeAddress(t)
		}
	}
	if p.Log == "" {
		p.Log = filepath.Join(t.TempDir(), "operator.log")
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	NoError(t, err)
	defer func() { _ = log.Close() }()
	command := append(slices.Clone(o.Wrapper), binary, "--health-probe-bind-address="+p.Health, "--webhook-bind-address="+p.Webhook)
	if p.Metrics != "" {
		command = append(command, "--metrics-bind-address="+p.Metrics)
	}
	command = append(command, o.Args...)
	p.cmd = exec.CommandContext(context.Background(), command[0], command[1:]...)
	if o.Inherit {
		p.cmd.Env = os.Environ()
	}
	p.cmd.Env = append(append(p.cmd.Env, o.Env...), "KUBECONFIG="+o.Kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, endsWithParent()
	p.Began = time.Now()
	NoError(t, p.cmd.Start())
	go func() {
		defer close(p.Ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if o.Canaries != nil {
			for _, found := range o.Canaries.Find(p.Text()) {
				t.Errorf("the operator printed %s", found)
			}
		}
		if t.Failed() {
			t.Logf("the operator printed last:\n%s", p.Tail())
		}
	})
	return p
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Text returns the output so far.
func (p *Process) Text() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail returns the end of the output, or the beginning of a panic.
func (p *Process) Tail() string {
	const length = 20_000
	text := p.Text()
	if at := panicked.FindStringIndex(text); at != nil {
		return text[at[0]:min(len(text), at[0]+length)]
	}
	return text[max(0, len(text)-length):]
}

var panicked = regexp.MustCompile(`(?m)^(panic|fatal error|runtime): `)

// Alive returns a Terminal error if the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.Ended:
		lines := strings.Split(strings.TrimSpace(p.Text()), "\n")
		return Terminal(fmt.Errorf("the operator ended, %s, and printed last: %s", p.cmd.ProcessState, lines[len(lines)-1]))
	default:
		return nil
	}
}

// Ready returns an error if the readiness probe fails, and a Terminal error if the process has ended.
func (p *Process) Ready() error { return p.probe("/readyz?verbose") }

// Live returns an error if the liveness probe fails, and a Terminal error if the process has ended.
func (p *Process) Live() error { return p.probe("/healthz") }

func (p *Process) probe(path string) error {
	if err := p.Alive(); err != nil {
		return err
	}
	return Probe("http://" + p.Health + path)
}

// WaitReady waits until the process is ready.
func (p *Process) WaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, 3*time.Minute, "the operator is ready", p.Ready)
}

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.Ended
}

// Terminate ends the process with SIGTERM, as a kubelet does, and reports an error if it does not succeed within a
// minute.
func (p *Process) Terminate(t testing.TB) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
		if p.err != nil {
			t.Errorf("the operator ended with %v", p.err)
		}
	case <-time.After(time.Minute):
		t.Error("the operator does not end")
	}
}

// GoBuild builds a program of this module into the file or directory, without symbols, so that linking is faster.
// variables are NAME=VALUE for the linker.
func GoBuild(ctx context.Context, output, program string, variables ...string) error {
	flags := []string{"-s", "-w"}
	for _, v := range variables {
		flags = append(flags, "-X", v)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", output, "-ldflags", strings.Join(flags, " "), program)
	build.Dir = Root()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// OperatorKubeconfig returns a new kubeconfig with the operator's own permissions.
func (c *Cluster) OperatorKubeconfig() (file string, err error) {
	_, err = c.ServiceAccountConfig(OperatorNamespace, OperatorName)
	return c.kubeconfigOf(OperatorNamespace, OperatorName), err
}

// KubeconfigVia returns a copy of a kubeconfig that reaches the API server through another address, and the API
// server's own address. With a ca, the address has a certificate of this CA for localhost.
func KubeconfigVia(t testing.TB, kubeconfig, address string, ca []byte) (file, apiServer string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	NoError(t, err)
	for _, c := range config.Clusters {
		apiServer = strings.TrimPrefix(c.Server, "https://")
		host, _, err := net.SplitHostPort(apiServer)
		NoError(t, err)
		c.Server, c.TLSServerName = "https://"+address, host
		if ca != nil {
			c.CertificateAuthority, c.CertificateAuthorityData, c.TLSServerName = "", ca, "localhost"
		}
	}
	file = filepath.Join(t.TempDir(), "kubeconfig")
	NoError(t, clientcmd.WriteToFile(*config, file))
	return file, apiServer
}
