// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// referring returns a custom resource with every kind of reference to Secrets and ConfigMaps.
func referring(t *testing.T) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := overridden(t)
	cr.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "trusted-ca"}}}
	return cr
}

// Proves: R64.
func TestGatherForAdmissionReadsOnlyTheSettings(t *testing.T) {
	c := newCluster(t, newSecret("one", map[string]string{"k1": canary, "z": "1", "b": "2"}))
	g := &gather.Gatherer{Live: c, OperatorNamespace: operatorNamespace}
	in, faults := g.GatherForAdmission(t.Context(), referring(t))
	if len(faults) > 0 || in.Distribution == nil || in.Live != nil {
		t.Fatalf("%s: %+v", faults.Message(), in)
	}
	if diff := cmp.Diff(map[string]int{
		"ConfigMap/" + settings.ConfigMapName: 1, "PartialObjectMetadata/" + settings.ConfigMapName: 1, "PartialObjectMetadataList": 1,
	}, c.reads); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if len(in.Secrets) != 3 || len(in.PodReferences) != 5 || in.Override == nil || in.CABundle == nil || in.CABundle.State != build.Unknown {
		t.Errorf("not every reference is in the inputs: %+v", in)
	}
	for _, f := range in.Secrets {
		if f.State != build.Found || len(f.Value.Reveal()) > 0 || len(f.ExistingKeys) > 0 {
			t.Errorf("%s: state %d, with a value or keys", f.Use.Path, f.State)
		}
	}
	for _, f := range in.PodReferences {
		if f.State != build.Found || len(f.ExistingKeys)+len(f.MissingKeys)+len(f.Values) > 0 {
			t.Errorf("%s: %+v", f.Ref.Path, f)
		}
	}
	if _, faults := build.Build(t.Context(), in); len(faults.Of(problem.WaitingForDependency)) > 0 {
		t.Errorf("an unread object is reported as missing: %s", faults.Message())
	}
	c.fails["ConfigMap/"+settings.ConfigMapName] = errTimeout
	in, faults = g.GatherForAdmission(t.Context(), referring(t))
	if in.Distribution != nil || len(faults) != 1 || len(faults.Of(problem.Transient)) != 1 {
		t.Errorf("faults %s, inputs %+v", faults.Message(), in)
	}
}

// Proves: R53, R64 (a namespace that the operator's flags forbid is reported without a read).
func TestGatherForAdmissionReportsForbiddenNamespaces(t *testing.T) {
	cr := referring(t)
	cr.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1","kept":{"spec.server.userConfig":` +
		`{"was":{"configMapName":"mine","configMapNamespace":"platform"},"if":{"configMapName":"mine"}}}}`}
	g := &gather.Gatherer{Live: newCluster(t), OperatorNamespace: operatorNamespace, ForbidForeignConfigMaps: true}
	if in, _ := g.GatherForAdmission(t.Context(), cr); in.Override == nil || in.Override.State != build.Forbidden {
		t.Errorf("override %+v, want another namespace to be forbidden", in.Override)
	}
}

// Proves: R41 (the flag decides about the warning that allowedFrom has no effect).
func TestGatherForAdmissionReadsFeatureFlag(t *testing.T) {
	for flag, want := range map[string]bool{"true": false, "false": true} {
		cr := resource()
		cr.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1"}`}
		cr.Spec = v1alpha2.LlamaStackDistributionSpec{Distribution: v1alpha2.DistributionSpec{Name: new("starter")}, Networking: &v1alpha2.NetworkingSpec{
			AllowedFrom: &v1alpha2.AllowedFromSpec{Namespaces: []string{"a"}},
		}}
		c := newCluster(t, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: settings.ConfigMapName},
			Data:       map[string]string{settings.KeyFeatureFlags: "enableNetworkPolicy: {enabled: " + flag + "}"},
		})
		in, faults := (&gather.Gatherer{Live: c, OperatorNamespace: operatorNamespace}).GatherForAdmission(t.Context(), cr)
		if len(faults) > 0 {
			t.Fatal(faults.Message())
		}
		_, problems := build.Build(t.Context(), in)
		warned := slices.ContainsFunc(problems.Warnings(), func(p problem.Problem) bool { return p.Path == build.PathAllowedFrom })
		if warned != want {
			t.Errorf("flag %s: warned %v: %v", flag, warned, problems)
		}
	}
}
