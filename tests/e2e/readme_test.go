// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// commandsOfCI are the commands of the README that .ci/run runs, because they start their own clusters.
var commandsOfCI = []string{"make demo", "make demo-down", "make test"}

// readmeCommandsWork runs the commands of the README in order, from the installation to the removal. It runs after all
// parts that need the operator, because it removes it.
//
// Proves: FR-075, NFR-004 (the documented commands work), L-19 (installing and removing leaves nothing stuck).
func readmeCommandsWork(t *testing.T) {
	ci := framework.ReadFile(t, filepath.Join(framework.Root(), ".ci", "run"))
	token := newKey()
	stack{"default", sampleName}.startModelServer(t, sampleServer, sampleModel, token)

	reader := &framework.Follower{T: t, Dir: framework.Root(), Env: append(os.Environ(),
		"KUBECONFIG="+cluster.Kubeconfig, "PATH="+filepath.Dir(cluster.Kubectl)+":"+os.Getenv("PATH"), "VLLM_API_TOKEN="+token)}
	ran := 0
	for _, b := range framework.CodeBlocks(t, filepath.Join(framework.Root(), "README.md")) {
		switch text := b.Text; {
		case b.Info == "yaml":
			readmeShowsTheSample(t, text)
		case b.Info != "sh":
		case isCommandOfCI(text):
			if !strings.Contains(string(ci), strings.TrimSpace(text)) {
				t.Errorf("README: nothing runs %q", strings.TrimSpace(text))
			}
		default:
			readerSees(t, text, reader.Run(text))
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("only %d blocks of commands were found in the README", ran)
	}
	did(t, "%d blocks of commands do what they say", ran)

	framework.Eventually(t, soon, "nothing of the operator is left", func() error {
		out, err := cluster.KubectlRun(t.Context(), "get", "crd,clusterrole,clusterrolebinding,namespace", "-o", "name")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, "llamastack") || strings.Contains(line, "llama-stack") {
				return fmt.Errorf("left: %s", line)
			}
		}
		return nil
	})
	did(t, "nothing of the operator is left")
}

func isCommandOfCI(text string) bool {
	for _, command := range commandsOfCI {
		if strings.TrimSpace(text) == command {
			return true
		}
	}
	return false
}

// readerSees checks the output of the commands whose output the README describes.
func readerSees(t *testing.T, commands, out string) {
	t.Helper()
	for command, want := range map[string]string{
		"kubectl wait":          "condition met",
		"llsd my-stack -o wide": "my-stack-config-",
		"kubectl describe":      "The spec is applied",
		"kubectl get configma":  "base_url: http://vllm:8000/v1",
		"rollout status":        "successfully rolled out",
		"delete llsd":           `"my-stack" deleted`,
	} {
		if strings.Contains(commands, command) && !strings.Contains(out, want) {
			t.Errorf("README: %s\nprints:\n%s\nwant it to show %q", commands, out, want)
		}
	}
}

// readmeShowsTheSample checks that the resource in the README is the sample, except for the container's resource
// requirements.
func readmeShowsTheSample(t *testing.T, text string) {
	t.Helper()
	sample := framework.ReadFile(t, samplePath())
	var shown, shipped map[string]any
	for raw, into := range map[string]*map[string]any{text: &shown, string(sample): &shipped} {
		framework.NoError(t, yaml.Unmarshal([]byte(raw), into))
	}
	delete(shipped["spec"].(map[string]any), "workload")
	if diff := cmp.Diff(shipped, shown); diff != "" {
		t.Errorf("README shows another resource than the sample (-sample +README):\n%s", diff)
	}
}
