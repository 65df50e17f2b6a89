// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

const stack = `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: my-stack, namespace: ai}
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, endpoint: "http://vllm:8000", apiKey: {name: vllm-creds, key: token}}
  resources:
    models: [llama3.2-8b]
  workload:
    overrides:
      env: [{name: SOME_TOKEN, value: canary-4711}]
`

// edited returns the stack after the replacements, given as pairs of old and new.
func edited(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(stack)
}

func TestDiff(t *testing.T) {
	pvc := edited("  workload:\n", "  workload:\n    storage: {size: 20Gi}\n")
	for file, test := range map[string]struct {
		live, file string
		code       int
	}{
		"same":      {stack, edited("models: [llama3.2-8b]", "models:\n    - llama3.2-8b # the same"), 0},
		"endpoint":  {stack, edited("vllm:8000", "other:8000", "canary-4711", "canary-4712", "[llama3.2-8b]", "[llama3.2-8b, {name: e5, modelType: embedding, embeddingDimension: 384}]"), 1},
		"replicas":  {stack, edited("  workload:\n", "  workload:\n    replicas: 3\n"), 1},
		"new":       {"", stack, 1},
		"add-pvc":   {stack, pvc, 1},
		"drop-pvc":  {pvc, stack, 1},
		"postgres":  {stack, stack + "  storage: {sql: {type: postgres, connectionString: {name: pg, key: dsn}}}\n", 1},
		"rejected":  {edited("provider: vllm", "provider: vlm"), stack, 1},
		"providers": {stack, edited("    inference: {provider: vllm", "    vectorIo: {provider: pgvector, endpoint: 'db:5432', settings: {db: a, user: b}, secretRefs: {password: {name: x, key: pw}}}\n    inference: {provider: vllm"), 1},
	} {
		t.Run(file, func(t *testing.T) {
			out, errs, code := run(t, test.live, test.file)
			if code != test.code || errs != "" && file != "drop-pvc" && !strings.Contains(errs, "warning") {
				t.Errorf("exit code %d, want %d:\n%s%s", code, test.code, out, errs)
			}
			if strings.Contains(out, "canary") {
				t.Errorf("a value that may be a secret is shown:\n%s", out)
			}
			expect.File(t, filepath.Join("testdata", file+".txt"), out)
		})
	}
}

// Proves: R91 (both sides use the running release line until the spec sets a version).
func TestDiffKeepsRunningReleaseLine(t *testing.T) {
	live := stack + "status: {resolvedDistribution: {serverLine: '0.7'}}\n"
	if out, errs, code := run(t, live, stack); code != 0 {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
	if out, errs, code := run(t, live, edited("name: starter", "name: starter, version: '1.4'")); code != 1 || !strings.Contains(out, "distribution-starter:0.7.1 → docker.io/ogxai/distribution-starter:1.4.1") {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
}

// Proves: NFR-004 (an invalid file has its own exit code, and is not compared).
func TestDiffRejectsInvalidFile(t *testing.T) {
	for want, file := range map[string]string{
		`did you mean "vllm"`:          edited("provider: vllm", "provider: vlm"),
		"no LlamaStackDistribution in": "kind: ConfigMap\napiVersion: v1\n",
		"not YAML":                     "a: [",
		"metadata.name: Required":      edited("name: my-stack, ", ""),
	} {
		out, errs, code := run(t, stack, file)
		if code < 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, %s\n%s\nwant %s", code, out, errs, want)
		}
	}
}

// The API server generates a new name for each create, so the resource is always new.
func TestDiffOfAGeneratedNameIsNew(t *testing.T) {
	out, errs, code := run(t, stack, edited("name: my-stack", "generateName: my-stack-"))
	if code != 1 || errs != "" || !strings.HasPrefix(out, "ai/my-stack- is new\n") || !strings.Contains(out, "+ Deployment/my-stack-xxxxx") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestDiffForPrograms(t *testing.T) {
	out, _, code := run(t, stack, edited("vllm:8000", "other:8000"), "-o", "json")
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || len(r.Items) != 1 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	one := r.Items[0]
	if !slices.Equal(one.Restart, []string{"config.yaml changes"}) || one.State != nil || len(one.Config) != 1 || one.Config[0].After != "http://other:8000/v1" {
		t.Errorf("%s", out)
	}
}

// run runs the command against a cluster with the custom resource live, or without one if live is empty.
func run(t *testing.T, live, file string, args ...string) (out, errs string, code int) {
	t.Helper()
	var initial []client.Object
	if live != "" {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.Unmarshal([]byte(live), cr); err != nil {
			t.Fatal(err)
		}
		cr.UID, cr.Status.Phase = "u1", v1alpha2.PhaseReady
		initial = append(initial, cr)
	}
	name := filepath.Join(t.TempDir(), "stack.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c := fakecluster.New(t, initial...)
	var stdout, stderr bytes.Buffer
	streams := cli.Streams{Out: &stdout, Err: &stderr}
	cmd := New(streams, func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{Client: c, Namespace: "ai"}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-f", name}, args...))
	code = cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	if len(c.Applied)+len(c.Patched)+len(c.Deleted) > 0 {
		t.Errorf("the cluster is changed: %v %v %v", c.Applied, c.Patched, c.Deleted)
	}
	return stdout.String(), stderr.String(), code
}
