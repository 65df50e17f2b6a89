// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: R56, FR-026.
func TestNothingIsSentTwice(t *testing.T) {
	c := fakecluster.New(t)
	a := applier(c)
	apply := func(config string, want int) *Result {
		t.Helper()
		c.Applied = nil
		result, f := a.Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired(config))
		if f != nil {
			t.Fatal(f)
		}
		if len(c.Applied) != want {
			t.Errorf("sent %v, want %d objects", c.Applied, want)
		}
		return result
	}
	if r := apply("a: 1", 4); r.Changed != 4 || r.Deployment == nil || r.Deployment.Name != "my-stack" {
		t.Errorf("result %+v", r)
	}
	if r := apply("a: 1", 0); r.Changed != 0 || r.Deployment != nil {
		t.Errorf("result %+v of sending nothing", r)
	}
	// New content changes the ConfigMap and the pod template only.
	apply("a: 2", 2)
	if got := fakecluster.Sorted(c.Applied); !strings.HasPrefix(got, "[ConfigMap/my-stack-config-") || !strings.HasSuffix(got, " Deployment/my-stack]") {
		t.Errorf("sent %s", got)
	}
}

// Proves: L-08, R19 (an object of another owner is reported and not changed, and dependent objects are not sent).
func TestConflict(t *testing.T) {
	yes := true
	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", OwnerReferences: []metav1.OwnerReference{
		{Kind: "Rollout", Name: "theirs", UID: "x", Controller: &yes},
	}}}
	for name, c := range map[string]struct {
		live  client.Object
		class problem.Class
		want  string
	}{
		"unowned": {
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}, problem.Terminal,
			"Deployment my-stack: exists and was created by neither this operator nor release 0.9 for this LlamaStackDistribution; nothing was created: create",
		},
		"of another owner": {foreign, problem.Terminal, "Deployment my-stack: exists and is controlled by Rollout theirs; nothing was created: create"},
		"of an earlier resource": {
			fakecluster.Owned(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "my-stack"}}, "u0"), problem.WaitingForDependency,
			"Deployment my-stack: still belongs to an earlier custom resource of this name, which is being removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := fakecluster.New(t, c.live)
			a := applier(live)
			a.Cached = fakecluster.New(t) // the cache lacks objects without the operator's label
			list := fakecluster.Desired("a: 1")
			result, f := a.Apply(t.Context(), fakecluster.Owner(), list)
			a.Cached = live // now it has the object, and what was created stays the operator's to remove
			again, g := a.Apply(t.Context(), fakecluster.Owner(), list)
			if !result.NameTaken || !again.NameTaken || g.String() != f.String() {
				t.Errorf("%+v, then %+v: %s", result, again, g)
			}
			if f == nil || f.Class != c.class || f.Reason != map[bool]problem.Reason{true: problem.Conflict, false: problem.WaitingForRemoval}[c.class == problem.Terminal] || f.Condition != v1alpha2.ConditionDeploymentUpdated {
				t.Fatalf("fault %+v", f)
			}
			if !strings.HasPrefix(f.String(), c.want) || strings.Contains(f.String(), "remove it") {
				t.Errorf("message %q, want %q", f.String(), c.want)
			}
			if f := a.RemoveCreated(t.Context(), fakecluster.Owner(), list); f != nil {
				t.Fatal(f)
			}
			for _, o := range list {
				found := EmptyLike(o)
				if err := live.Get(t.Context(), client.ObjectKeyFromObject(o), found); !apierrors.IsNotFound(err) && found.GetUID() != c.live.GetUID() {
					t.Errorf("%s %s stays: %v", KindOf(o), o.GetName(), err)
				}
			}
		})
	}
}

// denied returns the error of an admission policy in Kubernetes 1.30 to 1.36.
func denied(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: message}}},
	}}
}

// Proves: L-06, L-30 (an error that only an edit can fix is terminal and readable; any other is retried).
func TestRefusals(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, c := range map[string]struct {
		err    error
		class  problem.Class
		advice string
	}{
		"invalid": {apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "my-stack", nil), problem.Terminal, ""},
		"invalid in a field": {
			apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "my-stack", field.ErrorList{field.Required(field.NewPath("spec"), "")}),
			problem.Terminal, "",
		},
		"denied by a policy": {denied("the platform team says no"), problem.Transient, ""}, // a policy can change without an edit
		"bad request":        {apierrors.NewBadRequest("strict decoding error"), problem.Terminal, ""},
		"forbidden":          {apierrors.NewForbidden(deployments, "my-stack", errors.New("exceeded quota")), problem.Transient, ""},
		"conflict":           {apierrors.NewConflict(deployments, "my-stack", errors.New("modified")), problem.Transient, ""},
		"timeout":            {apierrors.NewServerTimeout(deployments, "patch", 1), problem.Transient, ""},
		"network":            {errors.New("connection refused"), problem.Transient, ""},
		"too large": {
			apierrors.NewRequestEntityTooLargeError("limit is 3145728"), problem.Terminal,
			": make it smaller: fewer or shorter values in the spec, or in the objects that it refers to",
		},
		"too large for etcd": {
			apierrors.NewInternalError(errors.New("etcdserver: request is too large")), problem.Terminal,
			": make it smaller: fewer or shorter values in the spec, or in the objects that it refers to",
		},
		"too large for the client of etcd": {
			apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097178 vs. 2097152)")),
			problem.Terminal, ": make it smaller: fewer or shorter values in the spec, or in the objects that it refers to",
		},
	} {
		cluster := fakecluster.New(t)
		cluster.Refuse["Deployment/my-stack"] = c.err
		result, f := applier(cluster).Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1"))
		reasons := map[problem.Class]problem.Reason{problem.Terminal: problem.ObjectRejected, problem.Transient: problem.ApplyFailed}
		if f == nil || f.Class != c.class || f.Reason != reasons[c.class] || f.Condition != v1alpha2.ConditionDeploymentUpdated || !errors.Is(f.Err, c.err) {
			t.Fatalf("%s: problem %+v, want class %s", name, f, c.class)
		}
		if want := fmt.Sprintf("Deployment my-stack: could not be applied: %v%s", c.err, c.advice); f.String() != want {
			t.Errorf("%s: message %q, want %q", name, f.String(), want)
		}
		if result.Changed != 3 || result.Deployment != nil { // the ServiceAccount, the ConfigMap and the Service
			t.Errorf("%s: sent %v, result %+v: want nothing after the refusal", name, cluster.Applied, result)
		}
	}
}

func TestOwnedKindsHoldConfigMapsAsMetadata(t *testing.T) {
	for _, o := range FullKinds() {
		switch o.(type) {
		case *corev1.ConfigMap, *corev1.Secret, *corev1.Pod, *appsv1.ReplicaSet:
			t.Errorf("%T is cached in full", o)
		}
	}
	if got := ConfigMapMetadata().GroupVersionKind().Kind + SecretMetadata().GroupVersionKind().Kind; got != "ConfigMapSecret" {
		t.Errorf("kinds %s", got)
	}
}

func applier(c *fakecluster.Cluster) *Applier { return &Applier{Client: c, Cached: c, Live: c} }

// Proves: L-22 (the operator hands the replicas over only while it owns the field).
func TestOwnsReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"own":      {fakecluster.Entry(FieldManager, "Apply", `{"f:spec":{"f:replicas":{}}}`, ""), true},
		"without":  {fakecluster.Entry(FieldManager, "Apply", `{"f:spec":{"f:template":{}}}`, ""), false},
		"other's":  {fakecluster.Entry("kubectl", "Apply", `{"f:spec":{"f:replicas":{}}}`, ""), false},
		"by scale": {fakecluster.Entry(FieldManager, "Apply", `{"f:spec":{"f:replicas":{}}}`, "scale"), false},
		"damaged":  {fakecluster.Entry(FieldManager, "Apply", `[]`, ""), false},
	} {
		if got := ownsReplicas([]metav1.ManagedFieldsEntry{c.entry}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
