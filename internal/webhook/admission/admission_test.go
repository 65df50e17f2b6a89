// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/admission"
)

func resource(t *testing.T, name, spec string) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ai"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	return cr
}

// gatherInputs returns the inputs, with all Secrets found, and the problems.
func gatherInputs(t *testing.T, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List) {
	t.Helper()
	known, err := settings.Parse(map[string]string{"distributions": "broken: {}"})
	if err != nil {
		t.Fatal(err)
	}
	in := build.NewInputs(cr)
	var faults problem.List
	var f *problem.Problem
	if in.Distribution, f = known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(in, "")); f != nil {
		faults = append(faults, *f)
		in.Unresolved = true
	}
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		in.Secrets = append(in.Secrets, build.SecretFact{Use: use})
	}
	return in, faults
}

// format returns a Result as text, with one line for each error and warning.
func format(a admission.Result) string {
	var lines []string
	for _, err := range a.Errors {
		lines = append(lines, "error "+err.Error())
	}
	for _, w := range a.Warnings {
		lines = append(lines, "warning "+w)
	}
	return strings.Join(lines, "\n")
}

// Proves: FR-073, FR-074, FR-075, NFR-004, EC-5, R3, R12, R20, R34, R57 (each kind of result as users see it).
func TestValidate(t *testing.T) {
	const vllm = "distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: creds, key: token}}}\n"
	for name, c := range map[string]struct {
		resource, spec string
		want           []string // parts of one line each
	}{
		"right": {spec: vllm},
		"an unknown distribution": {spec: "distribution: {name: startr}", want: []string{
			`error spec.distribution.name: Unsupported value: "startr": did you mean "starter"? known distributions: `,
		}},
		"an unknown distribution and more": {
			spec: "distribution: {name: startr}\nproviders: {inference: {provider: vllm, apikey: k}}\ndisabled: [inferense]\nworkload: {overrides: {env: [{name: 'a=b', value: x}]}}",
			want: []string{
				"error spec.distribution.name: ", `error spec.providers.inference.apikey: Invalid value: unknown field: did you mean "apiKey"?`,
				`error spec.disabled[0]: Unsupported value: "inferense": did you mean "inference"?`, "error spec.workload.overrides.env[0].name: ",
			},
		},
		"an image of which nothing is known and more": {
			spec: "distribution: {image: 'registry.example/mine'}\nproviders: {inference: {provider: vllm, apikey: k}}", want: []string{
				"error spec.providers.inference.apikey: ", "warning spec.distribution: Invalid value: Distribution image registry.example/mine missing config labels.",
			},
		},
		"what can be read and what cannot": {
			spec: "distribution: {name: starter}\nproviders: {inference: {provider: vlllm, apikey: k}}\nresources: {models: [{name: m, provider: nobody}, 5]}",
			want: []string{
				"error spec.providers.inference.apikey: ", "error spec.resources.models[1]: ", "error spec.providers.inference.provider: ",
				"error spec.resources.models[0].provider: ",
			},
		},
		"a model of an unknown provider": {spec: vllm + "resources: {models: [{name: m, provider: vlm}]}", want: []string{
			`error spec.resources.models[0].provider: Not found: "vlm": `,
		}},
		"a misspelled key": {
			spec: "distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpont: 'http://vllm:8000'}}",
			want: []string{`error spec.providers.inference.endpont: Invalid value: unknown field: did you mean "endpoint"?`},
		},
		"no provider": {spec: "distribution: {name: starter}\nproviders: {inference: {}}", want: []string{
			"error spec.providers.inference.provider: Required value: for example provider: vllm",
		}},
		"an id that stands twice": {spec: "distribution: {name: starter}\nproviders: {inference: [{id: a, provider: openai}, {id: a, provider: openai}]}", want: []string{
			`error spec.providers.inference[1].id: Duplicate value: "a": ids must be unique over all APIs, and this one is used by spec.providers.inference[0] and `,
		}},
		"a setting that the server ignores": {spec: strings.Replace(vllm, "endpoint:", "settings: {max_tokns: 1}, endpoint:", 1), want: []string{
			"warning spec.providers.inference.settings.max_tokns: remote::vllm has no field of this name on release line " + catalog.Newest() +
				", so the server ignores it: did you mean \"max_tokens\"?",
		}},
		"a wrong registration": {spec: "distribution: {name: broken}", want: []string{"warning spec.distribution: Invalid value: operator settings: llama-stack-operator-config/distributions[broken]: "}},
		"an image of which nothing is known": {spec: "distribution: {image: 'registry.example/mine'}\nresources: {models: [m]}", want: []string{
			"warning spec.distribution: Invalid value: Distribution image registry.example/mine missing config labels.",
		}},
		"a name that does not serve": {resource: "a.b", spec: "distribution: {name: starter}", want: []string{"error metadata.name: Invalid value: \"a.b\": a Service is named after it"}},
		"errors and warnings": {
			spec: vllm + "resources: {models: [{name: m, provider: vlm}]}\nnetworking: {tls: {secretName: s}}",
			want: []string{
				"error spec.resources.models[0].provider: ", "warning spec.networking.tls.secretName: has no effect",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.resource == "" {
				c.resource = "my-stack"
			}
			cr := resource(t, c.resource, c.spec)
			in, faults := gatherInputs(t, cr)
			r := &admission.Request{New: cr, Version: "v1alpha2"}
			got := format(admission.Validate(t.Context(), r, in, faults))
			lines := strings.Split(got, "\n")
			if got == "" {
				lines = nil
			}
			if len(lines) != len(c.want) {
				t.Fatalf("%d findings, want %d:\n%s", len(lines), len(c.want), got)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}

// Proves: R91, R93 (other edits keep the image and get no warning).
func TestImageThatMayNotBePublishedIsAWarningOfTheDistribution(t *testing.T) {
	const old, sevenOfVLLM, want = "distribution: {name: starter, version: '0.7'}", "distribution: {name: remote-vllm, version: '0.7'}",
		"warning spec.distribution: image docker.io/ogxai/distribution-starter:0.7.1 may not be published"
	for name, c := range map[string]struct{ old, spec, want string }{
		"a new one":       {"", old, want},
		"the same":        {old, old + "\nworkload: {terminationGracePeriodSeconds: 60}", ""},
		"another name":    {old, sevenOfVLLM, want},
		"a published one": {old, "distribution: {name: starter, version: '" + catalog.Newest() + "'}", ""},
	} {
		r := &admission.Request{New: resource(t, "my-stack", c.spec), Version: "v1alpha2"}
		if c.old != "" {
			r.Old = resource(t, "my-stack", c.old)
		}
		in, faults := gatherInputs(t, r.New)
		if got := format(admission.Validate(t.Context(), r, in, faults)); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A v1alpha1 resource is admitted with a warning, and the controller refuses it.
func TestForbiddenIsRefusedWithItsField(t *testing.T) {
	cr := resource(t, "my-stack", "distribution: {name: starter}\nworkload: {overrides: {command: [sh]}}")
	in, faults := gatherInputs(t, cr)
	in.Forbidden = []settings.Restriction{settings.ForbidCommandAndArgs}
	const want = "spec.workload.overrides.command: Forbidden: the operator's administrator forbids command and args "
	if got := format(admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha2"}, in, faults)); !strings.HasPrefix(got, "error "+want) {
		t.Errorf("as v1alpha2: %s", got)
	}
	if got := format(admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha1"}, in, faults)); !strings.HasPrefix(got, "warning in terms of v1alpha2: "+want) {
		t.Errorf("as v1alpha1: %s", got)
	}
}

// Proves: R52, R57 (errors of v1alpha1 objects are warnings in terms of v1alpha2).
func TestV1alpha1IsNeverRejected(t *testing.T) {
	for _, c := range []struct{ name, spec, want string }{
		{"my-stack", "distribution: {name: startr}", "spec.distribution.name: Unsupported value: "},
		{"my-stack", "distribution: {}", "spec.distribution: Required value: set a name or an image"},
		{"my-stack", "distribution: {name: '', image: ''}\nworkload: {workers: 2}", "spec.distribution: Required value: set a name or an image"},
		{"my-stack", "distribution: {name: starter}\nnetworking: {port: 80}\nworkload: {workers: 2}", "spec.networking.port: "},
		{"a.b", "distribution: {name: starter}", "metadata.name: "},
	} {
		cr, spec := resource(t, c.name, c.spec), c.spec
		in, faults := gatherInputs(t, cr)
		strict := admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha2"}, in, faults)
		lenient := admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha1"}, in, faults)
		if len(lenient.Errors) > 0 || len(lenient.Warnings) != len(strict.Errors)+len(strict.Warnings) || !strings.Contains(format(lenient), c.want) {
			t.Errorf("%s: as v1alpha2\n%s\nas v1alpha1\n%s", spec, format(strict), format(lenient))
		}
		for _, w := range lenient.Warnings {
			if !strings.HasPrefix(w, "in terms of v1alpha2: ") {
				t.Errorf("%s: %s", spec, w)
			}
		}
		cr.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1"}`}
		in, faults = gatherInputs(t, cr)
		if a := admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha2"}, in, faults); len(a.Errors) > 0 || len(a.Warnings) != len(lenient.Warnings) {
			t.Errorf("%s: an object of v1alpha1 that is edited as v1alpha2:\n%s", spec, format(a))
		}
	}
}

// Proves: R49.
func TestNotBuiltYet(t *testing.T) {
	cr := resource(t, "my-stack", "distribution: {name: starter}")
	in, faults := gatherInputs(t, cr)
	faults = append(faults, problem.Problem{
		Class: problem.Terminal, Reason: problem.UnsupportedByOperator, Path: "spec.x", Detail: "this operator does not support it yet", Fix: "remove it",
	})
	got := format(admission.Validate(t.Context(), &admission.Request{New: cr, Version: "v1alpha2"}, in, faults))
	if got != "warning spec.x: this operator does not support it yet: remove it" {
		t.Error(got)
	}
}

// Proves: R57 (a failed lookup refuses nothing and hides no other error).
func TestLookupFailed(t *testing.T) {
	cr := resource(t, "my-stack", "distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'vllm:8000', apiKey: {name: creds, key: token}}}")
	in, _ := gatherInputs(t, cr)
	in.Secrets = nil
	timeout := problem.List{{Class: problem.Transient, Condition: v1alpha2.ConditionSecretsResolved, Reason: problem.LookupFailed, Detail: "Secret ai/creds could not be read"}}
	r := &admission.Request{New: cr, Version: "v1alpha2"}
	if got := format(admission.Validate(t.Context(), r, in, timeout)); strings.Contains(got, "could not be read") || !strings.HasPrefix(got, "error spec.providers.inference.endpoint: ") {
		t.Errorf("answer:\n%s", got)
	}
	in.Distribution = nil
	if got := format(admission.Validate(t.Context(), r, in, timeout)); got != "" {
		t.Errorf("nothing is known of the distribution, but:\n%s", got)
	}
}

// Proves: FR-074, R20, R57, R64 (ConfigMaps that were not read cause no errors).
func TestValidateAssumesNothingAboutConfigMaps(t *testing.T) {
	cr := resource(t, "my-stack", "distribution: {image: 'registry.example/ogx:1.2.0'}\noverrideConfig: {configMapName: mine}\nnetworking: {tls: {caBundle: {configMapName: trusted-ca}}}")
	in, faults := gatherInputs(t, cr)
	in.Distribution.ForeignImage = true
	r := &admission.Request{New: cr, Version: "v1alpha2"}
	if got := format(admission.Validate(t.Context(), r, in, faults)); got != "" {
		t.Errorf("without the ConfigMaps:\n%s", got)
	}
	in.Override = &build.OverrideFact{Ref: types.NamespacedName{Namespace: "ai", Name: "mine"}, Content: []byte(secret.OnCluster)}
	in.CABundle = in.NamedCABundle()
	in.CABundle.State = build.Unknown
	if got := format(admission.Validate(t.Context(), r, in, faults)); got != "" {
		t.Errorf("with ConfigMaps of unknown content:\n%s", got)
	}
}

// Proves: R57.
func TestNeeded(t *testing.T) {
	const spec = "distribution: {name: starter}\nworkload: {resources: {limits: {memory: 1Gi}}}"
	old := resource(t, "a", spec)
	tagged := old.DeepCopy()
	tagged.Labels, tagged.Status.Phase = map[string]string{"a": "b"}, "Ready"
	respelt := resource(t, "a", strings.Replace(spec, "1Gi", "1024Mi", 1))
	edited := resource(t, "a", "distribution: {name: other}")
	leaving := edited.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		request admission.Request
		want    bool
	}{
		"new":        {admission.Request{New: old}, true},
		"an edit":    {admission.Request{New: edited, Old: old}, true},
		"a label":    {admission.Request{New: tagged, Old: old}, false},
		"a spelling": {admission.Request{New: respelt, Old: old}, false},
		"on its way": {admission.Request{New: leaving, Old: old}, false},
	} {
		if got := c.request.ChangesSpec(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// A stored invalid name does not block edits.
	cr := resource(t, "a.b", spec)
	in, faults := gatherInputs(t, cr)
	if diff := cmp.Diff(0, len(admission.Validate(t.Context(), &admission.Request{New: cr, Old: old, Version: "v1alpha2"}, in, faults).Errors)); diff != "" {
		t.Error("the name of an existing resource is an error")
	}
}

// Proves: R63.
func TestRejectionMessageIsBounded(t *testing.T) {
	cr := resource(t, "my-stack", "distribution: {name: "+strings.Repeat("a", 1_000_000)+"}")
	in, faults := gatherInputs(t, cr)
	for _, version := range []string{"v1alpha2", "v1alpha1"} {
		if got := format(admission.Validate(t.Context(), &admission.Request{New: cr, Version: version}, in, faults)); got == "" || len(got) > 2048 {
			t.Errorf("%s: %d bytes: %.200s", version, len(got), got)
		}
	}
}
