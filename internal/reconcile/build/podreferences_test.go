// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// overridden returns inputs whose overrides refer to a Secret and a ConfigMap, both found unless a change removes one.
func overridden(t *testing.T, changes ...func(in *Inputs, contents []map[string][]byte)) *Inputs {
	t.Helper()
	in := inputs(t, "simple")
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}
	if err := yaml.UnmarshalStrict([]byte(`
env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: mine, key: token}}}]
volumes: [{name: files, configMap: {name: files}}]
`), in.CR.Spec.Workload.Overrides); err != nil {
		t.Fatal(err)
	}
	contents := []map[string][]byte{{"token": []byte(canary)}, {"a": []byte("1"), "b": []byte("2")}}
	for _, change := range changes {
		change(in, contents)
	}
	for i, ref := range objects.PodReferences(in.CR) {
		var found Lookup
		if contents[i] == nil {
			ref.Optional, found.State = true, Missing
		}
		AddPodReference(in, ref, found, contents[i])
	}
	return in
}

// Proves: L-23, R48, R54 (only new content rolls the pods, and hashes without references stay unchanged).
func TestPodReferencesRoll(t *testing.T) {
	annotation := func(in *Inputs) string {
		return deployment(t, build(t, in).Objects).Spec.Template.Annotations[names.AnnotationSecretsHash]
	}
	before, inputsBefore := annotation(overridden(t)), hashOf(overridden(t))
	for name, c := range map[string]struct {
		change  func(*Inputs, []map[string][]byte)
		changes bool
	}{
		"nothing":                          {func(*Inputs, []map[string][]byte) {}, false},
		"a variable":                       {func(_ *Inputs, of []map[string][]byte) { of[0]["token"] = []byte("rotated") }, true},
		"a file":                           {func(_ *Inputs, of []map[string][]byte) { of[1]["b"] = []byte("3") }, true},
		"a new file":                       {func(_ *Inputs, of []map[string][]byte) { of[1]["c"] = nil }, true},
		"an optional object that has gone": {func(_ *Inputs, of []map[string][]byte) { of[1] = nil }, true},
		"a value of a provider":            {func(in *Inputs, _ []map[string][]byte) { in.Secrets[0].Value = secret.New([]byte("rotated")) }, true},
		"the hash key":                     {func(in *Inputs, _ []map[string][]byte) { in.HashKey = secret.New([]byte("another")) }, true},
	} {
		if got := annotation(overridden(t, c.change)) != before; got != c.changes {
			t.Errorf("%s: the pods roll: %v, want %v", name, got, c.changes)
		}
		if got := hashOf(overridden(t, c.change)) != inputsBefore; got != c.changes {
			t.Errorf("%s: the hash of the inputs changes: %v, want %v", name, got, c.changes)
		}
	}
	in := inputs(t, "simple")
	in.PodReferences = []PodReferenceFact{}
	if got, want := secretsHash(in), secretsHash(inputs(t, "simple")); got != want {
		t.Errorf("a resource without such references has another hash: an upgrade would roll its pods")
	}
}

// Proves: R48 (hashes must stay the same across releases; a resource without own references has the first hash).
func TestSecretsHashIsFrozen(t *testing.T) {
	if got, want := secretsHash(inputs(t, "simple")), "a935390f2084b7360dee8ea2e3f421e9"; got != want {
		t.Errorf("%s, want %s: an upgrade of the operator would roll every server that reads a Secret", got, want)
	}
	if got, want := secretsHash(overridden(t)), "8132726523595a9c0fa11df4c7ab2678"; got != want {
		t.Errorf("%s, want %s: an upgrade of the operator would roll every server with volumes or variables from objects", got, want)
	}
}

// Proves: R20, FR-073, FR-074, FR-075 (errors are reported before the pods are created, unless the object is optional).
func TestPodReferencesAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*Inputs)
		condition string
		reason    problem.Reason
		message   string
	}{
		"no Secret": {func(in *Inputs) { in.PodReferences[0].State = Missing }, v1alpha2.ConditionSecretsResolved, problem.SecretNotFound,
			`spec.workload.overrides.env[0].valueFrom.secretKeyRef: Secret not found: mine (namespace ai): create it with the key "token", or set optional: true there`},
		"no key": {func(in *Inputs) {
			in.PodReferences[0].Lookup = Lookup{State: KeyMissing, MissingKeys: []string{"token"}, ExistingKeys: []string{"tokens", "user"}}
		}, v1alpha2.ConditionSecretsResolved, problem.SecretNotFound,
			`spec.workload.overrides.env[0].valueFrom.secretKeyRef: Secret mine (namespace ai) has no key "token": add it, or set optional: true there; did you mean "tokens"? its keys are tokens, user`},
		"no ConfigMap": {func(in *Inputs) { in.PodReferences[1].State = Missing }, v1alpha2.ConditionConfigGenerated, problem.ConfigMapNotFound,
			`spec.workload.overrides.volumes[0].configMap: ConfigMap not found: files (namespace ai): create it, or set optional: true there`},
		"no keys": {func(in *Inputs) {
			in.PodReferences[1].Lookup = Lookup{State: KeyMissing, MissingKeys: []string{"a", "b"}}
		}, v1alpha2.ConditionConfigGenerated, problem.ConfigMapNotFound,
			`spec.workload.overrides.volumes[0].configMap: ConfigMap files (namespace ai) has no keys "a", "b": add them, or set optional: true there; it has no keys`},
	} {
		in := overridden(t)
		c.change(in)
		_, faults := fail(t, in)
		if len(faults) != 1 || faults[0].Class != problem.WaitingForDependency || faults[0].Condition != c.condition || faults[0].Reason != c.reason || faults[0].String() != c.message {
			t.Errorf("%s: %+v\n%s", name, faults, faults.Message())
		}
		for i := range in.PodReferences {
			in.PodReferences[i].Ref.Optional = true
		}
		build(t, in)
	}
	in := overridden(t)
	in.PodReferences[0].State, in.PodReferences[1].State = Missing, Missing
	if _, faults := fail(t, in); len(faults) != 2 || !strings.Contains(faults.Message(), "mine") || !strings.Contains(faults.Message(), "files") {
		t.Errorf("both: %s", faults.Message())
	}
	if got := overridden(t).SecretCount(); got != 2 {
		t.Errorf("%d references to Secrets, want those of a provider and of a variable", got)
	}
}

// Proves: R7, R54 (pod messages hide values of Secrets, not those of ConfigMaps; the hash covers both).
func TestSecretsOfThePodsAreThoseOfProvidersAndOverrides(t *testing.T) {
	in := inputs(t, "simple")
	AddPodReference(in, objects.Reference{Kind: objects.KindSecret}, Lookup{}, map[string][]byte{"token": []byte("of-a-secret")})
	AddPodReference(in, objects.Reference{Kind: objects.KindConfigMap}, Lookup{}, map[string][]byte{"text": []byte("of-a-config-map")})
	values := in.secretValues(map[string]secret.Value{"DERIVED": secret.New([]byte("derived"))})
	for _, c := range []struct {
		text  string
		known bool
	}{{canary, true}, {"derived", true}, {"of-a-secret", true}, {"of-a-config-map", false}} {
		if got := !strings.Contains(secret.Redact("value "+c.text, values), c.text); got != c.known {
			t.Errorf("%s: known as a secret %t", c.text, got)
		}
	}
	in.PodReferences = in.PodReferences[:len(in.Secrets)] // the same number of Secrets and ConfigMaps
	if secretsHash(in) == "" {
		t.Error("no hash of Secrets and references")
	}
}

// Proves: R18 (ConfigMaps do not count, the server's certificate does).
func TestSecretCountCountsReferencesToSecrets(t *testing.T) {
	in := inputs(t, "simple")
	before := in.SecretCount()
	if before != len(in.Secrets) || before == 0 {
		t.Errorf("%d of %d references of providers", before, len(in.Secrets))
	}
	for _, kind := range []string{objects.KindConfigMap, objects.KindSecret, objects.KindConfigMap} {
		in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: objects.Reference{Kind: kind}})
	}
	in.Certificate = &CertificateFact{Name: "tls"}
	if got := in.SecretCount() - before; got != 2 {
		t.Errorf("%d more for a Secret of the pods, two ConfigMaps and a certificate, want 2", got)
	}
}

// Proves: R7 (a variable name with a prefix from a Secret is refused, one from a ConfigMap is not).
func TestBuildRefusesNamesFromSecretsOfEnvFrom(t *testing.T) {
	for text, refused := range map[string]bool{
		"{prefix: P_, secretRef: {name: mine}}": true, "{secretRef: {name: mine}}": false, "{prefix: P_, configMapRef: {name: mine}}": false,
	} {
		in := inputs(t, "simple")
		in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}
		framework.NoError(t, yaml.UnmarshalStrict([]byte("envFrom: ["+text+"]"), in.CR.Spec.Workload.Overrides))
		in.CR.Spec.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: []byte(`"${env.P_TOKEN}"`)}}}
		in.Spec = parse.Parse(&in.CR.Spec)
		for _, ref := range objects.PodReferences(in.CR) {
			in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: ref, Keys: []string{"TOKEN"}})
		}
		_, problems := Build(t.Context(), in)
		if got := strings.Contains(problems.Message(), "refers to the environment variable P_TOKEN, which has a value from a Secret"); got != refused {
			t.Errorf("%s: %s", text, problems.Message())
		}
	}
}
