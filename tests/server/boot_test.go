// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// bootTimeout bounds the server's start, on a slow and busy machine.
	bootTimeout = 3 * time.Minute
	// stopTimeout bounds the server's shutdown after SIGTERM.
	stopTimeout = time.Minute
	pollPause   = 200 * time.Millisecond
)

// The configuration is the operator's copy of a v1alpha1 userConfig with workers.
//
// Proves: L-09, US-1.2, R15, R22.
func TestLightBaseBootsAndReachesTheModelServer(t *testing.T) {
	const workers = 2
	key := canaries.New()
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"m1"}, Key: key})
	framework.NoError(t, err)
	backend := httptest.NewServer(double)
	t.Cleanup(backend.Close)
	url, log := boot(t, withWorkers(t, lightBase, workers), "VLLM_URL="+backend.URL+"/v1", "VLLM_API_TOKEN="+key)
	framework.Eventually(t, bootTimeout, "each worker has started", func() error {
		if started := strings.Count(log(), "Started server process"); started < workers {
			return fmt.Errorf("%d processes, want %d: %s", started, workers, tail(log()))
		}
		return nil
	})

	body := `{"model":"vllm/m1","messages":[{"role":"user","content":"ping"}]}`
	status, answer := post(t, url+"/v1/chat/completions", body)
	var completion struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(answer, &completion); err != nil {
		t.Fatalf("status %d: %v: %s", status, err, answer)
	}
	want := modelserverdouble.Answer("m1", "ping")
	if len(completion.Choices) != 1 || completion.Choices[0].Message.Content != want {
		t.Errorf("status %d, want %q, got %s", status, want, answer)
	}
	arrived := false
	for _, request := range double.Requests() {
		arrived = arrived || request.Path == "/v1/chat/completions" && request.Model == "m1" && request.KeyMatched
	}
	if !arrived {
		t.Errorf("no chat completion arrived with the key: %+v", double.Requests())
	}
	if strings.Contains(log(), key) {
		t.Error("the server's log contains the key")
	}
}

// boot starts the image's release on loopback until the test ends, and waits until it is healthy. It returns the
// server's address and a function that returns its log so far.
func boot(t *testing.T, config string, env ...string) (url string, log func() string) {
	t.Helper()
	dir := t.TempDir()
	return bootAt(t, "http://127.0.0.1", client, imageRelease(t), onLoopback(t, config, dir), append(env, "PATH="+os.Getenv("PATH"), "HOME="+dir)...)
}

// bootRelease boots a release with a config that listens on loopback, in exactly this environment.
func bootRelease(t *testing.T, r release, config string, env ...string) (url string, log func() string) {
	t.Helper()
	dir, port := t.TempDir(), framework.FreePort(t, framework.Loopback)
	searchSecretsAtEnd(t, dir, filepath.Dir(config))
	job := bootJob{Config: config, Dir: dir, Env: map[string]string{"TMPDIR": dir}, Hosts: map[string]string{}}
	for _, variable := range append(env, fmt.Sprintf("%s=%d", lineOf(t, r).PortEnv, port)) {
		name, value, _ := strings.Cut(variable, "=")
		job.Env[name] = value
	}
	s := forkServerOf(t, r).boot(t, job, port)
	return s.url, s.log
}

// bootAt starts a release by its command line, as an image does. The client reaches it at host, which includes the
// scheme.
func bootAt(t *testing.T, host string, by *http.Client, r release, config string, env ...string) (url string, log func() string) {
	t.Helper()
	dir, port := t.TempDir(), framework.FreePort(t, framework.Loopback)
	logFile, err := os.Create(filepath.Join(dir, "log"))
	framework.NoError(t, err)
	t.Cleanup(func() { _ = logFile.Close() })
	searchSecretsAtEnd(t, dir, filepath.Dir(config))
	log = func() string {
		content, err := os.ReadFile(logFile.Name())
		if err != nil {
			t.Error(err)
		}
		return string(content)
	}

	ctx, cancel := context.WithCancel(context.Background())
	line := lineOf(t, r)
	cli := map[string]string{"llama-stack": "llama_stack.cli.llama", "ogx": "ogx.cli.ogx"}[line.Package]
	server := exec.CommandContext(ctx, serverPython(t, r), "-m", cli, "stack", "run", config)
	server.Dir, server.Stdout, server.Stderr = dir, logFile, logFile
	server.Env = append(env, "TMPDIR="+dir, fmt.Sprintf("%s=%d", line.PortEnv, port))
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = stopTimeout
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a group, so that its workers end with it
	framework.NoError(t, server.Start())
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL) // the remaining processes of the group
	})

	url = fmt.Sprintf("%s:%d", host, port)
	deadline, tick := time.After(bootTimeout), time.Tick(pollPause)
	for !healthyBy(by, url) {
		select {
		case <-tick:
		case <-ended:
			t.Fatalf("the server ended by itself:\n%s", log())
		case <-deadline:
			t.Fatalf("the server is not healthy after %s:\n%s", bootTimeout, log())
		}
	}
	return url, log
}

// onLoopback writes a copy of a config that listens on loopback only.
func onLoopback(t *testing.T, config, dir string) string {
	t.Helper()
	content := framework.ReadFile(t, config)
	before, after, found := bytes.Cut(content, []byte("server:\n"))
	if !found {
		t.Fatalf("%s has no section server", config)
	}
	file := filepath.Join(dir, "config.yaml")
	local := bytes.Join([][]byte{before, after}, []byte("server:\n  host: 127.0.0.1\n"))
	framework.WriteFile(t, file, local)
	return file
}

// client opens a connection for each request, because the server may close an idle one at any time.
var client = &http.Client{Timeout: 3 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

func healthy(url string) bool { return healthyBy(client, url) }

func healthyBy(by *http.Client, url string) bool {
	status, _, err := framework.Send(context.Background(), by, http.MethodGet, url+"/v1/health", "")
	return err == nil && status == http.StatusOK
}

func post(t *testing.T, url, body string) (int, []byte) {
	t.Helper()
	return postBy(t, client, url, body)
}

func postBy(t *testing.T, by *http.Client, url, body string) (int, []byte) {
	t.Helper()
	status, answer, err := framework.Send(t.Context(), by, http.MethodPost, url, body)
	framework.NoError(t, err)
	return status, answer
}
