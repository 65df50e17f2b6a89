// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const withEndpointFrom = `
distribution: {name: starter}
providers:
  inference: {provider: vllm, endpointFrom: {kind: LLMInferenceService, name: m, namespace: models}}
  vectorIo: {provider: pgvector, endpointFrom: {kind: Service, name: db}, settings: {db: d, user: u, password: p}}
`

func endpointInputs(t *testing.T) *Inputs {
	t.Helper()
	in := inputsOf(t, withEndpointFrom, "")
	in.CR.Name, in.CR.Namespace = "s", "ai"
	refreshPods(in)
	in.AssumeEndpointsFound(&settings.EndpointFrom{Namespaces: []string{"models"}})
	return in
}

// Proves: R11, R48 (each provider type gets the address in its field, and another address changes the hash).
func TestEndpointsGetIntoTheConfiguration(t *testing.T) {
	hashes := map[string]bool{}
	for _, host := range []string{"one", "two"} {
		in := endpointInputs(t)
		for i := range in.Endpoints {
			in.Endpoints[i].State = Found
		}
		in.Endpoints[0].Address = endpoint.Address{URL: "http://" + host + "/v1"}
		in.Endpoints[1].Address = endpoint.Address{URL: "http://db.ai.svc:5432"}
		d, problems := Build(t.Context(), in)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		for _, want := range []string{"base_url: http://" + host + "/v1\n", "host: db.ai.svc\n", "port: 5432\n"} {
			if !strings.Contains(string(d.Config.YAML), want) {
				t.Errorf("no %q in\n%s", want, d.Config.YAML)
			}
		}
		hashes[inputHash(in)] = true
	}
	if len(hashes) != 2 {
		t.Error("another address has the same hash")
	}
}

// Proves: R20.
func TestEndpointsOfDisabledAPIsDoNotCount(t *testing.T) {
	in := inputsOf(t, withEndpointFrom+"disabled: [inference, vectorIo]\n", "")
	refreshPods(in)
	in.AssumeEndpointsFound(&settings.EndpointFrom{})
	if d, problems := Build(t.Context(), in); problems.HasErrors() || d.Config == nil || strings.Contains(string(d.Config.YAML), ".invalid") {
		t.Errorf("%v", problems.Errors())
	}
}

// Proves: R19, R20, R47 (each error has its class and a fix, and nothing is built).
func TestEndpointsWithoutAnAddressAreReported(t *testing.T) {
	const path = "spec.providers.inference.endpointFrom: "
	for name, c := range map[string]struct {
		change func(*EndpointFact)
		class  problem.Class
		want   string
	}{
		"missing": {
			func(f *EndpointFact) { f.State = Missing }, problem.WaitingForDependency,
			"LLMInferenceService not found: m (namespace models): create it",
		},
		"no such kind": {
			func(f *EndpointFact) { f.State, f.KindMissing = Missing, true }, problem.WaitingForDependency,
			"the cluster does not have the API of LLMInferenceServices (serving.kserve.io/v1alpha1): install it, or set endpoint",
		},
		"no address": {
			func(f *EndpointFact) { f.State, f.Address = Found, endpoint.OfModelServer(nil) }, problem.WaitingForDependency,
			"LLMInferenceService m (namespace models) has no address inside of the cluster in its status: the operator continues when it has one",
		},
		"not allowed": {
			func(f *EndpointFact) { f.State = Forbidden }, problem.Terminal,
			"Forbidden: LLMInferenceService m (namespace models) is in another namespace than the LlamaStackDistribution " +
				"(ai), which the operator's settings do not allow: set endpoint instead, or ask the operator's administrator for " +
				"namespaces: [models] in the key endpointFrom of the ConfigMap llama-stack-operator-config",
		},
		"not watched": {
			func(f *EndpointFact) { f.State = NotWatched }, problem.Terminal,
			"Forbidden: LLMInferenceService m (namespace models) is in a namespace that this operator does not watch: set endpoint instead",
		},
		"unknown": {func(*EndpointFact) {}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := endpointInputs(t)
			c.change(&in.Endpoints[0])
			d, problems := Build(t.Context(), in)
			got := fmt.Sprint(problems.Errors())
			if c.want == "" {
				if problems.HasErrors() || !strings.Contains(string(d.Config.YAML), "http://m.models.llminferenceservice.invalid/v1") {
					t.Errorf("%s", got)
				}
				return
			}
			if errs := problems.Errors(); len(errs) != 1 || errs[0].Class != c.class || errs[0].String() != path+c.want {
				t.Errorf("got  %s\nwant %s", got, path+c.want)
			}
			if len(d.Objects) > 0 || d.Config != nil {
				t.Error("something was built")
			}
		})
	}
}

// Proves: R20, READY-FIRST.
func TestOnlyTheFirstStartWaitsForReadyModelServer(t *testing.T) {
	for _, running := range []bool{false, true} {
		in := endpointInputs(t)
		in.Endpoints[0].State, in.Endpoints[1].State = Found, Found
		in.Endpoints[0].Address = endpoint.Address{URL: "http://m.models.svc/v1", NotReady: "is not Ready"}
		in.Endpoints[1].Address = endpoint.Address{URL: "http://db.ai.svc:5432"}
		if running {
			in.Live = &appsv1.Deployment{}
		}
		d, problems := Build(t.Context(), in)
		if running != (len(problems.Errors()) == 0) || running != (len(d.Objects) > 0) {
			t.Errorf("running %v: %d objects, %v", running, len(d.Objects), problems.Errors())
		}
		const want = "spec.providers.inference.endpointFrom: LLMInferenceService m (namespace models) is not Ready: the operator " +
			"starts the server when it is; to start now, set endpoint"
		if !running && (len(problems.Errors()) != 1 || problems.Errors()[0].String() != want ||
			problems.Errors()[0].Class != problem.WaitingForDependency) {
			t.Errorf("%v, want %s", problems.Errors(), want)
		}
	}
}
