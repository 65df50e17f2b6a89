// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R74 (the examples that need a cluster, a registry or settings; package cli tests the others).
func TestExamplesMatchReportsOfBuild(t *testing.T) {
	const (
		vllm     = "providers: {inference: [{id: vllm, provider: vllm, endpoint: 'http://vllm:8000/v1', apiKey: {name: vllm-token, key: token}}]}"
		override = "overrideConfig: {configMapName: my-config}"
		image    = "registry.example.com/team/server:nightly"
	)
	for reason, c := range map[problem.Reason]struct {
		spec   string
		change func(*Inputs)
	}{
		problem.SecretNotFound:    {vllm, func(in *Inputs) { in.Secrets[0].State = Missing }},
		problem.InvalidSecret:     {vllm, func(in *Inputs) { in.Secrets[0].Value = secret.New([]byte("sk-canary\n")) }},
		problem.ConfigMapNotFound: {override, func(in *Inputs) { in.Override.State = Missing }},
		problem.InvalidConfigMap:  {override, func(in *Inputs) { in.Override.Content = []byte("version: [") }},
		problem.ForbiddenBySettings: {"workload: {overrides: {command: [sh]}}", func(in *Inputs) {
			in.Forbidden = []settings.Restriction{settings.ForbidCommandAndArgs}
		}},
		problem.DependencyNotReady: {
			"providers: {inference: [{id: vllm, provider: vllm, endpointFrom: {kind: InferenceService, name: mistral}}]}", func(in *Inputs) {
				in.AssumeEndpointsFound(&settings.EndpointFrom{})
				in.Endpoints[0].State, in.Endpoints[0].Address = Found, endpoint.OfModelServer(nil)
			},
		},
		problem.UnsupportedRelease:  {"distribution: {image: 'registry.example.com/team/server:0.1.0'}\n" + vllm, func(*Inputs) {}},
		problem.MissingConfigLabels: {"distribution: {image: '" + image + "'}\n" + vllm, func(*Inputs) {}},
		problem.UnknownServerLine: {vllm, func(in *Inputs) {
			resolve(t, in, map[string]string{"distributions": "starter: {image: '" + image + "', config: 'version: 2'}"})
			in.Distribution.Candidates = nil // a configuration of no release line
		}},
		problem.InvalidBaseConfig: {vllm, func(in *Inputs) {
			resolve(t, in, map[string]string{"distributions": "starter: {image: 'registry.example.com/team/server:0.7.1', config: 'version: 9'}"})
		}},
	} {
		if !strings.HasPrefix(c.spec, "distribution") {
			c.spec = "distribution: {name: starter}\n" + c.spec
		}
		in := inputsOf(t, c.spec, "")
		in.Now = time.Now()
		in.CR.Name, in.CR.Namespace = "my-server", "mine"
		if in.CR.Spec.OverrideConfig != nil {
			findOverride(t, in, "version: 2")
		}
		refreshPods(in)
		findSecrets(t, in)
		c.change(in)
		_, problems := Build(t.Context(), in)
		framework.ExpectExample(t, reason, problems)
	}
}
