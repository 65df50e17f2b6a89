// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// stored returns the storage version of a v1alpha1 object.
func stored(t *testing.T, spec string) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	var object map[string]any
	text := `{apiVersion: llamastack.io/v1alpha1, kind: LlamaStackDistribution, metadata: {name: x}, spec: ` + spec + `}`
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("not YAML: %v", err)
	}
	raw, err := json.Marshal(v1alpha1.ToV1alpha2(object))
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	var typed v1alpha2.LlamaStackDistribution
	if err := json.Unmarshal(raw, &typed); err != nil {
		t.Fatalf("decode: %v", err)
	}
	return &typed
}

// Proves: R22, R41, R53, R104 (settings that only v1alpha1 has reach the operator).
func TestLegacySettingsOfConvertedObjects(t *testing.T) {
	t.Parallel()

	const full = `{server: {distribution: {name: starter}, containerSpec: {name: main},
	  userConfig: {configMapName: mine, configMapNamespace: elsewhere},
	  tlsConfig: {caBundle: {configMapName: ca, configMapNamespace: pki, configMapKeys: [a.crt, b.crt]}}}}`
	const allowing = `{server: {distribution: {}}, network: {allowedFrom: {namespaces: [a]}}}`
	managedBy := func(version, fields string) func(*v1alpha2.LlamaStackDistribution) {
		return func(obj *v1alpha2.LlamaStackDistribution) {
			obj.ManagedFields = []metav1.ManagedFieldsEntry{{APIVersion: version, FieldsV1: metav1.NewFieldsV1(fields)}}
		}
	}
	whole := v1alpha2.LegacySettings{
		FromV1alpha1: true, OverrideConfigNamespace: "elsewhere", CABundleNamespace: "pki", CABundleKeys: []string{"a.crt", "b.crt"},
		ContainerName: "main",
	}
	for name, test := range map[string]struct {
		spec string
		edit func(*v1alpha2.LlamaStackDistribution)
		want v1alpha2.LegacySettings
	}{
		"all of them":         {full, nil, whole},
		"none but the origin": {`{server: {distribution: {}}}`, nil, v1alpha2.LegacySettings{FromV1alpha1: true}},
		"the operator's own name of a container": {
			`{server: {distribution: {}, containerSpec: {name: llama-stack}}}`, nil, v1alpha2.LegacySettings{FromV1alpha1: true},
		},
		"other ConfigMaps": {
			full,
			func(obj *v1alpha2.LlamaStackDistribution) {
				obj.Spec.OverrideConfig.ConfigMapName = "other"
				obj.Spec.Networking.TLS.CABundle.ConfigMapName = "other"
			},
			v1alpha2.LegacySettings{FromV1alpha1: true, ContainerName: "main"},
		},
		"ConfigMaps removed": {
			full,
			func(obj *v1alpha2.LlamaStackDistribution) { obj.Spec.OverrideConfig, obj.Spec.Networking = nil, nil },
			v1alpha2.LegacySettings{FromV1alpha1: true, ContainerName: "main"},
		},
		"allowedFrom written in v1alpha1": {
			allowing, managedBy(v1alpha1.GroupVersion.String(), `{"f:spec":{"f:network":{"f:allowedFrom":{"f:namespaces":{}}}}}`),
			v1alpha2.LegacySettings{FromV1alpha1: true},
		},
		"allowedFrom written in v1alpha2": {
			allowing, managedBy(v1alpha2.GroupVersion.String(), `{"f:spec":{"f:networking":{"f:allowedFrom":{"f:namespaces":{}}}}}`),
			v1alpha2.LegacySettings{FromV1alpha1: true, AllowedFromV1alpha2: true},
		},
		"another field written in v1alpha2": {
			allowing, managedBy(v1alpha2.GroupVersion.String(), `{"f:spec":{"f:networking":{"f:port":{}}}}`),
			v1alpha2.LegacySettings{FromV1alpha1: true},
		},
		"moved on to v1alpha2 by a part of allowedFrom": {
			allowing, func(obj *v1alpha2.LlamaStackDistribution) { obj.Spec.Networking.AllowedFrom.Exclusive = new(true) },
			v1alpha2.LegacySettings{},
		},
		"moved on to v1alpha2 by egress": {
			allowing, func(obj *v1alpha2.LlamaStackDistribution) { obj.Spec.Networking.Egress = &v1alpha2.EgressSpec{} },
			v1alpha2.LegacySettings{},
		},
		"moved on to v1alpha2 by authentication": {
			`{server: {distribution: {}, containerSpec: {name: main}}}`,
			func(obj *v1alpha2.LlamaStackDistribution) { obj.Spec.Auth = &v1alpha2.AuthSpec{} },
			v1alpha2.LegacySettings{ContainerName: "main"},
		},
		"moved on to v1alpha2": {
			`{server: {distribution: {}, containerSpec: {name: main}}}`,
			func(obj *v1alpha2.LlamaStackDistribution) { obj.Spec.Providers = &v1alpha2.ProvidersSpec{} },
			v1alpha2.LegacySettings{ContainerName: "main"},
		},
		"annotation removed": {
			full, func(obj *v1alpha2.LlamaStackDistribution) { obj.Annotations = nil }, v1alpha2.LegacySettings{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			obj := stored(t, test.spec)
			if test.edit != nil {
				test.edit(obj)
			}
			if diff := cmp.Diff(test.want, v1alpha2.Legacy(obj)); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

// An object counts as v1alpha1 until its spec uses a field that only v1alpha2 has.
//
// Proves: R41.
func TestV1alpha2FieldsEndV1alpha1Origin(t *testing.T) {
	t.Parallel()

	expose := func(raw string) v1alpha2.LlamaStackDistributionSpec {
		return v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte(raw)}}}
	}
	tls := func(tls v1alpha2.TLSSpec) v1alpha2.LlamaStackDistributionSpec {
		return v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{TLS: &tls}}
	}
	enabled, name := false, "mine"
	for what, test := range map[string]struct {
		spec    v1alpha2.LlamaStackDistributionSpec
		movedOn bool
	}{
		"exposed":                               {expose(`true`), false},
		"exposed, without a host name":          {expose(`{"hostname":""}`), false},
		"exposed, with a half object":           {expose(`{"hostname":"a.example"`), false},
		"exposed, with a host name":             {expose(`{"hostname":"a.example"}`), true},
		"networking without expose":             {v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{}}, false},
		"CA bundle":                             {tls(v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "ca"}}), false},
		"TLS of the server, turned off":         {tls(v1alpha2.TLSSpec{Enabled: &enabled}), true},
		"TLS of the server, with its Secret":    {tls(v1alpha2.TLSSpec{SecretName: &name}), true},
		"resources":                             {v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{}}, true},
		"storage":                               {v1alpha2.LlamaStackDistributionSpec{Storage: &v1alpha2.StateStorageSpec{}}, true},
		"disabled":                              {v1alpha2.LlamaStackDistributionSpec{Disabled: []string{"eval"}}, true},
		"a list of disabled APIs that is empty": {v1alpha2.LlamaStackDistributionSpec{Disabled: []string{}}, false},
	} {
		obj := stored(t, `{server: {distribution: {}}}`)
		obj.Spec = test.spec
		if got := v1alpha2.Legacy(obj).FromV1alpha1; got == test.movedOn {
			t.Errorf("%s: of v1alpha1 %t", what, got)
		}
	}
}

// Proves: R22, R53 (the problem does not quote the annotation, and incomplete values are ignored).
func TestLegacySettingsOfDamagedAnnotations(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		annotation string
		want       v1alpha2.LegacySettings
	}{
		"no JSON": {`sk-canary`, v1alpha2.LegacySettings{Problem: "not the JSON of a conversion record"}},
		"newer": {
			`{"version":7}`,
			v1alpha2.LegacySettings{Problem: "version 7 of the conversion record is not known: this operator writes and reads version 1"},
		},
		"more in it": {`{"version":1,"sk-canary":1}`, v1alpha2.LegacySettings{Problem: "the conversion record has unknown or repeated members"}},
		"origin":     {`{"version":1,"origin":"sk-canary"}`, v1alpha2.LegacySettings{Problem: "the conversion record names an unknown origin"}},
		"lost":       {`{"version":1,"lost":["spec.providers"]}`, v1alpha2.LegacySettings{Lost: []string{"spec.providers"}}},
		"wrong types": {
			`{"version":1,"kept":{"spec.server.containerSpec.name":{"was":1},` +
				`"spec.server.userConfig":{"was":{"configMapName":"mine","configMapNamespace":1}}}}`,
			v1alpha2.LegacySettings{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			obj := &v1alpha2.LlamaStackDistribution{}
			obj.Annotations = map[string]string{v1alpha2.ConversionAnnotation: test.annotation}
			obj.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
			got := v1alpha2.Legacy(obj)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
			if strings.Contains(got.Problem, "canary") {
				t.Errorf("the problem quotes the annotation: %s", got.Problem)
			}
		})
	}
}
