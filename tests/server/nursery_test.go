// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// importTimeout bounds importing a release, on a machine that does many things at once.
const importTimeout = 10 * time.Minute

// nursery is one process of boot.py: a release of the server, imported once, that forks servers.
type nursery struct {
	release release
	stdin   io.WriteCloser
	events  chan nurseryEvent
	stderr  string
	// preload is how long importing the server took.
	preload time.Duration
}

// nurseryEvent is a line of boot.py's output.
type nurseryEvent struct {
	Ready   bool   `json:"ready"`
	Started string `json:"started"`
	Ended   string `json:"ended"`
	// CPU is what an ended server used, in seconds.
	CPU float64 `json:"cpu"`
}

// bootJob is one server to start.
type bootJob struct {
	Name   string            `json:"start"`
	Config string            `json:"config"`
	Dir    string            `json:"dir"`
	Env    map[string]string `json:"env"`
	// Hosts are names of hosts and the addresses of loopback that they resolve to; no other name resolves.
	Hosts map[string]string `json:"hosts"`
}

// startNursery imports a release of the server; its process ends with the test.
func startNursery(t *testing.T, r release) *nursery {
	t.Helper()
	begun := time.Now()
	n := &nursery{release: r, events: make(chan nurseryEvent, 64), stderr: filepath.Join(t.TempDir(), "stderr")}
	stderr, err := os.Create(n.stderr)
	if err != nil {
		t.Fatal(err)
	}
	python := serverPython(t, r)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, python, "boot.py", starterBases+r.line+".yaml")
	command.Env, command.Stderr = pythonEnv(python), stderr
	// Asked by the end of its input, it stops its servers and then itself.
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Cancel, command.WaitDelay = stdin.Close, stopTimeout
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	n.stdin = stdin
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(n.events)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var event nurseryEvent
			if json.Unmarshal(lines.Bytes(), &event) == nil {
				n.events <- event
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = command.Wait()
		_ = stderr.Close()
	})
	n.await(t, importTimeout, func(e nurseryEvent) bool { return e.Ready })
	n.preload = time.Since(begun)
	return n
}

// await returns the next event that is meant.
func (n *nursery) await(t *testing.T, patience time.Duration, meant func(nurseryEvent) bool) nurseryEvent {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case event, open := <-n.events:
			switch {
			case !open:
				t.Fatalf("boot.py ended by itself:\n%s", n.complaints())
			case meant(event):
				return event
			}
		case <-deadline:
			t.Fatalf("boot.py is silent for %s:\n%s", patience, n.complaints())
		}
	}
}

func (n *nursery) complaints() []byte {
	complaints, _ := os.ReadFile(n.stderr)
	return complaints
}

func (n *nursery) tell(t *testing.T, command any) {
	t.Helper()
	line, err := json.Marshal(command)
	if err == nil {
		_, err = n.stdin.Write(append(line, '\n'))
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
	begun, stopped := time.Now(), false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		n.tell(t, map[string]string{"stop": job.Name})
		s.cpu = n.await(t, stopTimeout, func(e nurseryEvent) bool { return e.Ended == job.Name }).CPU
	}
	searchWhenEnded(t, job.Dir)
	t.Cleanup(s.stop)
	n.tell(t, job)
	deadline, tick := time.After(bootTimeout), time.NewTicker(pollPause/4)
	defer tick.Stop()
	for !healthy(s.url) {
		select {
		case event, open := <-n.events:
			if !open || event.Ended == job.Name {
				stopped = true
				t.Fatalf("the server ended by itself:\n%s%s", tail(s.log()), n.complaints())
			}
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
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return response.StatusCode
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return response.StatusCode
}
