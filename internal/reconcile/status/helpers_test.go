// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const image = "docker.io/ogxai/distribution-starter:0.7.1"

// resource returns a custom resource with one provider, one model and an empty status.
func resource() *v1alpha2.LlamaStackDistribution {
	cr := &v1alpha2.LlamaStackDistribution{}
	cr.Name, cr.Namespace, cr.UID, cr.Generation = "my-stack", "ai", "u1", 1
	cr.Spec.Distribution.Name, cr.Spec.Distribution.Version = new("starter"), new("0.7")
	cr.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{
		Raw: []byte(`{"provider":"vllm","endpoint":"http://vllm:8000","apiKey":{"name":"vllm-creds","key":"token"}}`),
	}}
	cr.Spec.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: []byte(`"llama3"`)}}}
	return cr
}

// built returns the facts of a reconcile that has applied the spec, before the rollout.
func built(t *testing.T, cr *v1alpha2.LlamaStackDistribution) *status.Facts {
	t.Helper()
	return builtWith(t, cr, "")
}

// builtWith is built with a connection string in the Secret of the storage.
func builtWith(t *testing.T, cr *v1alpha2.LlamaStackDistribution, dsn string) *status.Facts {
	t.Helper()
	s, err := settings.Parse(nil)
	framework.NoError(t, err)
	d, f := s.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
	if f != nil {
		t.Fatal(f)
	}
	d.UnverifiedSource = "" // the image counts as published
	in := build.NewInputs(cr)
	in.Distribution, in.HashKey, in.Build = d, secret.New(make([]byte, 32)), "1.0.0"
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		value := "sk-1"
		if use.Derived {
			value = dsn
		}
		in.Secrets = append(in.Secrets, build.SecretFact{Use: use, Value: secret.New([]byte(value))})
	}
	want, problems := build.Build(t.Context(), in)
	return &status.Facts{
		CR: cr, Now: now, OperatorVersion: "1.0.0", Images: s.Images(), Distribution: d, Desired: want,
		SecretCount: len(uses), Problems: problems,
	}
}

// deployment returns a Deployment with these numbers of desired and of up-to-date, available pods.
func deployment(wanted, available int32) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Generation = 3
	d.Spec.Replicas = new(wanted)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 3, Replicas: wanted, UpdatedReplicas: wanted, AvailableReplicas: available,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"},
		},
	}
	if available >= wanted && wanted > 0 {
		d.Status.Conditions[0].Status = corev1.ConditionTrue
		d.Status.Conditions[1].Reason = "NewReplicaSetAvailable"
	}
	return d
}

// serving returns the facts of an available server.
func serving(t *testing.T, cr *v1alpha2.LlamaStackDistribution) *status.Facts {
	t.Helper()
	return servingWith(t, cr, "")
}

// servingWith is serving with a connection string in the Secret of the storage.
func servingWith(t *testing.T, cr *v1alpha2.LlamaStackDistribution, dsn string) *status.Facts {
	t.Helper()
	f := builtWith(t, cr, dsn)
	f.Deployment = deployment(1, 1)
	f.Server = &serverprobe.Observation{Version: "0.7.1", Providers: []serverprobe.Provider{
		{API: "inference", ID: "vllm", Type: "remote::vllm"}, {API: "safety", ID: "llama-guard", Type: "inline::llama-guard"},
	}}
	f.Server.Models.Entries = []serverprobe.Entry{{Provider: "vllm", Name: "vllm/llama3"}, {Provider: "vllm", Name: "vllm/other"}}
	if f.Desired.Config == nil {
		return f
	}
	for _, name := range f.Desired.Config.Expected {
		if !slices.ContainsFunc(f.Server.Providers, func(p serverprobe.Provider) bool { return p.API == name.API && p.ID == name.ID }) {
			f.Server.Providers = append(f.Server.Providers, serverprobe.Provider{API: name.API, ID: name.ID, Type: "inline::of-the-base"})
		}
	}
	return f
}

// ready returns a custom resource whose status reports generation 1 as applied.
func ready(t *testing.T) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := resource()
	cr.Status = compute(t, serving(t, cr))
	if c := condition(t, &cr.Status, v1alpha2.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Fatalf("not ready: %+v", c)
	}
	return cr
}

// rejectedEdit returns the facts after an edit with these problems.
func rejectedEdit(cr *v1alpha2.LlamaStackDistribution, faults ...problem.Problem) *status.Facts {
	cr.Generation++
	return &status.Facts{CR: cr, Now: now.Add(time.Hour), OperatorVersion: "1.0.0", Problems: faults, Deployment: deployment(1, 1)}
}

func terminalProblem(message string) problem.Problem {
	return problem.Problem{Class: problem.Terminal, Condition: v1alpha2.ConditionConfigGenerated, Reason: problem.InvalidField, Detail: message}
}

func waitingProblem(message string) problem.Problem {
	return problem.Problem{Class: problem.WaitingForDependency, Condition: v1alpha2.ConditionSecretsResolved, Reason: problem.SecretNotFound, Detail: message}
}

func transientProblem(condition, message string) problem.Problem {
	return problem.Problem{Class: problem.Transient, Condition: condition, Reason: problem.LookupFailed, Detail: message}
}

// compute computes a status and checks its invariants.
func compute(t *testing.T, f *status.Facts) v1alpha2.LlamaStackDistributionStatus {
	t.Helper()
	before := f.CR.DeepCopy()
	got := status.Compute(f)
	if diff := cmp.Diff(before, f.CR); diff != "" {
		t.Errorf("the resource was changed:\n%s", diff)
	}
	checkInvariants(t, f, &got)

	// R50: a later reconcile with the same facts changes nothing.
	again := *f
	again.CR, again.Now = f.CR.DeepCopy(), f.Now.Add(time.Minute)
	again.CR.Status = got
	if diff := cmp.Diff(got, status.Compute(&again)); diff != "" {
		t.Errorf("the same facts give another status a minute later (-first +second):\n%s", diff)
	}
	return got
}

func checkInvariants(t *testing.T, f *status.Facts, s *v1alpha2.LlamaStackDistributionStatus) {
	t.Helper()
	if s.Phase == "" {
		t.Error("no phase")
	}
	if s.ObservedGeneration > f.CR.Generation {
		t.Errorf("observedGeneration %d of generation %d", s.ObservedGeneration, f.CR.Generation)
	}
	if f.CR.DeletionTimestamp != nil {
		return
	}
	seen := map[string]bool{}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if seen[c.Type] {
			t.Errorf("%s stands twice", c.Type)
		}
		seen[c.Type] = true
		if c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero() {
			t.Errorf("incomplete condition %+v", c)
		}
		if c.ObservedGeneration < 1 || c.ObservedGeneration > f.CR.Generation {
			t.Errorf("%s: observedGeneration %d of generation %d", c.Type, c.ObservedGeneration, f.CR.Generation)
		}
		if len(c.Message) > 32<<10 {
			t.Errorf("%s: a message of %d bytes, the API admits 32 KiB", c.Type, len(c.Message))
		}
		if strings.ToValidUTF8(c.Message, "") != c.Message {
			t.Errorf("%s: a letter of the message is cut", c.Type)
		}
	}
	sum := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionReady)
	if sum == nil || sum.ObservedGeneration != f.CR.Generation {
		t.Fatalf("Ready is %+v, want it to speak of generation %d", sum, f.CR.Generation)
	}
	all := true
	for _, kind := range []string{
		v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved, v1alpha2.ConditionDeploymentUpdated, v1alpha2.ConditionAvailable,
	} {
		c := meta.FindStatusCondition(s.Conditions, kind)
		all = all && c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha2.ReasonScaledToZero)
	}
	all = all && !meta.IsStatusConditionFalse(s.Conditions, v1alpha2.ConditionStorageReachable)
	if (sum.Status == metav1.ConditionTrue) != all {
		t.Errorf("Ready is %s, the others: %+v", sum.Status, s.Conditions)
	}
	if sum.Status == metav1.ConditionTrue && (s.Phase != v1alpha2.PhaseReady || f.Problems.HasErrors() || s.ObservedGeneration != f.CR.Generation) {
		t.Errorf("Ready is True in phase %s with faults %v at generation %d", s.Phase, f.Problems, s.ObservedGeneration)
	}
	stalled := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionStalled)
	if stalled != nil && (stalled.Status != metav1.ConditionTrue || sum.Status == metav1.ConditionTrue) {
		t.Errorf("Stalled is %s while Ready is %s: kstatus knows it as True or absent", stalled.Status, sum.Status)
	}
	if s.Selector == "" {
		t.Error("no selector: the scale subresource needs one")
	}
}

func condition(t *testing.T, s *v1alpha2.LlamaStackDistributionStatus, kind string) metav1.Condition {
	t.Helper()
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		t.Fatalf("no condition %s among %+v", kind, s.Conditions)
	}
	return *c
}

// expect compares conditions of the form "Status Reason".
func expect(t *testing.T, s *v1alpha2.LlamaStackDistributionStatus, phase v1alpha2.DistributionPhase, want map[string]string) {
	t.Helper()
	if s.Phase != phase {
		t.Errorf("phase %s, want %s", s.Phase, phase)
	}
	got := map[string]string{}
	for i := range s.Conditions {
		if slices.Contains(v1alpha2.LegacyConditions(), s.Conditions[i].Type) {
			continue // separate tests cover them
		}
		got[s.Conditions[i].Type] = string(s.Conditions[i].Status) + " " + s.Conditions[i].Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func open(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
