// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R74.
func TestExamplesMatchReportsOfGather(t *testing.T) {
	const image = "registry.example.com/team/server:nightly"
	for reason, c := range map[problem.Reason]struct {
		kind registry.Kind
		text string
	}{
		problem.RegistryUnavailable: {registry.Unreachable, "the registry responds with 503 Service Unavailable"},
		problem.ImageNotAccessible:  {registry.Unauthorized, "the registry responds with 401 Unauthorized"},
		problem.InvalidImage:        {registry.NotAnImage, "it has no image for linux/amd64, only for: linux/arm64"},
	} {
		err := &registry.Error{Kind: c.kind, Reference: image, Err: errors.New(c.text)}
		framework.ExpectExample(t, reason, problem.List{*labelsProblem(image, err)})
	}
	framework.ExpectExample(t, problem.UnsupportedByOperator, problem.List{*noOperatorImage()})
	framework.ExpectExample(t, problem.LookupFailed, problem.List{*lookupFailed(v1alpha2.ConditionSecretsResolved, "spec.providers.inference[0].apiKey",
		"Secret mine/vllm-token", errors.New("etcdserver: request timed out"))})
}
