// SPDX-License-Identifier: Apache-2.0

package server

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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// importTimeout bounds the import of a release on a busy machine.
const importTimeout = 10 * time.Minute

// forkServer is a process of boot.py that has imported a release and forks servers and scripts. All tests share it.
type forkServer struct {
	stdin io.Writer
	// folder has the standard error of the process, and the input and output of scripts.
	folder string
	// stop ends the process and its children.
	stop func()
	// preload is the duration of the import.
	preload time.Duration
	// ended is closed when the process has ended.
	ended chan struct{}

	mu sync.Mutex
	// forked has a channel for the end of each child, by name.
	forked map[string]chan forkEvent
	names  int
}

// forkEvent is a line of boot.py's output.
type forkEvent struct {
	Ready  bool   `json:"ready"`
	Ended  string `json:"ended"`
	Status int    `json:"status"`
	// CPU is the processor time of an ended child in seconds.
	CPU float64 `json:"cpu"`
}

type bootJob struct {
	Name   string            `json:"start"`
	Config string            `json:"config"`
	Dir    string            `json:"dir"`
	Env    map[string]string `json:"env"`
	// Hosts are the only host names that resolve, with their loopback addresses.
	Hosts map[string]string `json:"hosts"`
}

type scriptJob struct {
	Script string   `json:"script"`
	Name   string   `json:"name"`
	Args   []string `json:"args"`
	Dir    string   `json:"dir"`
}

// forkServers has a function for each release in use, by version, which starts its fork server once. TestMain stops
// them.
var forkServers sync.Map

func TestMain(m *testing.M) {
	code := m.Run()
	for _, start := range forkServers.Range {
		if n, err := start.(func() (*forkServer, error))(); err == nil {
			n.stop()
		}
	}
	os.Exit(code)
}

func forkServerOf(t *testing.T, r release) *forkServer {
	t.Helper()
	python := serverPython(t, r)
	start, _ := forkServers.LoadOrStore(r.version, sync.OnceValues(func() (*forkServer, error) { return startForkServer(r, python) }))
	n, err := start.(func() (*forkServer, error))()
	framework.NoError(t, err)
	return n
}

// stopForkServer stops the fork server of a release that only one test uses, because each takes about 300 MB.
func stopForkServer(r release) {
	if start, ok := forkServers.LoadAndDelete(r.version); ok {
		if n, err := start.(func() (*forkServer, error))(); err == nil {
			n.stop()
		}
	}
}

// startForkServer starts boot.py for a release and waits until the import is complete.
func startForkServer(r release, python string) (*forkServer, error) {
	begun := time.Now()
	folder, err := os.MkdirTemp("", "fork-server-")
	if err != nil {
		return nil, err
	}
	n := &forkServer{folder: folder, ended: make(chan struct{}), forked: map[string]chan forkEvent{}}
	stderr, err := os.Create(filepath.Join(folder, "stderr"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, python, "boot.py", starterBases+r.line+".yaml")
	command.Env, command.Stderr = pythonEnv(python), stderr
	stdin, inErr := command.StdinPipe()
	stdout, outErr := command.StdoutPipe()
	if err = errors.Join(inErr, outErr); err == nil {
		// At the end of its input, boot.py stops its children and then itself.
		command.Cancel, command.WaitDelay = stdin.Close, stopTimeout
		err = command.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	n.stdin, n.stop = stdin, func() {
		cancel()
		<-n.ended
		_ = command.Wait()
		_ = stderr.Close()
		_ = os.RemoveAll(folder)
	}
	ready := make(chan struct{})
	go n.read(stdout, ready)
	select {
	case <-ready:
		n.preload = time.Since(begun)
		return n, nil
	case <-n.ended:
		err = fmt.Errorf("boot.py ended by itself:\n%s", n.stderr())
	case <-time.After(importTimeout):
		err = fmt.Errorf("importing release %s takes longer than %s:\n%s", r.version, importTimeout, n.stderr())
	}
	n.stop()
	return nil, err
}

// read delivers the events of the process to the waiting tests.
func (n *forkServer) read(stdout io.Reader, ready chan<- struct{}) {
	defer close(n.ended)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var event forkEvent
		switch err := json.Unmarshal(lines.Bytes(), &event); {
		case err != nil:
		case event.Ready:
			close(ready)
		default:
			n.mu.Lock()
			waiting := n.forked[event.Ended]
			delete(n.forked, event.Ended)
			n.mu.Unlock()
			if waiting != nil {
				waiting <- event
			}
		}
	}
}

// register returns a new name for a child, and the channel that receives its end.
func (n *forkServer) register() (name string, ended <-chan forkEvent) {
	waiting := make(chan forkEvent, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names++
	name = strconv.Itoa(n.names)
	n.forked[name] = waiting
	return name, waiting
}

// run runs a script of this folder, and returns its output, exit status and standard error.
func (n *forkServer) run(t *testing.T, input []byte, script string, args ...string) (output []byte, status int, complaints []byte) {
	t.Helper()
	name, ended := n.register()
	job := scriptJob{Script: script, Name: name, Args: append([]string{}, args...), Dir: filepath.Join(n.folder, name)}
	file := func(name string) string { return filepath.Join(job.Dir, name) }
	framework.NoError(t, errors.Join(os.Mkdir(job.Dir, 0o700), os.WriteFile(file("stdin"), input, 0o600)))
	n.send(t, job)
	select {
	case event := <-ended:
		status = event.Status
	case <-n.ended:
		t.Fatalf("boot.py ended by itself:\n%s", n.stderr())
	case <-time.After(scriptTimeout):
		n.send(t, map[string]string{"stop": job.Name})
		t.Fatalf("%s takes longer than %s", script, scriptTimeout)
	}
	output, err := os.ReadFile(file("stdout"))
	complaints, errOfComplaints := os.ReadFile(file("stderr"))
	framework.NoError(t, errors.Join(err, errOfComplaints, os.RemoveAll(job.Dir)))
	return output, status, complaints
}

func (n *forkServer) stderr() []byte {
	complaints, _ := os.ReadFile(filepath.Join(n.folder, "stderr"))
	return complaints
}

func (n *forkServer) send(t *testing.T, command any) {
	t.Helper()
	line, err := json.Marshal(command)
	if err == nil {
		n.mu.Lock()
		_, err = n.stdin.Write(append(line, '\n'))
		n.mu.Unlock()
	}
	if err != nil {
		t.Fatalf("boot.py takes no commands: %v\n%s", err, n.stderr())
	}
}

type server struct {
	url string
	// took is the time from the fork to the first healthy answer.
	took time.Duration
	// cpu is the used processor time in seconds, known after stop.
	cpu float64
	// log returns the output so far.
	log func() string
	// stop ends the server once; the test's cleanup also calls it.
	stop func()
}

// boot starts a server and waits until it is healthy. The job's config and environment already contain the port.
func (n *forkServer) boot(t *testing.T, job bootJob, port int) *server {
	t.Helper()
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d", port), log: func() string {
		content, err := os.ReadFile(filepath.Join(job.Dir, "log"))
		if err != nil {
			t.Error(err)
		}
		return string(content)
	}}
	searchSecretsAtEnd(t, job.Dir)
	name, ended := n.register()
	job.Name = name
	begun, stopped := time.Now(), false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		n.send(t, map[string]string{"stop": job.Name})
		select {
		case event := <-ended:
			s.cpu = event.CPU
		case <-n.ended:
			t.Errorf("boot.py ended by itself:\n%s", n.stderr())
		case <-time.After(stopTimeout):
			t.Errorf("the server does not end within %s:\n%s", stopTimeout, tail(s.log()))
		}
	}
	t.Cleanup(s.stop)
	n.send(t, job)
	deadline, tick := time.After(bootTimeout), time.NewTicker(pollPause/4)
	defer tick.Stop()
	for !healthy(s.url) {
		select {
		case <-ended:
			stopped = true
			t.Fatalf("the server ended by itself:\n%s", tail(s.log()))
		case <-n.ended:
			stopped = true
			t.Fatalf("boot.py ended by itself:\n%s%s", tail(s.log()), n.stderr())
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the server is not healthy after %s:\n%s", bootTimeout, tail(s.log()))
		}
	}
	s.took = time.Since(begun)
	return s
}

// tail returns the last 60 lines of a log.
func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// get decodes a JSON answer, and returns its status.
func (s *server) get(t *testing.T, path string, into any) (status int) {
	t.Helper()
	return getBy(t, client, s.url+path, into)
}
