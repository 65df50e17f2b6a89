// SPDX-License-Identifier: Apache-2.0

package admissionpolicy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/policy"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admissionpolicy"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// specPolicy returns the policy, compiled for Kubernetes 1.30.
//
// Proves: R57.
func specPolicy(t testing.TB) *admissionpolicy.Policy {
	t.Helper()
	p, err := admissionpolicy.New(policy.Spec())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// validate returns the messages of the denied validations. Evaluation must not fail.
func validate(t *testing.T, p *admissionpolicy.Policy, object, old map[string]any) string {
	t.Helper()
	if old != nil {
		object, old = withGenerations(object, old)
	}
	messages, err := p.Validate(t.Context(), object, old)
	if err != nil {
		spec, _ := json.Marshal(object["spec"])
		t.Fatalf("cannot be evaluated: %v\n%s", err, spec)
	}
	if len(messages) > 1 {
		t.Fatalf("the API server would print the first only: %q", messages)
	}
	return strings.Join(messages, "")
}

// withGenerations returns copies with the generations that the API server sets before it evaluates policies.
func withGenerations(object, old map[string]any) (_, _ map[string]any) {
	generation := int64(1)
	if !equality.Semantic.DeepEqual(object["spec"], old["spec"]) {
		generation = 2
	}
	object, old = runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(old)
	object["metadata"].(map[string]any)["generation"] = generation
	old["metadata"].(map[string]any)["generation"] = int64(1)
	return object, old
}

// tooMuch is the message that replaces a message that is too long.
const tooMuch = "spec: more is wrong with providers, resources or networking.expose than fits into a message: docs/admission.md describes their form"

// Proves: FR-070, FR-071, FR-072, FR-075, NFR-004, R3, R4, R33, R34, R35, US-2.2, US-2.3.
func TestPolicyMessages(t *testing.T) {
	s, p := schema(t), specPolicy(t)
	raw, err := os.ReadFile(filepath.FromSlash("../../../config/policy/testdata/messages.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Spec, Message string }
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		stored, problems := s.Admit(t.Context(), resource(t, starter+c.Spec))
		if len(problems) > 0 {
			t.Errorf("%s: the schema already refuses it: %v", c.Spec, problems)
			continue
		}
		got := validate(t, p, stored, nil)
		if diff := cmp.Diff(c.Message, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Spec, diff)
		}
		if strings.Contains(got, "sk-1") {
			t.Errorf("%s: the message quotes the secret: %s", c.Spec, got)
		}
	}
}

// Proves: NFR-004 (a message has at most ten problems and the number of the others; the plugin shows the same).
func TestPolicyCountsOmittedProblems(t *testing.T) {
	p := specPolicy(t)
	object := resource(t, starter+"resources: {models: ["+strings.Repeat("'',", 12)+"]}")
	if got := validate(t, p, object, nil); !strings.HasSuffix(got, "remove the item; and 2 more") || strings.Count(got, "spec.resources.models[") != 10 {
		t.Errorf("message %s", got)
	}
	if got := p.Admit(t.Context(), object); got != validate(t, p, object, nil) {
		t.Errorf("the plugin is told %s", got)
	}
}

// Proves: R34 (the name of a new object must be valid for a Service).
func TestPolicyOnNames(t *testing.T) {
	p := specPolicy(t)
	const want = "metadata.name: Invalid value: a Service is named after it: use at most 55 lower-case letters, digits and '-', beginning with a letter"
	for name, right := range map[string]bool{
		"a": true, "my-stack-2": true, strings.Repeat("a", 55): true, strings.Repeat("a", 56): false, "my.stack": false, "1st": false,
	} {
		object := resource(t, starter)
		object["metadata"].(map[string]any)["name"] = name
		if got := validate(t, p, object, nil); (got == "") != right || (!right && got != want) {
			t.Errorf("%s: %q", name, got)
		}
		old := runtime.DeepCopyJSON(object)
		object["spec"].(map[string]any)["workload"] = map[string]any{"replicas": int64(2)}
		if got := validate(t, p, object, old); got != "" {
			t.Errorf("%s has the name already: %q", name, got)
		}
	}
}

// Proves: R57 (the policy checks only changed specs, so label changes and storage migration of old objects pass).
func TestPolicyOnUpdates(t *testing.T) {
	p := specPolicy(t)
	old := resource(t, starter+"providers: {inference: []}")
	tagged := runtime.DeepCopyJSON(old)
	tagged["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"}
	if got := validate(t, p, tagged, old); got != "" {
		t.Errorf("a label: %s", got)
	}
	edited := runtime.DeepCopyJSON(old)
	edited["spec"].(map[string]any)["workload"] = map[string]any{"replicas": int64(2)}
	if got := validate(t, p, edited, old); got == "" {
		t.Error("an edit of the spec is not validated")
	}
	delete(old, "spec")
	if got := validate(t, p, edited, old); got == "" {
		t.Error("a spec that was not there before is not validated")
	}
}

// oddities returns unusual values.
func oddities() []any {
	return []any{
		nil, true, false, int64(0), int64(-1), 1.5, 1e300, "", "x", "a\nb", "${env.X}", "://", "@", "http://", "::", strings.Repeat("y", 5000),
		[]any{}, []any{nil}, []any{[]any{[]any{}}}, []any{map[string]any{}}, []any{"x", int64(1)}, []any{int64(1), nil, map[string]any{"provider": "x"}},
		map[string]any{}, map[string]any{"": nil}, map[string]any{"": "x"}, map[string]any{"provider": map[string]any{}},
		map[string]any{"name": "n", "key": "k"}, map[string]any{"name": nil, "key": []any{}}, map[string]any{"secretKeyRef": nil},
		map[string]any{"secretKeyRef": map[string]any{"name": "n", "key": int64(1)}}, map[string]any{"secretKeyRef": map[string]any{"name": "n", "key": "k"}},
		map[string]any{"enabled": nil}, map[string]any{"provider": "x", "id": []any{"y"}}, map[string]any{"a\nb": map[string]any{"secretKeyRef": "x"}},
	}
}

// randomly returns random JSON of valid and invalid names and values.
func randomly(r *rand.Rand, depth int) any {
	keys := []string{
		"id", "provider", "endpoint", "endpointFrom", "apiKey", "settings", "config", "region", "deploymentName", "secretRefs", "secretKeyRef", "name", "key", "odd", "modelType",
	}
	texts := []any{"a", "b", "vllm", "remote::vllm", "http://x", "x@y", "all", "-", "", nil, int64(3), true}
	switch n := r.IntN(10); {
	case depth == 0 || n < 3:
		if r.IntN(3) == 0 {
			return oddities()[r.IntN(len(oddities()))]
		}
		return texts[r.IntN(len(texts))]
	case n < 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomly(r, depth-1)
		}
		return list
	default:
		m := map[string]any{}
		for range r.IntN(6) {
			m[keys[r.IntN(len(keys))]] = randomly(r, depth-1)
		}
		if r.IntN(2) == 0 {
			m["provider"] = texts[r.IntN(4)]
		}
		return m
	}
}

// parsed returns the problems that the operator's parsers report.
func parsed(t *testing.T, object map[string]any) problem.List {
	t.Helper()
	raw, err := json.Marshal(object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	var spec v1alpha2.LlamaStackDistributionSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	read := parse.Parse(&spec)
	return append(read.Problems, read.ExposeProblems...)
}

// leftToOperator reports whether only the parsers check for the problem.
func leftToOperator(p problem.Problem) bool {
	reasons := []problem.Reason{problem.ConflictingFields, problem.UnknownField, problem.UnsupportedByRelease}
	return slices.Contains(reasons, p.Reason) || p.Type == field.ErrorTypeNotSupported ||
		strings.Contains(p.Path, ".endpointFrom") || strings.HasSuffix(p.Path, ".embeddingDimension") && p.Reason == problem.MissingField ||
		p.Detail == "is not a valid name of a Secret" || p.Detail == "is not a key of a Secret"
}

// moreExact reports whether the parsers' text is more specific than the policy's.
func moreExact(p problem.Problem) bool {
	return p.Detail == "is not JSON" || strings.HasSuffix(p.Detail, ", not both")
}

// The policy can be evaluated for all values of the open fields, and its messages equal those of the parsers.
//
// Proves: R57, FR-070, L-34.
func TestPolicyAgreesWithParsers(t *testing.T) {
	s, p := schema(t), specPolicy(t)
	denied, admitted, compared := 0, 0, 0
	compare := func(path []string, value any) {
		spec := map[string]any{"distribution": map[string]any{"name": "starter"}}
		at := spec
		for _, key := range path[:len(path)-1] {
			next := map[string]any{}
			at[key], at = next, next
		}
		at[path[len(path)-1]] = runtime.DeepCopyJSONValue(value)
		object, problems := s.Admit(t.Context(), map[string]any{
			"apiVersion": "llamastack.io/v1alpha2", "kind": v1alpha2.Kind, "metadata": map[string]any{"name": "r", "namespace": "d"}, "spec": spec,
		})
		if len(problems) > 0 {
			return // the policy is not evaluated
		}
		text, _ := json.Marshal(object["spec"])
		message := validate(t, p, object, nil)
		errs := parsed(t, object)
		if message == "" {
			admitted++
			for _, err := range errs {
				if !leftToOperator(err) {
					t.Errorf("%s: only the operator says: %v", text, err)
				}
			}
			return
		}
		denied++
		if message == tooMuch || strings.Contains(message, "\n") {
			t.Errorf("%s: %q", text, message)
		}
		for _, said := range split(message) {
			path, _, _ := strings.Cut(said, ": ")
			found := strings.Contains(said, ".endpoint: Invalid value: must ") // the generator reports this, not the parsers
			var same []string
			for _, err := range errs {
				found = found || strings.HasPrefix(err.Path, path)
				if err.Path == path && strings.HasPrefix(said, path+": "+err.Type.String()) && !moreExact(err) {
					same = append(same, err.String())
				}
			}
			if len(same) > 0 && !slices.Contains(same, said) {
				t.Errorf("%s: the policy says\n%s\nthe operator says\n%s", text, said, strings.Join(same, "\n"))
			}
			compared += len(same)
			if !found {
				t.Errorf("%s: only the policy says: %s\nthe operator: %v", text, said, errs)
			}
		}
	}
	places := [][]string{
		{"providers", "inference"}, {"providers", "safety"}, {"providers", "vectorIo"}, {"providers", "toolRuntime"}, {"providers", "telemetry"},
		{"resources", "models"}, {"resources", "tools"}, {"resources", "shields"}, {"networking", "expose"}, {"providers"}, {"resources"}, {"networking"},
	}
	for _, place := range places {
		for _, odd := range oddities() {
			compare(place, odd)
			compare(place, []any{odd, odd})
			if !slices.Contains([]string{"inference", "models", "tools", "expose"}, place[len(place)-1]) {
				continue
			}
			for _, key := range []string{
				"id", "provider", "endpoint", "apiKey", "settings", "config", "region", "secretRefs", "name", "metadata", "contextLength", "hostname", "enabled", "other",
			} {
				entry := map[string]any{"provider": "x", "name": "x"}
				if place[0] == "networking" {
					entry = map[string]any{}
				}
				entry[key] = odd
				if place[0] == "resources" {
					compare(place, []any{entry})
				} else {
					compare(place, entry)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range framework.Loops(60, 300) {
		place := places[r.IntN(9)]
		compare(place, randomly(r, 4))
		compare(place[:1], map[string]any{"inference": randomly(r, 3), "safety": randomly(r, 3), "models": []any{randomly(r, 3), randomly(r, 2)}})
	}
	t.Logf("%d denied, %d admitted, %d texts compared", denied, admitted, compared)
	if denied < 400 || admitted < 100 || compared < 400 {
		t.Errorf("%d denied, %d admitted and %d texts compared: too few to mean anything", denied, admitted, compared)
	}
}

// Proves: R57 (the cost stays within the limit for the largest specs).
func TestPolicyIsBounded(t *testing.T) {
	p := specPolicy(t)
	var entries, models, same []any
	for i := range 2000 {
		entries = append(entries, map[string]any{"id": fmt.Sprintf("id-%d", i%7), "provider": "vllm", "endpoint": "http://x" + strings.Repeat("y", 50)})
		same = append(same, map[string]any{"id": "a", "provider": "vllm"})
		models = append(models, map[string]any{"name": "m", "metadata": map[string]any{"a": strings.Repeat("z", 50)}})
	}
	long := strings.Repeat("a", 500_000)
	wide := map[string]any{}
	for i := range 25_000 {
		wide[fmt.Sprintf("k%d", i)] = int64(0)
	}
	for name, spec := range map[string]map[string]any{
		"wide provider":   {"providers": map[string]any{"inference": wide}},
		"wide secretRefs": {"providers": map[string]any{"inference": map[string]any{"provider": "vllm", "endpoint": "http://a", "secretRefs": wide}}},
		"wide items":      {"resources": map[string]any{"models": []any{wide}, "tools": []any{wide}, "shields": []any{wide}}},
		"wide expose":     {"networking": map[string]any{"expose": wide}},
		"one id":          {"providers": map[string]any{"inference": same, "safety": same, "vectorIo": same, "toolRuntime": same, "telemetry": same}},
		"many entries": {
			"providers": map[string]any{"inference": entries, "safety": entries, "vectorIo": entries, "toolRuntime": entries, "telemetry": entries},
			"resources": map[string]any{"models": models},
		},
		"long texts": {"providers": map[string]any{"inference": map[string]any{"id": long, "provider": long, "endpoint": "http://" + long, long: long}}},
	} {
		object := resource(t, starter)
		object["spec"] = spec
		if got := validate(t, p, object, nil); got == "" || len(got) > 5000 {
			t.Errorf("%s: %.200s", name, got)
		}
		validate(t, p, object, resource(t, starter))
	}
}

func BenchmarkNewPolicy(b *testing.B) {
	for b.Loop() {
		specPolicy(b)
	}
}

// Proves: R57 (compilation fails for functions that Kubernetes 1.30 does not have).
func TestPolicyForNewerKubernetes(t *testing.T) {
	newer := strings.Replace(string(policy.Spec()), "variables.indices.filter", "[variables.indices].flatten().filter", 1)
	if _, err := admissionpolicy.New([]byte(newer)); err == nil || !strings.Contains(err.Error(), "flatten") {
		t.Errorf("compiles for Kubernetes 1.30: %v", err)
	}
}

// andMore matches the number of left-out problems at the end of a message.
var andMore = regexp.MustCompile(`^and \d+ more$`)

// split returns the problems of a message. They are joined by "; ", and each begins with its path.
func split(message string) []string {
	var problems []string
	for part := range strings.SplitSeq(message, "; ") {
		if andMore.MatchString(part) {
			continue
		}
		if len(problems) == 0 || strings.HasPrefix(part, "spec.") || strings.HasPrefix(part, "metadata.") {
			problems = append(problems, part)
			continue
		}
		problems[len(problems)-1] += "; " + part
	}
	return problems
}
