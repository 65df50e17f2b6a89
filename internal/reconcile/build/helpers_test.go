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

// canary stands for a secret value; no test may find it in what Build returns.
const canary = "sk-canary-7f3a"

// inputs are complete inputs for a sample: every Secret is there.
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

// lineOfTests is the release line of servers in these tests where a test names no other: the newest one with safety.
const lineOfTests = "0.7"

// resolve sets the distribution, with the operator's settings given. A server of lineOfTests runs. Its image counts as published.
func resolve(t *testing.T, in *Inputs, data map[string]string) {
	t.Helper()
	s, err := settings.Parse(data)
	framework.NoError(t, err)
	d, f := s.ResolveWithHints(&in.CR.Spec.Distribution, Hints(in, lineOfTests))
	if f != nil {
		t.Fatal(f)
	}
	d.Unproven = ""
	in.Distribution = d
}

// findSecrets sets the facts for what the spec refers to.
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

// findOverride sets the fact for spec.overrideConfig.
func findOverride(t *testing.T, in *Inputs, content string) {
	t.Helper()
	reread(in)
	ref, ok := in.OverrideRef()
	if !ok {
		t.Fatal("the spec has no overrideConfig")
	}
	in.Override = &OverrideFact{Ref: ref, Content: []byte(content)}
}

// made is what Build made, with the warnings apart.
type made struct {
	*Desired
	Warnings problem.List
}

// try builds, and returns the errors apart.
func try(ctx context.Context, in *Inputs) (*made, problem.List) {
	reread(in)
	d, problems := Build(ctx, in)
	return &made{d, problems.Warnings()}, problems.Errors()
}

// reread parses the spec again, which a test may have edited.
func reread(in *Inputs) {
	again := NewInputs(in.CR)
	in.Spec, in.Legacy = again.Spec, again.Legacy
}

// hashOf is the hash of the inputs as they are now.
func hashOf(in *Inputs) string {
	reread(in)
	return inputHash(in)
}

// build builds what must be right.
func build(t *testing.T, in *Inputs) *made {
	t.Helper()
	d, faults := try(t.Context(), in)
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

// fail builds what must be wrong, and returns the faults.
func fail(t *testing.T, in *Inputs) (*made, problem.List) {
	t.Helper()
	d, faults := try(t.Context(), in)
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
func checkNoCanary(t *testing.T, d *made, faults problem.List) {
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
