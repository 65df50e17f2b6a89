// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func (s stack) asV1alpha1(ctx context.Context) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("llamastack.io/v1alpha1")
	u.SetKind("LlamaStackDistribution")
	return u, kube.Get(ctx, s.key(), u)
}

// scaleOperator sets the operator's replicas and waits until they are ready and the other pods are gone.
func scaleOperator(t *testing.T, replicas int32) {
	t.Helper()
	d := in(t, framework.OperatorNamespace).Deployment(framework.OperatorName)
	before := d.DeepCopy()
	d.Spec.Replicas = new(replicas)
	framework.NoError(t, kube.Patch(t.Context(), d, client.MergeFrom(before)))
	framework.Eventually(t, soon*2, "the operator is scaled", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.Replicas != replicas || d.Status.ReadyReplicas != replicas || d.Status.UpdatedReplicas != replicas ||
			ptr.Deref(d.Status.TerminatingReplicas, 0) != 0 {
			return errors.New(asJSON(t, d.Status))
		}
		return nil
	})
}

// Proves: US-7.3, FR-081, L-27 (through the webhook's Service; a rollout of the operator with two replicas loses no
// request).
func bothVersionsAreServed(t *testing.T) {
	s := sampleStack(t)
	u, err := s.asV1alpha1(t.Context())
	framework.NoError(t, err)
	if name, _, _ := unstructured.NestedString(u.Object, "spec", "server", "distribution", "name"); name != "starter" {
		t.Errorf("in v1alpha1 the distribution is %q", name)
	}
	did(t, "the sample is read as v1alpha1")

	scaleOperator(t, 2)
	did(t, "the operator has two replicas")
	load := framework.StartLoad(t, framework.DefaultLoadInterval, func(ctx context.Context) error {
		_, err := s.asV1alpha1(ctx)
		return err
	})
	for _, args := range [][]string{{"restart"}, {"status", "--timeout=120s"}} {
		in(t, framework.OperatorNamespace).Kubectl(append([]string{"rollout", args[0], "deployment/" + framework.OperatorName}, args[1:]...)...)
	}
	scaleOperator(t, 1)
	n := load.Check(t, "conversions while all replicas were replaced")
	did(t, "all replicas were replaced and one went away; of %d conversions, up to 50 a second, none failed", n)
}

// A v1alpha1 resource configures providers by environment variables, which the image's configuration reads.
//
// Proves: US-7.1, US-7.2, FR-080 (a manifest of release 0.9 becomes a server with its provider and its key, and reads
// back unchanged).
func writtenAsV1alpha1(t *testing.T) {
	s := stack{"e2e-v1alpha1", "old"}
	s.prepare(t, sampleModel)
	resource := load(t, "tests", "e2e", "testdata", "starter-v1alpha1.yaml")
	s.in(t).Apply(asJSON(t, resource.Object))
	cr := s.waitReady(t)
	did(t, "a manifest of v1alpha1 is Ready")

	s.checkVLLM(t, 4096)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "the server lists the provider of VLLM_URL, and a chat completion reached the model server with the key of the Secret")

	if status, _ := call(t, http.MethodGet, "http://"+s.pod(t).Status.PodIP+":9321/v1/health", nil); status != http.StatusOK {
		t.Errorf("port 9321 of the pod answers %d", status)
	}
	checkStatusInV1alpha1(t, s, cr)
	out := s.in(t).Kubectl("get", "llamastackdistributions.v1alpha1.llamastack.io")
	if !strings.Contains(out, "SERVER VERSION") || !strings.Contains(out, cr.Status.Version.LlamaStackServerVersion) {
		t.Errorf("columns of v1alpha1:\n%s", out)
	}
	before := s.settled(t)
	if out := s.in(t).Apply(asJSON(t, resource.Object)); !strings.HasSuffix(out, "unchanged") {
		t.Errorf("applied again: %s", out)
	}
	if diff := cmp.Diff(before, s.versions(t)); diff != "" {
		t.Errorf("applied again, and objects changed (-before +after):\n%s", diff)
	}
	did(t, "it serves on its port, shows the columns and the status of v1alpha1, and applying it again changes nothing")

	revision := s.in(t).Revision(s.name)
	env, _, _ := unstructured.NestedSlice(resource.Object, "spec", "server", "containerSpec", "env")
	s.edit(t, resource, append(env, map[string]any{"name": "VLLM_MAX_TOKENS", "value": "1024"}), "server", "containerSpec", "env")
	s.waitReady(t)
	checkOneRollout(t, s, revision)
	s.checkVLLM(t, 1024)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "one more variable: one rollout, and the provider has the new setting")
	s.in(t).Kubectl("delete", "llamastackdistributions.v1alpha1.llamastack.io", s.name)
}

// checkVLLM checks that the server has the provider that VLLM_URL enables, with the token limit.
func (s stack) checkVLLM(t *testing.T, maxTokens float64) {
	t.Helper()
	p := s.provider(t, "inference", sampleServer)
	if p.Type != "remote::vllm" || p.Config["base_url"] != "http://vllm:8000/v1" || p.Config["max_tokens"] != maxTokens {
		t.Errorf("the server lists %+v, want max_tokens %g", p, maxTokens)
	}
}

// checkStatusInV1alpha1 compares the status of a resource in both versions, and checks the conditions of release 0.9.
func checkStatusInV1alpha1(t *testing.T, s stack, cr *v1alpha2.LlamaStackDistribution) {
	t.Helper()
	u, err := s.asV1alpha1(t.Context())
	framework.NoError(t, err)
	shown := &v1alpha1.LlamaStackDistribution{}
	framework.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, shown))
	if string(shown.Status.Phase) != string(cr.Status.Phase) || shown.Status.Phase == "" {
		t.Errorf("its phase is %q in v1alpha1 and %q in v1alpha2", shown.Status.Phase, cr.Status.Phase)
	}
	ids := []string{}
	for _, p := range shown.Status.DistributionConfig.Providers {
		ids = append(ids, p.API+"/"+p.ProviderID)
	}
	if !slices.Contains(ids, "inference/"+sampleServer) {
		t.Errorf("its providers in v1alpha1 are %q", ids)
	}
	for _, kind := range []string{"DeploymentReady", "HealthCheck", "ServiceReady"} {
		if !meta.IsStatusConditionTrue(shown.Status.Conditions, kind) {
			t.Errorf("%s is not True in v1alpha1: %+v", kind, shown.Status.Conditions)
		}
	}
}
