// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// BenchmarkGenerate makes the configuration of the sample: vLLM with a key and one model over the starter.
//
// Proves: NFR-002.
func BenchmarkGenerate(b *testing.B) {
	in := input(b, "testdata/vllm-with-key", "0.7")
	b.ReportAllocs()
	for b.Loop() {
		if result, findings := config.Generate(in); result == nil {
			b.Fatal(findings)
		}
	}
}

// providerFields are the fields of spec.providers.
func providerFields(p *v1alpha2.ProvidersSpec) []**apiextensionsv1.JSON {
	return []**apiextensionsv1.JSON{&p.Inference, &p.Safety, &p.VectorIo, &p.ToolRuntime, &p.Telemetry}
}

// FuzzGenerate feeds any base, any providers of any API and any model: it never panics, findings are complete, and what
// comes out is a base again.
//
// Proves: NFR-001, NFR-004.
func FuzzGenerate(f *testing.F) {
	starter, _ := configs.Base("starter", "0.7")
	f.Add(starter, []byte(`{"provider": "vllm", "endpoint": "http://v:8000", "apiKey": {"name": "s", "key": "k"}}`), []byte(`"m"`), byte(0))
	for _, dir := range cases(f) {
		in := input(f, dir, "0.7")
		model := []byte(`{"name": "m", "provider": "vllm"}`)
		if in.Spec.Resources != nil && len(in.Spec.Resources.Models) > 0 {
			model = in.Spec.Resources.Models[0].Raw
		}
		if in.Spec.Providers == nil {
			continue
		}
		for i, field := range providerFields(in.Spec.Providers) {
			if *field != nil {
				f.Add(read(f, "testdata/auth-survives/base.yaml"), (*field).Raw, model, byte(i))
			}
		}
	}
	line, _ := catalog.Get("0.7")
	f.Fuzz(func(t *testing.T, data, providers, model []byte, api byte) {
		base, err := config.ParseBase("fuzz", data)
		if err != nil {
			return
		}
		in := config.Input{Name: "n", Namespace: "ns", Base: base, Line: line, Spec: &v1alpha2.LlamaStackDistributionSpec{
			Providers: &v1alpha2.ProvidersSpec{},
			Resources: &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: model}}},
		}}
		fields := providerFields(in.Spec.Providers)
		*fields[int(api)%len(fields)] = &apiextensionsv1.JSON{Raw: providers}
		result, findings := config.Generate(in)
		if (result == nil) != findings.HasErrors() {
			t.Fatalf("result %v with findings %v", result, findings)
		}
		for _, finding := range findings {
			if finding.Path == "" || finding.Message == "" || finding.Mending == "" {
				t.Errorf("incomplete finding %+v", finding)
			}
		}
		if result == nil {
			return
		}
		if again, _ := config.Generate(in); !bytes.Equal(again.YAML, result.YAML) {
			t.Error("the same input gives other bytes")
		}
		if _, err := config.ParseBase("generated", result.YAML); err != nil {
			t.Errorf("the result is not a configuration: %v\n%s", err, result.YAML)
		}
	})
}
