// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// demoHereRuns follows docs/demo-here.md: it runs "make demo-here" and "make demo-here-down" with the kubeconfig of an
// existing cluster whose nodes have the images.
//
// Proves: NFR-004, R81.
func demoHereRuns(t *testing.T) {
	demo := func(target string, more ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "make", "--no-print-directory", target)
		cmd.Dir, cmd.WaitDelay = framework.Root(), 10*time.Second
		cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+filepath.Dir(cluster.Kubectl)+":"+os.Getenv("PATH"),
			"MODEL_SERVER_IMG="+modelServerImage, "SERVER_IMG="+pinned.ref)
		cmd.Env = append(cmd.Env, more...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { // cleans up for the next parts if the demo fails
		if out, err := cluster.KubectlRun(context.Background(), "delete", "namespace", "llama-stack-demo", "--ignore-not-found", "--timeout=120s"); err != nil {
			t.Error(err, out)
		}
	})
	out := demo("demo-here")
	for _, want := range []string{
		"server         " + pinned.ref, modelserverdouble.Answer(sampleModel, "Hello from the demo."), "sed 's/name: starter/name: llama-stack-demo/' hack/demo/own-stack.yaml",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	const model = "qwen3-4b"
	out = demo("demo-here", "MODEL_URL=http://open-models.llama-stack-demo:8000", "MODEL="+model)
	if want := modelserverdouble.Answer(model, "Hello from the demo."); !strings.Contains(out, want) {
		t.Errorf("with the address of a model server, it does not print %q:\n%s", want, out)
	}
	demo("demo-here-down")
	if left, err := cluster.KubectlRun(t.Context(), "get", "namespace", "llama-stack-demo", "--ignore-not-found", "-o", "name"); err != nil || left != "" {
		t.Errorf("left is %q, %v", left, err)
	}
	did(t, "make demo-here ends with an answer, and make demo-here-down removes all but the operator")
}
