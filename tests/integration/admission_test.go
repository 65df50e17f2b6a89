// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: FR-002, FR-013, FR-070, API-VAL, R30 to R33, FR-075 (the messages of the API server; package
// internal/offline/admission tests each one).
func TestAdmissionRejects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const starter = "distribution: {name: starter}\n"
	for name, c := range map[string]struct{ spec, want string }{
		"neither name nor image":  {"distribution: {}", "one of name and image is required"},
		"override with providers": {starter + "overrideConfig: {configMapName: c}\nproviders: {inference: {provider: vllm}}", "overrideConfig excludes providers: remove"},
		"redis without endpoint":  {starter + "storage: {kv: {type: redis}}", "type redis needs an endpoint: for example"},
		"half a reference":        {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {name: s}}}", "a secret reference is either"},
		"port 0":                  {starter + "networking: {port: 0}", "spec.networking.port"},
		"unknown field":           {starter + "workloads: {replicas: 1}", `unknown field "spec.workloads"`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := e.TryApply(framework.Manifest("rejected", c.spec))
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			if !strings.Contains(out, c.want) {
				t.Errorf("kubectl apply prints:\n%s\nwant it to contain %q", out, c.want)
			}
		})
	}
}

// Proves: FR-001, FR-003, FR-004, FR-006 to FR-012, FR-014 (the API server accepts every field and keeps the user's
// spelling, R4), R2 (both forms of a secret reference).
func TestAdmissionAcceptsEveryField(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, file := range []string{"full-objects.yaml", "full-lists.yaml"} {
		t.Run(file, func(t *testing.T) {
			raw := framework.ReadFile(t, filepath.Join("testdata", file))
			e.Apply(string(raw))
			written := map[string]any{}
			framework.NoError(t, yaml.Unmarshal(raw, &written))
			name, _, _ := unstructured.NestedString(written, "metadata", "name")
			read := &unstructured.Unstructured{}
			read.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
			framework.NoError(t, e.Get(read, name))
			if diff := cmp.Diff(framework.Tree(t, written["spec"]), framework.Tree(t, read.Object["spec"])); diff != "" {
				t.Errorf("what is read is not what was written (-written +read):\n%s", diff)
			}
		})
	}
}

// Proves: API-COL, R80, STAT, L-32 (a client can apply the manifest: the CRD stays below the size limit of an
// annotation).
func TestColumnsAndSize(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.CreateSecret("vllm-creds", map[string]string{"token": canary})
	e.StartOperator()
	e.Apply(framework.Sample(t, "v1alpha2-simple.yaml"))
	e.WaitReady("my-stack")
	out := e.Kubectl("get", "llsd")
	if got, want := framework.Columns(out), [][]string{
		{"NAME", "PHASE", "READY", "REASON", "PROVIDERS", "AVAILABLE", "AGE"}, {"my-stack", "Ready", "True", "Ready", "1", "1"},
	}; !cmp.Equal(got[0], want[0]) || !cmp.Equal(got[1][:6], want[1]) {
		t.Errorf("kubectl get prints:\n%s", out)
	}
	out = e.Kubectl("get", "llsd", "-o", "wide")
	for _, want := range []string{"URL", "DISTRIBUTION", "RELEASE LINE", "CONFIG", "SERVER VERSION", "OPERATOR VERSION", "starter", "my-stack-config-", suite.ServerRelease} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl get -o wide lacks %q:\n%s", want, out)
		}
	}
	crd, err := os.ReadFile(filepath.Join(framework.Root(), "config", "crd", "bases", "llamastack.io_llamastackdistributions.yaml"))
	framework.NoError(t, err)
	compact, err := yaml.YAMLToJSON(crd)
	framework.NoError(t, err)
	if len(compact) > 150_000 {
		t.Errorf("the CRD has %d bytes as JSON, want at most 150,000", len(compact))
	}
}
