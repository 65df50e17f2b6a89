// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// The examples of docs/status.md of what could not be read are what is reported.
//
// Proves: R74.
func TestExamplesAreWhatGatherReports(t *testing.T) {
	const image = "registry.example.com/team/server:nightly"
	for reason, c := range map[problem.Reason]struct {
		kind registry.Kind
		text string
	}{
		problem.RegistryUnavailable:  {registry.Unreachable, "the registry answers 503 Service Unavailable"},
		problem.RegistryUnauthorized: {registry.Unauthorized, "the registry answers 401 Unauthorized"},
		problem.ImageNotFound:        {registry.NotFound, "the registry answers 404 Not Found"},
		problem.InvalidImage:         {registry.NotAnImage, "it has no image for linux/amd64, only for: linux/arm64"},
		problem.RegistryForbidden: {
			registry.Refused, "registry registry.example.com is not among those that the operator's settings allow: quay.io",
		},
	} {
		err := &registry.Error{Kind: c.kind, Reference: image, Err: errors.New(c.text)}
		fixture.ExpectExample(t, reason, problem.List{*labelsProblem(image, err)})
	}
	_, err := oci.Read(map[string]string{oci.LabelConfigBase64: "%"})
	fixture.ExpectExample(t, problem.InvalidConfigLabels, problem.List{*labelsProblem(image, &imagelabels.LabelError{Err: err})})
	fixture.ExpectExample(t, problem.LookupFailed, problem.List{*lookupFailed(v1alpha2.ConditionSecretsResolved, "spec.providers.inference[0].apiKey",
		"Secret mine/vllm-token", errors.New("etcdserver: request timed out"))})
}
