// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// canary is a secret value, which must not appear in the result of Build.
const canary = "sk-canary-7f3a"

// inputs returns complete inputs for a sample, with all Secrets.
func inputs(t *testing.T, sample string) *Inputs {
	t.Helper()
	data := framework.ReadFile(t, "../../../config/samples/v1alpha2-"+sample+".yaml")
	cr := &v1alpha2.LlamaStackDistribution{}
	framework.NoError(t, yaml.UnmarshalStrict(data, cr))
	cr.Namespace, cr.UID, cr.Generation = "ai", "11111111-2222-3333-4444-555555555555", 1
	in := NewInputs(cr)
	in.HashKey, in.Build = secret.New([]byte("0123456789abcdef0123456789abcdef")), "1.2.3+abc"
	resolve(t, in, nil)
	findSecrets(t, in)
	return in
}

// lineOfTests is the default release line of servers in these tests, the newest one with safety.
const lineOfTests = "0.7"

// resolve sets the distribution with these operator settings. A server of lineOfTests runs, and its image is published.
func resolve(t *testing.T, in *Inputs, data map[string]string) {
	t.Helper()
	s, err := settings.Parse(data)
	framework.NoError(t, err)
	d, f := s.ResolveWithHints(&in.CR.Spec.Distribution, Hints(in, lineOfTests))
	if f != nil {
		t.Fatal(f)
	}
	d.UnverifiedSource = ""
	in.Distribution = d
}

// findSecrets marks all references of the spec as found.
func findSecrets(t *testing.T, in *Inputs) {
	t.Helper()
	uses, findings := serverconfig.SecretUses(NewInputs(in.CR).Spec)
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	in.Secrets = nil
	for _, use := range uses {
		in.Secrets = append(in.Secrets, SecretFact{Use: use, Value: secret.New([]byte(canary))})
	}
}

// findOverride sets the content of the ConfigMap in spec.overrideConfig.
func findOverride(t *testing.T, in *Inputs, content string) {
	t.Helper()
	refreshPods(in)
	ref, ok := in.OverrideRef()
	if !ok {
		t.Fatal("the spec has no overrideConfig")
	}
	in.Override = &OverrideFact{Ref: ref, Content: []byte(content)}
}

// result is the result of Build, with the warnings separated.
type result struct {
	*Desired
	Warnings problem.List
}

// buildWith calls Build and returns the errors separately.
func buildWith(ctx context.Context, in *Inputs) (*result, problem.List) {
	refreshPods(in)
	d, problems := Build(ctx, in)
	return &result{d, problems.Warnings()}, problems.Errors()
}

// refreshPods parses the edited spec again.
func refreshPods(in *Inputs) {
	again := NewInputs(in.CR)
	in.Spec, in.Legacy = again.Spec, again.Legacy
}

// hashOf returns the input hash.
func hashOf(in *Inputs) string {
	refreshPods(in)
	return inputHash(in)
}

// build calls Build and fails the test on errors.
func build(t *testing.T, in *Inputs) *result {
	t.Helper()
	d, faults := buildWith(t.Context(), in)
	if len(faults) > 0 {
		t.Fatalf("faults: %s", faults.Message())
	}
	checkNoCanary(t, d, faults)
	for _, w := range d.Warnings {
		if w.Detail+w.Fix == "" || w.Path == "" || w.Reason == "" {
			t.Errorf("incomplete warning %+v", w)
		}
	}
	return d
}

// fail calls Build, expects errors and returns them.
func fail(t *testing.T, in *Inputs) (*result, problem.List) {
	t.Helper()
	d, faults := buildWith(t.Context(), in)
	if len(faults) == 0 {
		t.Fatal("no faults")
	}
	if len(d.Objects) > 0 || len(d.Held) > 0 {
		t.Errorf("%d objects to apply and %d held although there are faults", len(d.Objects), len(d.Held))
	}
	for _, f := range faults {
		if f.Detail+f.Fix == "" || f.Path == "" || f.Reason == "" || f.Condition == "" || f.Class == problem.Transient {
			t.Errorf("incomplete fault %+v", f)
		}
	}
	checkNoCanary(t, d, faults)
	return d, faults
}

// checkNoCanary proves R7 for everything that Build returns.
func checkNoCanary(t *testing.T, d *result, faults problem.List) {
	t.Helper()
	text := fmt.Sprintf("%+v %s", faults, faults.Message()) + asJSON(t, d)
	for _, f := range faults {
		text += fmt.Sprintf("%+v %v", f, f.Err)
	}
	if d.Config != nil {
		text += string(d.Config.YAML)
	}
	if strings.Contains(text, canary) {
		t.Error("the secret value got out")
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	framework.NoError(t, err)
	return string(data)
}

// kinds lists "Kind/name" of objects.
func kinds(list []objects.Object) []string {
	var names []string
	for _, o := range list {
		names = append(names, o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName())
	}
	return names
}

func deployment(t *testing.T, list []objects.Object) *appsv1.Deployment {
	t.Helper()
	for _, o := range list {
		if d, ok := o.(*appsv1.Deployment); ok {
			return d
		}
	}
	t.Fatalf("no Deployment among %v", kinds(list))
	return nil
}

func open(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
