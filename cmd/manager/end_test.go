// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// asManager is the environment variable that makes the test binary run the operator.
const asManager = "LLSD_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// gracePeriod is the termination grace period of the operator's pods.
const gracePeriod = 30 * time.Second

// Proves: R71 (the operator stops within the grace period even if a request to the API server hangs).
func TestOperatorEndsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Listener){
		"refuses":       func(l net.Listener) { _ = l.Close() },
		"accepts":       func(net.Listener) {}, // the kernel accepts, but no response follows
		"says nonsense": func(l net.Listener) { answerAll(l, "hello\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			framework.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			serve(listener)
			p := startManager(t, "http://"+listener.Addr().String())
			framework.Eventually(t, time.Minute, "the manager asks the API server", func() error {
				if !strings.Contains(p.log(), "operator starts") {
					return errors.New(p.log())
				}
				return nil
			})
			began := time.Now()
			framework.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-p.ended:
				t.Logf("ended after %s", time.Since(began).Round(time.Millisecond))
			case <-time.After(gracePeriod):
				t.Errorf("it has not ended after %s; its goroutines:\n%s", gracePeriod, p.stacks())
			}
		})
	}
}

// answerAll sends the same text on each connection.
func answerAll(l net.Listener, text string) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
		}
	}()
}

// managerProcess is a test binary that runs the operator.
type managerProcess struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (p *managerProcess) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

func (p *managerProcess) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// stacks ends the process and returns its log with the goroutine stacks.
func (p *managerProcess) stacks() string {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	<-p.ended
	return p.log()
}

func startManager(t *testing.T, server string) *managerProcess {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	framework.NoError(t, clientcmd.WriteToFile(*config, file))
	p := &managerProcess{ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "--leader-elect", "--operator-namespace=operator",
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--webhook-bind-address=127.0.0.1:0")
	p.cmd.Env = append(os.Environ(), asManager+"=1", "KUBECONFIG="+file)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	framework.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}
