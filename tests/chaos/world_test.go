// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// patience bounds all waits; the goals are shorter.
const patience = 5 * time.Minute

// world is a namespace with pods that become ready.
type world struct {
	framework.Namespace
	t *testing.T
}

var namespaces atomic.Int32

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{framework.Namespace{T: t, Cluster: cluster, Client: admin, Name: fmt.Sprintf("chaos-%d", namespaces.Add(1))}, t}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
	framework.NoError(t, admin.Create(t.Context(), namespace))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = admin.Delete(ctx, namespace)
	})
	framework.StartFakeKubelet(t, admin, w.Name)
	w.CreateSecret("keys", map[string]string{"token": "first"})
	return w
}

const typicalSpec = `{"distribution":{"name":"starter"},"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000/v1",` +
	`"apiKey":{"name":"keys","key":"token"}}},"workload":{"storage":{"size":"1Gi"},"podDisruptionBudget":{"maxUnavailable":1}},` +
	`"networking":{"allowedFrom":{"namespaces":["friends"]}}}`

// resource returns a typical custom resource, which owns objects of many kinds.
func (w *world) resource(name string) *v1alpha2.LlamaStackDistribution {
	w.t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: w.Name, Name: name}}
	framework.NoError(w.t, json.Unmarshal([]byte(typicalSpec), &cr.Spec))
	return cr
}

func (w *world) create(name string) *v1alpha2.LlamaStackDistribution {
	w.t.Helper()
	cr := w.resource(name)
	framework.Eventually(w.t, patience, name+" is created", func() error {
		cr.ResourceVersion = ""
		return client.IgnoreAlreadyExists(admin.Create(w.t.Context(), cr))
	})
	return cr
}

func (w *world) get(name string) (*v1alpha2.LlamaStackDistribution, error) {
	cr := &v1alpha2.LlamaStackDistribution{}
	return cr, w.Get(cr, name)
}

func (w *world) deployment(name string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, w.Get(d, name)
}

// isReady returns a function that checks whether the current custom resource is Ready.
func (w *world) isReady(name string) func() error {
	return func() error {
		_, err := w.HasCondition(name, v1alpha2.ConditionReady, metav1.ConditionTrue, "")
		return err
	}
}

func (w *world) waitReady(names ...string) {
	w.t.Helper()
	for _, name := range names {
		framework.Eventually(w.t, patience, name+" is Ready", w.isReady(name))
	}
}

var edits atomic.Int32

// edit edits the custom resource, which may take several attempts after an outage. It returns a function that waits
// until the edit takes effect and returns the time since the API server stored it.
func (w *world) edit(name string) (took func() time.Duration) {
	w.t.Helper()
	value := fmt.Sprintf("edit-%d", edits.Add(1))
	patch := fmt.Appendf(nil, `{"spec":{"workload":{"overrides":{"env":[{"name":"EDIT","value":%q}]}}}}`, value)
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: w.Name, Name: name}}
	framework.Eventually(w.t, patience, name+" is edited", func() error {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		return admin.Patch(ctx, cr, client.RawPatch(types.MergePatchType, patch))
	})
	stored := time.Now()
	return func() time.Duration {
		w.t.Helper()
		framework.Eventually(w.t, patience, "the edit of "+name+" takes effect", func() error {
			d, err := w.deployment(name)
			if err != nil {
				return err
			}
			for _, e := range d.Spec.Template.Spec.Containers[0].Env {
				if e.Name == "EDIT" && e.Value == value {
					return nil
				}
			}
			return errors.New("the Deployment does not have it")
		})
		return time.Since(stored)
	}
}

// leastGoal is the lower bound of goals in a short run, because the machine may be busy.
const leastGoal = time.Minute

func within(t *testing.T, what string, took, goal time.Duration) {
	t.Helper()
	if !full() {
		goal = max(goal, leastGoal)
	}
	if took > goal {
		t.Errorf("%s took %s, want at most %s", what, took, goal)
	}
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	framework.Eventually(w.t, patience, o.GetName()+" is gone", func() error {
		if err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}
