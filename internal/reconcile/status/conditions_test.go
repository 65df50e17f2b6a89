// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

// Proves: R18, R51, STAT (from the first reconcile to a running server, with failures).
func TestRollout(t *testing.T) {
	const fine, found = "True ConfigGenerationSucceeded", "True AllSecretsFound"
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		phase      v1alpha2.DistributionPhase
		updated    string
		available  string
		ready      string
		message    string // part of the message of DeploymentUpdated
	}{
		"being created": {
			nil, v1alpha2.PhasePending, "False RolloutInProgress", "False NotDeployed", "False RolloutInProgress", "being created",
		},
		"not yet seen by its controller": {
			func() *appsv1.Deployment { d := deployment(1, 1); d.Status.ObservedGeneration = 2; return d }(),
			v1alpha2.PhaseReady, "False RolloutInProgress", "True ServerAvailable", "False RolloutInProgress", "being updated",
		},
		"no pod yet": {
			func() *appsv1.Deployment { d := deployment(2, 0); d.Status.UpdatedReplicas = 1; return d }(),
			v1alpha2.PhaseInitializing, "False RolloutInProgress", "False ServerUnavailable", "False RolloutInProgress", "1 new pod is not ready",
		},
		"pods starting": {
			deployment(2, 1), v1alpha2.PhaseInitializing, "False RolloutInProgress", "False ServerUnavailable",
			"False RolloutInProgress", "1 of 2 up-to-date pods are available",
		},
		"no pod is left, and the Deployment has not noticed": {
			func() *appsv1.Deployment {
				d := deployment(1, 0)
				d.Status.Conditions[0].Status = corev1.ConditionTrue
				return d
			}(),
			v1alpha2.PhaseInitializing, "False RolloutInProgress", "False ServerUnavailable", "False RolloutInProgress", "0 of 1 up-to-date pods",
		},
		"a new pod starting, the old one serves": {
			func() *appsv1.Deployment { d := deployment(1, 1); d.Status.Replicas = 2; return d }(),
			v1alpha2.PhaseReady, "False RolloutInProgress", "True ServerAvailable", "False RolloutInProgress",
			"1 new pod is not ready; 1 old pod still serves",
		},
		"two new pods starting, one old one serves": {
			func() *appsv1.Deployment { d := deployment(3, 1); d.Status.UpdatedReplicas = 2; return d }(),
			v1alpha2.PhaseInitializing, "False RolloutInProgress", "False ServerUnavailable", "False RolloutInProgress",
			"2 new pods are not ready; 1 old pod still serves",
		},
		"the new pods serve, an old one is left": {
			func() *appsv1.Deployment {
				d := deployment(3, 3)
				d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 3, 2, 3
				return d
			}(),
			v1alpha2.PhaseReady, "False RolloutInProgress", "True ServerAvailable", "False RolloutInProgress",
			"2 of 3 pods are up to date; 1 old pod still serves",
		},
		"stuck, nothing serves": {
			withDeadlineExceeded(deployment(1, 0)), v1alpha2.PhaseFailed, "False ProgressDeadlineExceeded", "False ServerUnavailable",
			"False ProgressDeadlineExceeded", "ReplicaSet x has timed out progressing.",
		},
		"stuck, old pods serve on": {
			withDeadlineExceeded(func() *appsv1.Deployment {
				d := deployment(1, 1)
				d.Status.Replicas, d.Status.UpdatedReplicas = 2, 1
				return d
			}()),
			v1alpha2.PhaseReady, "False ProgressDeadlineExceeded", "True ServerAvailable", "False ProgressDeadlineExceeded", "timed out",
		},
		"serving": {
			deployment(3, 3), v1alpha2.PhaseReady, "True DeploymentUpdated", "True ServerAvailable", "True Ready", "All pods are up to date",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := built(t, resource())
			f.Deployment = c.deployment
			s := compute(t, f)
			expect(t, &s, c.phase, map[string]string{
				"ConfigGenerated": fine, "SecretsResolved": found, "DeploymentUpdated": c.updated, "Available": c.available, "Ready": c.ready,
			})
			got := condition(t, &s, v1alpha2.ConditionDeploymentUpdated).Message
			if !strings.Contains(got, c.message) || strings.Contains(got, "0 old") || strings.Contains(got, "0 new") {
				t.Errorf("DeploymentUpdated: %s", got)
			}
		})
	}
}

func withDeadlineExceeded(d *appsv1.Deployment) *appsv1.Deployment {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == appsv1.DeploymentProgressing {
			c.Status, c.Reason, c.Message = "False", "ProgressDeadlineExceeded", "ReplicaSet x has timed out progressing."
		}
	}
	return d
}

// A Deployment without all its pods is not rolled out, and its server is not probed.
func TestRolledOut(t *testing.T) {
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		want       bool
	}{
		"none": {nil, false}, "serving": {deployment(2, 2), true}, "starting": {deployment(2, 1), false},
		"scaled to zero": {deployment(0, 0), false}, "stuck": {withDeadlineExceeded(deployment(1, 0)), false},
	} {
		if got := status.RolledOut(c.deployment); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Proves: R51, L-22 (zero desired pods are not an error, and nothing is available).
func TestScaledToZero(t *testing.T) {
	cr := resource()
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{Replicas: new(int32(0))}
	f := built(t, cr)
	f.Deployment = deployment(0, 0)
	s := compute(t, f)
	expect(t, &s, v1alpha2.PhaseReady, map[string]string{
		"ConfigGenerated": "True ConfigGenerationSucceeded", "SecretsResolved": "True AllSecretsFound",
		"DeploymentUpdated": "True DeploymentUpdated", "Available": "False ScaledToZero", "Ready": "True Ready",
	})

	// A transient lookup error keeps the phase.
	cr.Status = s
	f = rejectedEdit(cr, transientProblem(v1alpha2.ConditionSecretsResolved, "Secret ai/x could not be read: timeout"))
	f.Deployment = deployment(0, 0)
	if s := compute(t, f); s.Phase != v1alpha2.PhaseReady {
		t.Errorf("phase %s after a failed question, want Ready as before", s.Phase)
	}
}

// Proves: R18, L-17 (the newest pod's reason is in Ready).
func TestReasonOfThePodIsReported(t *testing.T) {
	const why = "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu"
	for name, c := range map[string]struct {
		deployment     *appsv1.Deployment
		updated, ready string
		available      string
	}{
		"a first pod": {
			deployment(1, 0), "0 of 1 up-to-date pods are available: " + why, "0 of 1 up-to-date pods are available: " + why,
			"0 of 1 pods are available: " + why,
		},
		"a new pod beside an old one": {
			func() *appsv1.Deployment { d := deployment(1, 1); d.Status.Replicas = 2; return d }(),
			"1 new pod is not ready: " + why + "; 1 old pod still serves", "1 new pod is not ready: " + why + "; 1 old pod still serves",
			"1 of 1 pods are available",
		},
		"a rollout that timed out": {
			withDeadlineExceeded(deployment(1, 0)), "ReplicaSet x has timed out progressing: " + why, "ReplicaSet x has timed out progressing: " + why,
			"0 of 1 pods are available: " + why,
		},
		"a rollout that is done": {deployment(1, 1), "All pods are up to date", "The spec is applied", "1 of 1 pods are available"},
	} {
		t.Run(name, func(t *testing.T) {
			f := built(t, resource())
			f.Deployment, f.Pods = c.deployment, pods.Observation{NotReady: why}
			s := compute(t, f)
			for kind, want := range map[string]string{
				v1alpha2.ConditionDeploymentUpdated: c.updated, v1alpha2.ConditionReady: c.ready, v1alpha2.ConditionAvailable: c.available,
			} {
				if got := condition(t, &s, kind).Message; got != want {
					t.Errorf("%s: %s, want: %s", kind, got, want)
				}
			}
		})
	}
}

// Proves: L-22 (pod names, which change with each attempt, are not repeated).
func TestStatusNamesWhyNoPodCanBeCreated(t *testing.T) {
	refused := func(d *appsv1.Deployment, text string) *appsv1.Deployment {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentReplicaFailure, Status: "True", Reason: "FailedCreate", Message: text,
		})
		return d
	}
	const quota = `pods "s-5f6d8-x2x7k" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0`
	const why = "no pod can be created: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0"
	for name, c := range map[string]struct {
		deployment         *appsv1.Deployment
		updated, available string
	}{
		"a first pod": {
			func() *appsv1.Deployment {
				d := refused(deployment(1, 0), quota)
				d.Status.Replicas, d.Status.UpdatedReplicas = 0, 0
				return d
			}(), "0 of 1 pods are up to date: " + why, "0 of 1 pods are available: " + why,
		},
		"a new pod beside an old one": {
			func() *appsv1.Deployment {
				d := refused(deployment(1, 1), quota)
				d.Status.UpdatedReplicas = 0
				return d
			}(), "0 of 1 pods are up to date: " + why + "; 1 old pod still serves", "1 of 1 pods are available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := built(t, resource())
			f.Deployment = c.deployment
			s := compute(t, f)
			for kind, want := range map[string]string{v1alpha2.ConditionDeploymentUpdated: c.updated, v1alpha2.ConditionAvailable: c.available} {
				if got := condition(t, &s, kind).Message; got != want {
					t.Errorf("%s: %s, want: %s", kind, got, want)
				}
			}
		})
	}
}

// Proves: R51, L-22 (the message has the way to resume it, which the spec cannot do).
func TestPausedAutoscalerIsReported(t *testing.T) {
	cr := resource()
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{Autoscaling: &v1alpha2.AutoscalingSpec{MaxReplicas: new(int32(3))}}
	f := built(t, cr)
	f.Deployment = deployment(0, 0)
	s := compute(t, f)
	expect(t, &s, v1alpha2.PhasePending, map[string]string{
		"ConfigGenerated": "True ConfigGenerationSucceeded", "SecretsResolved": "True AllSecretsFound",
		"DeploymentUpdated": "True DeploymentUpdated", "Available": "False AutoscalingPaused", "Ready": "False AutoscalingPaused",
	})
	const want = "The Deployment is scaled to zero, which pauses the HorizontalPodAutoscaler my-stack-hpa; to continue: " +
		"kubectl -n ai scale deployment my-stack --replicas=1"
	if got := condition(t, &s, v1alpha2.ConditionReady).Message; got != want {
		t.Errorf("Ready: %s, want: %s", got, want)
	}
}

// Proves: R20, R51, R52 (a missing Secret or a refused step blocks the creation).
func TestBlockedResourceIsNotBeingCreated(t *testing.T) {
	for name, fault := range map[string]problem.Problem{
		"a Secret is missing": waitingProblem("Secret not found: vllm-creds (namespace ai)"),
		"a step is blocked": {
			Class: problem.WaitingForDependency, Condition: v1alpha2.ConditionDeploymentUpdated, Reason: problem.WaitingForRemoval, Detail: "x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := built(t, resource())
			f.Problems = problem.List{fault}
			s := compute(t, f)
			if s.Phase != v1alpha2.PhasePending {
				t.Errorf("phase %s", s.Phase)
			}
			for _, c := range s.Conditions {
				if strings.Contains(c.Message, "being created") {
					t.Errorf("%s: %s", c.Type, c.Message)
				}
			}
			if got := condition(t, &s, v1alpha2.ConditionDeploymentReady).Message; got != "Nothing was changed: see "+fault.Condition {
				t.Errorf("DeploymentReady: %s", got)
			}
		})
	}
}

// Proves: R19, R51, L-17, L-35 (conditions change, and the status of the running server stays).
func TestFailingEdit(t *testing.T) {
	for name, c := range map[string]struct {
		faults  problem.List
		want    map[string]string
		message string
	}{
		"wrong": {
			problem.List{terminalProblem("spec.providers.inference: wrong")},
			map[string]string{
				"ConfigGenerated": "False InvalidField", "SecretsResolved": "True AllSecretsFound", "DeploymentUpdated": "False NotApplied",
				"Available": "True ServerAvailable", "BackendsReachable": "True ModelsListed", "Ready": "False InvalidField", "Stalled": "True InvalidField",
			},
			"spec.providers.inference: wrong",
		},
		"missing": {
			problem.List{waitingProblem("Secret not found: x")},
			map[string]string{
				"ConfigGenerated": "True ConfigGenerationSucceeded", "SecretsResolved": "False SecretNotFound", "DeploymentUpdated": "False NotApplied",
				"Available": "True ServerAvailable", "BackendsReachable": "True ModelsListed", "Ready": "False SecretNotFound",
			},
			"Secret not found: x",
		},
		"wrong and missing": {
			problem.List{waitingProblem("Secret not found: x"), terminalProblem("spec.a: wrong")},
			map[string]string{
				"ConfigGenerated": "False InvalidField", "SecretsResolved": "False SecretNotFound", "DeploymentUpdated": "False NotApplied",
				"Available": "True ServerAvailable", "BackendsReachable": "True ModelsListed", "Ready": "False InvalidField", "Stalled": "True InvalidField",
			},
			"spec.a: wrong",
		},
		"conflict": {
			problem.List{{
				Class: problem.Terminal, Condition: v1alpha2.ConditionDeploymentUpdated, Reason: problem.Conflict,
				Detail: "Service my-stack-service exists and does not belong to this resource",
			}},
			map[string]string{
				"ConfigGenerated": "True ConfigGenerationSucceeded", "SecretsResolved": "True AllSecretsFound", "DeploymentUpdated": "False Conflict",
				"Available": "True ServerAvailable", "BackendsReachable": "True ModelsListed", "Ready": "False Conflict", "Stalled": "True Conflict",
			},
			"does not belong to this resource",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cr := ready(t)
			before := cr.Status.DeepCopy()
			s := compute(t, rejectedEdit(cr, c.faults...))
			expect(t, &s, v1alpha2.PhaseReady, c.want)
			if s.ObservedGeneration != 2 {
				t.Errorf("observedGeneration %d, want 2: the edit was dealt with", s.ObservedGeneration)
			}
			if got := condition(t, &s, v1alpha2.ConditionReady).Message; !strings.Contains(got, c.message) {
				t.Errorf("Ready: %s", got)
			}
			before.ObservedGeneration, before.Conditions, s.ObservedGeneration, s.Conditions = 0, nil, 0, nil
			equal(t, "what runs", *before, s)
		})
	}
}

// Proves: R18, R51 (Ready has the reason of Stalled, even if an earlier condition is unknown).
func TestReadyHasTheReason(t *testing.T) {
	cr := resource()
	conflict := problem.Problem{Class: problem.Terminal, Condition: v1alpha2.ConditionDeploymentUpdated, Reason: problem.Conflict, Detail: "Service x exists"}
	for name, f := range map[string]*status.Facts{
		"nothing is decided": {CR: cr, Now: now, OperatorVersion: "1.0.0", Problems: problem.List{conflict}},
		"no Secrets":         func() *status.Facts { f := rejectedEdit(cr, conflict); f.SecretCount = 0; return f }(),
	} {
		s := compute(t, f)
		for _, kind := range []string{v1alpha2.ConditionReady, v1alpha2.ConditionDeploymentUpdated} {
			if c := condition(t, &s, kind); c.Status != metav1.ConditionFalse || c.Reason != string(problem.Conflict) {
				t.Errorf("%s: %s is %s %s: %s", name, kind, c.Status, c.Reason, c.Message)
			}
		}
	}
}

// Proves: R51, R20 (a terminal error without a running server fails, and a missing object waits).
func TestFirstSpecFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault problem.Problem
		phase v1alpha2.DistributionPhase
	}{
		"wrong":   {terminalProblem("spec.a: wrong"), v1alpha2.PhaseFailed},
		"missing": {waitingProblem("Secret not found: x"), v1alpha2.PhasePending},
		"failed":  {transientProblem(v1alpha2.ConditionConfigGenerated, "timeout"), v1alpha2.PhasePending},
	} {
		cr := resource()
		s := compute(t, &status.Facts{CR: cr, Now: now, OperatorVersion: "1.0.0", Problems: problem.List{c.fault}})
		if s.Phase != c.phase {
			t.Errorf("%s: phase %s, want %s", name, s.Phase, c.phase)
		}
		if got := condition(t, &s, v1alpha2.ConditionAvailable); got.Status != metav1.ConditionFalse || got.Reason != v1alpha2.ReasonNotDeployed {
			t.Errorf("%s: Available %+v", name, got)
		}
	}
}

// Proves: R50, R18 (the condition is Unknown, and the generation is not observed).
func TestLookupFailed(t *testing.T) {
	cr := ready(t)
	s := compute(t, rejectedEdit(cr, transientProblem(v1alpha2.ConditionSecretsResolved, "Secret ai/vllm-creds could not be read: timeout; retrying")))
	if c := condition(t, &s, v1alpha2.ConditionSecretsResolved); c.Status != metav1.ConditionUnknown || c.Reason != string(problem.LookupFailed) {
		t.Errorf("SecretsResolved %+v, want Unknown", c)
	}
	if c := condition(t, &s, v1alpha2.ConditionReady); c.Status != metav1.ConditionUnknown {
		t.Errorf("Ready %+v, want Unknown", c)
	}
	if s.ObservedGeneration != 1 || s.Phase != v1alpha2.PhaseReady {
		t.Errorf("observedGeneration %d in phase %s, want 1 as before, and Ready: it serves on", s.ObservedGeneration, s.Phase)
	}

	f := rejectedEdit(ready(t), transientProblem(v1alpha2.ConditionDeploymentUpdated, "Deployment ai/my-stack could not be read: timeout"))
	f.Deployment, f.DeploymentUnknown = nil, true
	s = compute(t, f)
	if c := condition(t, &s, v1alpha2.ConditionAvailable); c.Status != metav1.ConditionUnknown || c.Reason != string(problem.LookupFailed) {
		t.Errorf("Available %+v, want Unknown", c)
	}
	if s.Phase != v1alpha2.PhaseReady || s.Replicas != 1 || s.AvailableReplicas != 1 {
		t.Errorf("phase %s, %d of %d pods: want all as last known", s.Phase, s.AvailableReplicas, s.Replicas)
	}
}

// Proves: R50 (kstatus: Stalled is set while only an edit helps, and removed once waiting may help).
func TestStalledIsSetAndRemoved(t *testing.T) {
	cr := ready(t)
	cr.Status = compute(t, rejectedEdit(cr, terminalProblem("spec.a: wrong")))
	condition(t, &cr.Status, v1alpha2.ConditionStalled)
	for name, f := range map[string]*status.Facts{
		"fixed":           serving(t, cr),
		"missing":         rejectedEdit(cr.DeepCopy(), waitingProblem("Secret not found: x")),
		"transient error": rejectedEdit(cr.DeepCopy(), transientProblem(v1alpha2.ConditionConfigGenerated, "timeout")),
		"wrong, and more": rejectedEdit(cr.DeepCopy(), terminalProblem("spec.a: wrong"), transientProblem(v1alpha2.ConditionDeploymentUpdated, "timeout")),
	} {
		s := compute(t, f)
		for i := range s.Conditions {
			if s.Conditions[i].Type == v1alpha2.ConditionStalled {
				t.Errorf("%s: still stalled: %+v", name, s.Conditions[i])
			}
		}
	}
}

// Proves: R48 (a held Deployment is reported).
func TestHeldMessage(t *testing.T) {
	cr := ready(t)
	f := serving(t, cr)
	f.Desired.HeldBuild = "0.9.1+abc"
	s := compute(t, f)
	c := condition(t, &s, v1alpha2.ConditionDeploymentUpdated)
	if c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "0.9.1+abc") || !strings.Contains(c.Message, "next edit") {
		t.Errorf("DeploymentUpdated %+v, want it to name the build and what releases it", c)
	}
	equal(t, "configGeneration", cr.Status.ConfigGeneration, s.ConfigGeneration)
}

// Proves: R16, R29, STAT (differences between the server and its configuration).
func TestServerRemarks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*status.Facts)
		want   string
	}{
		"as configured": {func(*status.Facts) {}, ""},
		"another patch": {func(f *status.Facts) { f.Server.Version = "0.7.9" }, ""},
		"another line":  {func(f *status.Facts) { f.Server.Version = "0.8.0" }, "the server reports version 0.8.0"},
		"a newer line":  {func(f *status.Facts) { f.Server.Version = "9.1.0" }, "the server reports version 9.1.0"},
		"a newer line, of an image that was taken for newer": {func(f *status.Facts) {
			taken := *f.Distribution
			taken.Line, _ = catalog.Get(catalog.Newest())
			taken.Standing = catalog.Newer
			f.Distribution, f.Server.Version = &taken, "99.1.0"
		}, ""},
		"a newer line, of an image that was not taken for newer": {func(f *status.Facts) {
			taken := *f.Distribution
			taken.Line, _ = catalog.Get(catalog.Newest())
			f.Distribution, f.Server.Version = &taken, "99.1.0"
		}, "the server reports version 99.1.0"},
		"a dev version": {func(f *status.Facts) { f.Server.Version = "dev" }, "the server reports version dev"},
		"no version":    {func(f *status.Facts) { f.Server.Version = "" }, "but release 0.7 was assumed"},
		"not listed":    {func(f *status.Facts) { f.Server.Providers = f.Server.Providers[1:] }, "; the server does not list: inference/vllm"},
		"not listed, of the base": {func(f *status.Facts) {
			f.Server.Providers = slices.DeleteFunc(f.Server.Providers, func(p serverprobe.Provider) bool { return p.API == "scoring" && p.ID == "basic" })
		}, "; the server does not list: scoring/basic"},
		"too many": {func(f *status.Facts) {
			f.Server.Providers, f.Server.Ignored = nil, 2
		}, "; 2 entries of the server's list of providers ignored: "},
		"providers hidden": {func(f *status.Facts) {
			f.Server.Providers, f.Server.ProvidersHidden = nil, true
		}, "; the server lists its providers to authenticated callers only, so they are not compared with the configuration"},
		"providers hidden by spec.auth": {func(f *status.Facts) {
			f.Server.Providers, f.Server.ProvidersHidden = nil, true
			f.Desired.Config.Auth.Type = "kubernetes"
		}, "so they are not compared with the configuration (authentication kubernetes)"},
		"silent": {func(f *status.Facts) {
			f.Server, f.ServerFailure = nil, "GET http://x/v1/version: the server responds with 500"
		}, "the version and providers of the server could not be read: GET http://x/v1/version: the server responds with 500"},
		"not asked yet": {func(f *status.Facts) { f.Server = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := serving(t, resource())
			c.change(f)
			s := compute(t, f)
			want := "1 of 1 pods are available"
			available := condition(t, &s, v1alpha2.ConditionAvailable)
			if available.Status != metav1.ConditionTrue || !strings.HasPrefix(available.Message, want) {
				t.Fatalf("Available %+v", available)
			}
			rest := strings.TrimPrefix(available.Message, want)
			if c.want == "" && rest != "" || !strings.Contains(rest, c.want) {
				t.Errorf("remark %q, want %q", rest, c.want)
			}
			if got := condition(t, &s, v1alpha2.ConditionReady); got.Status != metav1.ConditionTrue {
				t.Errorf("Ready %+v: a remark does not spoil it", got)
			}
		})
	}
}

// Proves: R15, R29, US-1.3 (no configuration is generated).
func TestImageDefault(t *testing.T) {
	cr := resource()
	cr.Spec.Providers, cr.Spec.Resources = nil, nil
	f := serving(t, cr)
	s := compute(t, f)
	expect(t, &s, v1alpha2.PhaseReady, map[string]string{
		"ConfigGenerated": "True ImageDefault", "SecretsResolved": "True NoSecretsReferenced", "DeploymentUpdated": "True DeploymentUpdated",
		"Available": "True ServerAvailable", "Ready": "True Ready",
	})
	if s.ConfigGeneration != nil || s.ResolvedDistribution.ConfigSource != v1alpha2.ConfigSourceImage || s.ResolvedDistribution.ConfigHash != "" {
		t.Errorf("configGeneration %+v, resolvedDistribution %+v", s.ConfigGeneration, s.ResolvedDistribution)
	}
	for _, p := range s.DistributionConfig.Providers {
		if p.Config != nil {
			t.Errorf("a config of %s, which was not generated", p.ProviderID)
		}
	}
}

// Proves: R12 (warnings are part of the ConfigGenerated message).
func TestWarnings(t *testing.T) {
	f := serving(t, resource())
	f.Problems = problem.List{
		{Severity: problem.Warning, Path: "spec.a", Detail: "odd", Fix: "fix it"},
		{Severity: problem.Warning, Path: "spec.b", Detail: "odder", Fix: "fix that"},
	}
	s := compute(t, f)
	c := condition(t, &s, v1alpha2.ConditionConfigGenerated)
	if c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, "; warning: spec.a: odd: fix it; warning: spec.b: odder: fix that") {
		t.Errorf("ConfigGenerated %+v", c)
	}
}

// Proves: R50, NFR-004 (messages are bounded and cut between characters).
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("ä", 50_000)
	for _, shift := range []string{"", "x"} {
		s := compute(t, rejectedEdit(ready(t), terminalProblem(shift+long)))
		if got := condition(t, &s, v1alpha2.ConditionReady).Message; !strings.HasSuffix(got, "… (cut)") {
			t.Errorf("the message does not say that it was cut: %s", got[len(got)-20:])
		}
	}
}

// Proves: R51.
func TestTerminating(t *testing.T) {
	cr := ready(t)
	cr.DeletionTimestamp = new(metav1.NewTime(now.Add(time.Minute)))
	s := compute(t, &status.Facts{CR: cr, Now: now.Add(time.Hour), OperatorVersion: "1.0.0"})
	if s.Phase != v1alpha2.PhaseTerminating {
		t.Errorf("phase %s", s.Phase)
	}
	s.Phase = v1alpha2.PhaseReady
	equal(t, "the rest", cr.Status, s)
}

// Proves: R50 (times change only with content).
func TestTransitionTimes(t *testing.T) {
	cr := ready(t)
	f := serving(t, cr)
	f.Now = now.Add(time.Hour)
	f.Deployment = deployment(1, 0)
	f.Server = nil
	s := compute(t, f)
	for kind, moved := range map[string]bool{
		v1alpha2.ConditionConfigGenerated: false, v1alpha2.ConditionSecretsResolved: false,
		v1alpha2.ConditionDeploymentUpdated: true, v1alpha2.ConditionAvailable: true, v1alpha2.ConditionReady: true,
	} {
		want := now
		if moved {
			want = f.Now
		}
		if got := condition(t, &s, kind).LastTransitionTime; !got.Time.Equal(want) {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// Proves: R86 (a rollout's changes of a Deployment without a status change start no reconcile).
func TestDeploymentDiffersInReportedFields(t *testing.T) {
	progressing := func(reason, message string) []appsv1.DeploymentCondition {
		return []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
	}
	for name, c := range map[string]struct {
		change func(d *appsv1.Deployment)
		want   bool
	}{
		"version":           {func(d *appsv1.Deployment) { d.ResourceVersion = "2" }, false},
		"ready":             {func(d *appsv1.Deployment) { d.Status.ReadyReplicas++ }, false},
		"unavailable":       {func(d *appsv1.Deployment) { d.Status.UnavailableReplicas++ }, false},
		"progress":          {func(d *appsv1.Deployment) { d.Status.Conditions = progressing("ReplicaSetUpdated", "b") }, false},
		"available":         {func(d *appsv1.Deployment) { d.Status.AvailableReplicas++ }, true},
		"another reason":    {func(d *appsv1.Deployment) { d.Status.Conditions = progressing("ProgressDeadlineExceeded", "a") }, true},
		"edited":            {func(d *appsv1.Deployment) { d.Generation++ }, true},
		"label":             {func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, true},
		"is being deleted":  {func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{} }, true},
		"no pod is created": {func(d *appsv1.Deployment) { d.Status.Conditions[0].Type = appsv1.DeploymentReplicaFailure }, true},
	} {
		before := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: progressing("ReplicaSetUpdated", "a")}}
		after := before.DeepCopy()
		c.change(after)
		if got := status.DeploymentDiffers(before, after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
