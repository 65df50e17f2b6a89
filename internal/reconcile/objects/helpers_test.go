// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const configYAML = "# a configuration\nversion: 2\n"

// simple returns the parameters of the simple sample.
func simple(t *testing.T) *objects.Params {
	t.Helper()
	data, err := os.ReadFile("../../../config/samples/v1alpha2-simple.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := yaml.UnmarshalStrict(data, cr); err != nil {
		t.Fatal(err)
	}
	cr.Namespace, cr.UID = "ai", "11111111-2222-3333-4444-555555555555"
	return &objects.Params{
		CR:       cr,
		Image:    "registry.example/distribution-starter:0.7.1",
		StateDir: "distributions/starter",
		Config:   []byte(configYAML),
		Env: []serverconfig.EnvVar{{
			Name: "LLSD_VLLM_API_KEY", Ref: parse.SecretReference{Name: "vllm-creds", Key: "token"},
			Path: "spec.providers.inference.apiKey",
		}},
		PortVariables: []string{"LLAMA_STACK_PORT"}, HomeVariables: []string{"LLAMA_STACK_CONFIG_DIR"},
		SecretsHash: "5ec7e7",
		InputHash:   "1a9475",
		Build:       "1.2.3+abc",
	}
}

// with returns the parameters of the simple sample after a change.
func with(t *testing.T, change func(*objects.Params)) *objects.Params {
	t.Helper()
	p := simple(t)
	change(p)
	return p
}

// pod returns the pod of the Deployment.
func pod(p *objects.Params) *corev1.PodSpec { return &objects.Deployment(p).Spec.Template.Spec }

// server returns the only container. Init containers exist only for CA certificates and external providers.
func server(t *testing.T, p *objects.Params) *corev1.Container {
	t.Helper()
	containers := pod(p).Containers
	if len(containers) != 1 || (len(pod(p).InitContainers) == 0) != (p.CABundle == "" && len(p.External) == 0) {
		t.Fatalf("%d containers and %d init containers", len(containers), len(pod(p).InitContainers))
	}
	return &containers[0]
}

// variables returns the environment: literal values, and "secret/key" for variables from Secrets.
func variables(t *testing.T, p *objects.Params) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, v := range server(t, p).Env {
		if _, twice := values[v.Name]; twice {
			t.Errorf("%s stands twice", v.Name)
		}
		values[v.Name] = v.Value
		if v.ValueFrom != nil {
			values[v.Name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
		}
	}
	return values
}
