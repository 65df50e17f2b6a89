// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// importTimeout bounds importing a release, on a machine that does many things at once.
const importTimeout = 10 * time.Minute

// nursery is one process of boot.py: a release of the server, imported once, that forks servers and scripts. All tests share it.
type nursery struct {
	stdin io.Writer
	// folder has its own complaints, and the input and output of scripts.
	folder string
	// end ends the process and what it forked, and waits for that.
	end func()
	// preload is how long importing the server took.
	preload time.Duration
	// gone is closed when the process has ended.
	gone chan struct{}

	mu sync.Mutex
	// forked are those who wait for the end of what was forked, by name.
	forked map[string]chan nurseryEvent
	// names counts the names that were given.
	names int
}

// nurseryEvent is a line of boot.py's output.
type nurseryEvent struct {
	Ready  bool   `json:"ready"`
	Ended  string `json:"ended"`
	Status int    `json:"status"`
	// CPU is what an ended server or script used, in seconds.
	CPU float64 `json:"cpu"`
}

// bootJob is one server to start. The nursery names it.
type bootJob struct {
	Name   string            `json:"start"`
	Config string            `json:"config"`
	Dir    string            `json:"dir"`
	Env    map[string]string `json:"env"`
	// Hosts are names of hosts and the addresses of loopback that they resolve to; no other name resolves.
	Hosts map[string]string `json:"hosts"`
}

// scriptJob is one script to run. The nursery names it, and gives it a folder.
type scriptJob struct {
	Script string   `json:"script"`
	Name   string   `json:"name"`
	Args   []string `json:"args"`
	Dir    string   `json:"dir"`
}

// nurseries are those of the releases that tests have used, by version, each a function that starts it once; they end with the tests.
var nurseries sync.Map

func TestMain(m *testing.M) {
	code := m.Run()
	for _, start := range nurseries.Range {
		if n, err := start.(func() (*nursery, error))(); err == nil {
			n.end()
		}
	}
	os.Exit(code)
}

// nurseryOf is the nursery of a release.
func nurseryOf(t *testing.T, r release) *nursery {
	t.Helper()
	python := serverPython(t, r)
	start, _ := nurseries.LoadOrStore(r.version, sync.OnceValues(func() (*nursery, error) { return startNursery(r, python) }))
	n, err := start.(func() (*nursery, error))()
	framework.NoError(t, err)
	return n
}

// endNursery ends the nursery of a release that no other test uses: each takes some 300 MB.
func endNursery(r release) {
	if start, ok := nurseries.LoadAndDelete(r.version); ok {
		if n, err := start.(func() (*nursery, error))(); err == nil {
			n.end()
		}
	}
}

// startNursery imports a release of the server.
func startNursery(r release, python string) (*nursery, error) {
	begun := time.Now()
	folder, err := os.MkdirTemp("", "nursery-")
	if err != nil {
		return nil, err
	}
	n := &nursery{folder: folder, gone: make(chan struct{}), forked: map[string]chan nurseryEvent{}}
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
		// Asked by the end of its input, also where the tests end before their time, it stops what it forked and then itself.
		command.Cancel, command.WaitDelay = stdin.Close, stopTimeout
		err = command.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	n.stdin, n.end = stdin, func() {
		cancel()
		<-n.gone
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
	case <-n.gone:
		err = fmt.Errorf("boot.py ended by itself:\n%s", n.complaints())
	case <-time.After(importTimeout):
		err = fmt.Errorf("importing release %s takes longer than %s:\n%s", r.version, importTimeout, n.complaints())
	}
	n.end()
	return nil, err
}

// read gives what the process says to those who wait for it.
func (n *nursery) read(stdout io.Reader, ready chan<- struct{}) {
	defer close(n.gone)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var event nurseryEvent
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

// expect gives something to fork a name of its own; its end arrives once.
func (n *nursery) expect() (name string, ended <-chan nurseryEvent) {
	waiting := make(chan nurseryEvent, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names++
	name = strconv.Itoa(n.names)
	n.forked[name] = waiting
	return name, waiting
}

// run runs a script of this folder in the nursery, and returns its output and its exit status.
func (n *nursery) run(t *testing.T, input []byte, script string, args ...string) (output []byte, status int, complaints []byte) {
	t.Helper()
	name, ended := n.expect()
	job := scriptJob{Script: script, Name: name, Args: append([]string{}, args...), Dir: filepath.Join(n.folder, name)}
	file := func(name string) string { return filepath.Join(job.Dir, name) }
	framework.NoError(t, errors.Join(os.Mkdir(job.Dir, 0o700), os.WriteFile(file("stdin"), input, 0o600)))
	n.tell(t, job)
	select {
	case event := <-ended:
		status = event.Status
	case <-n.gone:
		t.Fatalf("boot.py ended by itself:\n%s", n.complaints())
	case <-time.After(scriptTimeout):
		n.tell(t, map[string]string{"stop": job.Name})
		t.Fatalf("%s takes longer than %s", script, scriptTimeout)
	}
	output, err := os.ReadFile(file("stdout"))
	complaints, errOfComplaints := os.ReadFile(file("stderr"))
	framework.NoError(t, errors.Join(err, errOfComplaints, os.RemoveAll(job.Dir)))
	return output, status, complaints
}

func (n *nursery) complaints() []byte {
	complaints, _ := os.ReadFile(filepath.Join(n.folder, "stderr"))
	return complaints
}

func (n *nursery) tell(t *testing.T, command any) {
	t.Helper()
	line, err := json.Marshal(command)
	if err == nil {
		n.mu.Lock()
		_, err = n.stdin.Write(append(line, '\n'))
		n.mu.Unlock()
	}
	if err != nil {
		t.Fatalf("boot.py takes no commands: %v\n%s", err, n.complaints())
	}
}

// server is a booted server.
type server struct {
	url string
	// took is the time from the fork to the first healthy answer.
	took time.Duration
	// cpu is how much of a processor it used, in seconds, known after stop.
	cpu float64
	// log returns what it wrote so far.
	log func() string
	// stop ends it, once; the end of the test does so too.
	stop func()
}

// boot starts a server and waits until it is healthy. Config and env have been written for the port.
func (n *nursery) boot(t *testing.T, job bootJob, port int) *server {
	t.Helper()
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d", port), log: func() string {
		content, err := os.ReadFile(filepath.Join(job.Dir, "log"))
		if err != nil {
			t.Error(err)
		}
		return string(content)
	}}
	searchWhenEnded(t, job.Dir)
	name, ended := n.expect()
	job.Name = name
	begun, stopped := time.Now(), false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		n.tell(t, map[string]string{"stop": job.Name})
		select {
		case event := <-ended:
			s.cpu = event.CPU
		case <-n.gone:
			t.Errorf("boot.py ended by itself:\n%s", n.complaints())
		case <-time.After(stopTimeout):
			t.Errorf("the server does not end within %s:\n%s", stopTimeout, tail(s.log()))
		}
	}
	t.Cleanup(s.stop)
	n.tell(t, job)
	deadline, tick := time.After(bootTimeout), time.NewTicker(pollPause/4)
	defer tick.Stop()
	for !healthy(s.url) {
		select {
		case <-ended:
			stopped = true
			t.Fatalf("the server ended by itself:\n%s", tail(s.log()))
		case <-n.gone:
			stopped = true
			t.Fatalf("boot.py ended by itself:\n%s%s", tail(s.log()), n.complaints())
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the server is not healthy after %s:\n%s", bootTimeout, tail(s.log()))
		}
	}
	s.took = time.Since(begun)
	return s
}

// tail is the end of a log, where the reason stands.
func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// get reads a JSON answer; the status reports what else came.
func (s *server) get(t *testing.T, path string, into any) (status int) {
	t.Helper()
	response, err := client.Get(s.url + path)
	framework.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return response.StatusCode
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return response.StatusCode
}
