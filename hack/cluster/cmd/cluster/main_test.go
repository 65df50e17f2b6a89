// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestRunRejectsInvalidArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage: cluster COMMAND"},
		{[]string{"start"}, `unknown command "start"`},
		{[]string{"up", "--tier", "full"}, `unknown tier "full": use controlplane or node`},
		{[]string{"up", "extra"}, `unexpected number of arguments (1)`},
		{[]string{"load"}, "unexpected number of arguments (0)"},
		{[]string{"down", "--name", "../x"}, "use a plain name"},
		{[]string{"kubeconfig"}, "--serviceaccount NAMESPACE/NAME is required"},
	} {
		err := run(t.Context(), c.args, &bytes.Buffer{})
		var usageErr usageError
		if !errors.As(err, &usageErr) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v; want a usage error with %q", c.args, err, c.want)
		}
	}
}

func TestErrorsWithoutACluster(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"status", "--dir", dir},
		{"kubeconfig", "--dir", dir, "--serviceaccount", "default/a"},
		{"load", "--dir", dir, "image.tar"},
		{"push", "--dir", dir, "image.tar", "a:1"},
	} {
		err := run(t.Context(), args, &bytes.Buffer{})
		var usageErr usageError
		if err == nil || errors.As(err, &usageErr) || !strings.Contains(err.Error(), "cluster up --dir "+dir) {
			t.Errorf("%q: got %v; want an error that says how to start the cluster", args, err)
		}
	}
	if err := run(t.Context(), []string{"down", "--dir", dir}, &bytes.Buffer{}); err != nil {
		t.Errorf("down without a cluster: %v", err)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"help"}, &out); err != nil || out.String() != usage {
		t.Errorf("got %q, %v", out.String(), err)
	}
	for name := range commands {
		if !strings.Contains(usage, "\n  "+name+" ") {
			t.Errorf("the usage does not mention %s", name)
		}
	}
}
