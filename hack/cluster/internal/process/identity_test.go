// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process/processtest"
)

func TestIdentityOfThisProcess(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("this process counts as ended")
	}
	id.Start += "0"
	if id.Alive() {
		t.Error("a process with another start time counts as this one")
	}
	if (Identity{}).Alive() {
		t.Error("the empty identity counts as running")
	}
}

func TestStopKeepsAnotherProcessWithTheSamePID(t *testing.T) {
	cmd := processtest.Sleeper(t)
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	former := Identity{PID: id.PID, Start: id.Start + "0"}
	if err := former.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Fatal("stop ended another process with the same pid")
	}
	if err := id.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("stop returned before the process ended")
	}
}

func TestStopKillsProcessThatIgnoresSIGTERM(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" TERM; echo; while :; do sleep 1; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // the trap is set
		t.Fatal(err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Stop(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("the process still runs")
	}
}
