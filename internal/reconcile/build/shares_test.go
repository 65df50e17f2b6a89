// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// canaryInputs returns the inputs of the sample behind a Gateway, with a known database.
func canaryInputs(t *testing.T) *Inputs {
	t.Helper()
	in := inputs(t, "canary")
	in.Edge = settings.Edge{Kind: settings.EdgeHTTPRoute, Gateway: &settings.Gateway{Name: "public", Namespace: "gateways"}}
	in.EdgeAPIs = objects.EdgeAPIs{HTTPRoute: true}
	for i := range in.Secrets {
		in.Secrets[i].Value = secret.New([]byte("postgresql://stack:" + canary + "@pg:5432/stack"))
	}
	in.Databases = in.FindDatabases()
	return in
}

func peer(name string, weight int32, available bool, databases ...string) Peer {
	return Peer{Share: objects.Share{Name: name, Host: "llama.example.com", Weight: weight, Port: 8321}, Available: available,
		Databases: databases}
}

// backendsOf returns the Services and weights of the HTTPRoute.
func backendsOf(t *testing.T, d *Desired) string {
	t.Helper()
	for _, o := range d.Objects {
		if route, ok := o.(*gatewayv1.HTTPRoute); ok {
			var list []string
			for _, b := range route.Spec.Rules[0].BackendRefs {
				list = append(list, fmt.Sprintf("%s:%d=%d", b.Name, *b.Port, *b.Weight))
			}
			return strings.Join(list, " ")
		}
	}
	t.Fatal("no HTTPRoute")
	return ""
}

// Proves: WEIGHT (servers with pods share the requests; the others have no share unless none has pods).
func TestSharesOfAvailableServers(t *testing.T) {
	for name, c := range map[string]struct {
		available bool
		peers     []Peer
		want      string
	}{
		"alone":           {true, nil, "my-stack-new-service:8321=10"},
		"alone, starting": {false, nil, "my-stack-new-service:8321=10"},
		"both":            {true, []Peer{peer("my-stack", 90, true)}, "my-stack-service:8321=90 my-stack-new-service:8321=10"},
		"starting":        {false, []Peer{peer("my-stack", 90, true)}, "my-stack-service:8321=90"},
		"the other fails": {true, []Peer{peer("my-stack", 90, false)}, "my-stack-new-service:8321=10"},
		"both fail":       {false, []Peer{peer("my-stack", 90, false)}, "my-stack-service:8321=90 my-stack-new-service:8321=10"},
		"the only available one has no weight": {
			false, []Peer{peer("my-stack", 0, true)}, "my-stack-service:8321=0 my-stack-new-service:8321=10",
		},
	} {
		in := canaryInputs(t)
		hashes := in.databaseHashes()
		if len(hashes) != 1 {
			t.Fatalf("databases %v", hashes)
		}
		for _, p := range c.peers {
			p.Databases = hashes
			in.Peers = append(in.Peers, p)
		}
		if c.available {
			in.Live = &appsv1.Deployment{Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
		}
		d := build(t, in)
		if got := backendsOf(t, d.Desired); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		for _, o := range d.Objects {
			if _, ok := o.(*appsv1.Deployment); ok && o.GetAnnotations()[names.AnnotationShare] != "llama.example.com 10 8321" {
				t.Errorf("annotations %v", o.GetAnnotations())
			}
		}
	}
}

// Proves: WEIGHT (a share is refused without a Gateway, and where the state is not shared).
func TestBuildRefusesSharesWithoutSharedState(t *testing.T) {
	for name, c := range map[string]struct {
		change func(in *Inputs)
		reason problem.Reason
		want   string
	}{
		"an Ingress": {func(in *Inputs) { in.Edge = settings.Edge{Kind: settings.EdgeIngress} }, problem.UnsupportedByOperator, "an object of the kind Ingress"},
		"a Route": {
			func(in *Inputs) { in.Edge.Kind, in.EdgeAPIs.Route = settings.EdgeRoute, true }, problem.UnsupportedByOperator, "an object of the kind Route",
		},
		"no host name": {
			func(in *Inputs) { in.CR.Spec.Networking.Expose.Raw = []byte(`{"weight":10}`) }, problem.MissingField, pathExpose + ".hostname: Required value",
		},
		"files in the pod": {
			func(in *Inputs) { in.CR.Spec.Disabled = nil }, problem.ConflictingFields, "it is in its pod: provider files/",
		},
		"SQLite": {
			func(in *Inputs) { in.CR.Spec.Storage.KV = nil }, problem.ConflictingFields, "storage backend kv_default: keep the storage backends in databases",
		},
		"other databases": {
			func(in *Inputs) { in.Peers = []Peer{peer("a", 1, true, "other")} }, problem.ConflictingFields, "the LlamaStackDistribution a at the same host name",
		},
		"databases of one": {
			func(in *Inputs) { in.Peers = []Peer{peer("a", 1, true)} }, problem.ConflictingFields, "the LlamaStackDistribution a at the same host name",
		},
		"too many": {
			func(in *Inputs) {
				for i := range 16 {
					in.Peers = append(in.Peers, peer(fmt.Sprintf("p%d", i), 1, true, in.databaseHashes()...))
				}
			}, problem.TooLarge, "16 other servers",
		},
	} {
		in := canaryInputs(t)
		c.change(in)
		_, problems := fail(t, in)
		if len(problems) != 1 || problems[0].Reason != c.reason || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %s, want %s %q", name, problems.Message(), c.reason, c.want)
		}
	}
}

// Proves: WEIGHT (an inline provider of vector stores that is not the default is a warning, and the default an error).
func TestSharesWithInlineVectorStores(t *testing.T) {
	in := canaryInputs(t)
	in.CR.Spec.Disabled = []string{"batches", "fileProcessors", "files", "responses", "toolRuntime", "eval"}
	_, problems := fail(t, in)
	if text := problems.Message(); !strings.Contains(text, "provider vector_io/faiss") || strings.Contains(text, "sqlite-vec") {
		t.Error(text)
	}
}

// Proves: WEIGHT (a configuration that the operator does not generate has unknown databases).
func TestSharesWithOverrideConfig(t *testing.T) {
	in := canaryInputs(t)
	in.CR.Spec.Storage, in.CR.Spec.Disabled, in.CR.Spec.Auth, in.CR.Spec.Resources, in.CR.Spec.Providers = nil, nil, nil, nil, nil
	in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	findOverride(t, in, "version: 2\nimage_name: x\napis: [inference]\nproviders: {}\n")
	if _, problems := fail(t, in); !strings.Contains(problems.Message(), "does not know the databases") {
		t.Error(problems.Message())
	}
}

// Proves: WEIGHT (sharing on purpose gets no warning of one host name and one database; a third resource gets them).
func TestPeersAreNoConflict(t *testing.T) {
	for other, want := range map[string]int{"my-stack": 0, "stranger": 2} {
		in := canaryInputs(t)
		in.Peers = []Peer{peer("my-stack", 90, true, in.databaseHashes()...)}
		in.OlderWithHost = &types.NamespacedName{Namespace: "ai", Name: other}
		in.Databases[0].Others = []types.NamespacedName{*in.OlderWithHost}
		in.Databases = in.Databases[:1]
		got := 0
		for _, w := range build(t, in).Warnings {
			if w.Reason == problem.HostnameNotUnique || w.Reason == problem.SharedStorageLocation {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d warnings, want %d", other, got, want)
		}
	}
}
