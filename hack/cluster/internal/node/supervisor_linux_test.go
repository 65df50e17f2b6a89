// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
)

func TestOutsideNamesTheMachinesPath(t *testing.T) {
	s := &supervisor{order: nodeOrder{Dir: "/tmp/c"}}
	got := s.outside("log " + sandbox.Root + "/log/etcd.log")
	if want := "log /tmp/c/log/etcd.log"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(got, sandbox.Root) {
		t.Error("the message names a path that the machine does not have")
	}
}
