// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
)

// Proves: R20, R55, R64 (each object is read once, and an object that must not be referenced is not read).
func TestEndpointsAreReadLiveIfPermitted(t *testing.T) {
	service := func(namespace, name string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
	}
	live := newCluster(t, service("ai", "a"), service("models", "b"), service("dark", "c"),
		operatorSettings(map[string]string{"endpointFrom": "namespaces: [models, unwatched]"}))
	live.fails["InferenceService/m"] = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "serving.kserve.io", Kind: "InferenceService"}}
	g := newGatherer(live, newCluster(t))
	g.Namespaces = []string{"ai", "models", "dark"}
	cr := resource()
	cr.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(`[
		{"id":"a","provider":"vllm","endpointFrom":{"kind":"Service","name":"a"}},
		{"id":"a2","provider":"vllm","endpointFrom":{"kind":"Service","name":"a","path":"/v2"}},
		{"id":"b","provider":"vllm","endpointFrom":{"kind":"Service","name":"b","namespace":"models"}},
		{"id":"c","provider":"vllm","endpointFrom":{"kind":"Service","name":"c","namespace":"dark"}},
		{"id":"d","provider":"vllm","endpointFrom":{"kind":"Service","name":"d","namespace":"unwatched"}},
		{"id":"m","provider":"vllm","endpointFrom":{"kind":"InferenceService","name":"m"}},
		{"id":"n","provider":"vllm","endpointFrom":{"kind":"LLMInferenceService","name":"n"}}]`)}
	gathered, problems := g.Gather(t.Context(), cr)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	var got []string
	for _, f := range gathered.Inputs.Endpoints {
		got = append(got, fmt.Sprintf("%s %d %v %s", f.Ref.Name, f.State, f.KindMissing, f.Address.URL))
	}
	want := []string{
		fmt.Sprintf("a %d false http://a.ai.svc:80", build.Found), fmt.Sprintf("a %d false http://a.ai.svc:80/v2", build.Found),
		fmt.Sprintf("b %d false http://b.models.svc:80", build.Found), fmt.Sprintf("c %d false ", build.Forbidden),
		fmt.Sprintf("d %d false ", build.NotWatched), fmt.Sprintf("m %d true ", build.Missing), fmt.Sprintf("n %d false ", build.Missing),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if live.reads["Service/a"] != 1 || live.reads["Service/c"]+live.reads["Service/d"] != 0 {
		t.Errorf("reads: %v", live.reads)
	}

	clear(live.reads)
	cr.Spec.Disabled = []string{"inference"}
	if _, problems := g.Gather(t.Context(), cr); problems.HasErrors() || live.reads["Service/a"] > 0 {
		t.Errorf("of a disabled API: %v, reads %v", problems, live.reads)
	}
	cr.Spec.Disabled = nil

	live.fails["Service/a"] = errTimeout
	if _, problems := g.Gather(t.Context(), cr); len(problems) != 1 || problems[0].Class != problem.Transient || !errors.Is(problems[0].Err, errTimeout) ||
		!strings.HasPrefix(problems[0].String(), "spec.providers.inference[0].endpointFrom: Service ai/a could not be read: ") {
		t.Errorf("a request that fails: %v", problems)
	}
	in, _ := g.GatherForAdmission(t.Context(), cr)
	if in.Endpoints[0].State != build.Unknown || in.Endpoints[3].State != build.Forbidden {
		t.Errorf("admission: %v", in.Endpoints)
	}
}
