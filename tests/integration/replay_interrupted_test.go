// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/adopt"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// replay makes recorded custom resources of the namespace "own" in the namespace of the test, as they are after conversion, and what release
// 0.9 made for them.
func (e *env) replay(names ...string) []*framework.Recorded {
	e.t.Helper()
	recorded, beside, err := framework.Recording()
	framework.NoError(e.t, err)
	// The pods of release 0.9 do not meet the restricted Pod Security Standard.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	privileged := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
	framework.NoError(e.t, admin.Patch(e.t.Context(), ns, privileged))
	for _, o := range beside {
		if o.GetNamespace() == "own" {
			framework.NoError(e.t, admin.Create(e.t.Context(), framework.WithoutServerFields(o, e.namespace)))
		}
	}
	var made []*framework.Recorded
	for _, name := range names {
		for _, one := range recorded {
			if one.Name() != name {
				continue
			}
			resource := &unstructured.Unstructured{Object: v1alpha1.ToV1alpha2(framework.WithoutServerFields(one.Resource, e.namespace).Object)}
			framework.NoError(e.t, admin.Create(e.t.Context(), resource))
			framework.NoError(e.t, one.Replay(e.t.Context(), admin, resource))
			made = append(made, one)
		}
	}
	if len(made) != len(names) {
		e.t.Fatalf("recorded are %d of %v", len(made), names)
	}
	return made
}

// dying fails every request that could change something after the first n: an operator that is killed between two writes.
type dying struct {
	writes, limit atomic.Int64
	last          atomic.Pointer[string]
}

var errKilled = errors.New("killed")

func (d *dying) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "-ca-bundle") {
			return next.RoundTrip(r) // removed when the last pod of release 0.9 has gone, at any time
		}
		if r.Method != http.MethodGet && d.writes.Add(1) > d.limit.Load() {
			return nil, errKilled
		}
		if r.Method != http.MethodGet {
			d.last.Store(new(r.Method + " " + r.URL.Path))
		}
		return next.RoundTrip(r)
	})
}

// oneOperator is an operator with a memory of its own.
type oneOperator struct {
	*env
	gatherer *gather.Gatherer
	applier  *apply.Applier
	adopter  *adopt.Adopter
}

// withoutIndex reads from the API server, by labels alone, what an operator lists from its cache by an index as well.
type withoutIndex struct{ client.Reader }

func (r withoutIndex) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, slices.DeleteFunc(options, func(o client.ListOption) bool { _, is := o.(client.MatchingFields); return is })...)
}

func (e *env) newOperator(d *dying) *oneOperator {
	e.t.Helper()
	config := rest.CopyConfig(operatorConfig)
	key, err := apply.EnsureHashKey(e.t.Context(), admin, admin, operatorNamespace)
	framework.NoError(e.t, err)
	config.Wrap(d.wrap)
	c, err := client.New(config, client.Options{Scheme: scheme})
	framework.NoError(e.t, err)
	return &oneOperator{
		env: e, applier: &apply.Applier{Client: c, Cached: withoutIndex{admin}, Live: c}, adopter: &adopt.Adopter{Client: c, Cached: admin, Live: c},
		// The operator has a cache for these reads, and may list and watch, but not get.
		gatherer: &gather.Gatherer{Live: c, Cached: admin, OperatorNamespace: operatorNamespace, HashKey: key, Build: "1.0.0"},
	}
}

// reconcile is what the operator does for a custom resource, once.
func (o *oneOperator) reconcile(ctx context.Context, name string) error {
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := o.get(cr, name); err != nil {
		return err
	}
	gathered, problems := o.gatherer.Gather(ctx, cr)
	if errs := problems.Errors(); len(errs) > 0 {
		return errors.New(errs.Message())
	}
	built, problems := build.Build(ctx, gathered.Inputs)
	if errs := problems.Errors(); len(errs) > 0 {
		return errors.New(errs.Message())
	}
	wanted := append(append([]objects.Object{}, built.Objects...), built.Held...)
	f := o.adopter.Adopt(ctx, cr, gathered.Inputs.Live, wanted)
	list := built.Objects
	if f == nil {
		list, _, f = o.adopter.Switchover(ctx, cr, gathered.Inputs.Live, list)
	}
	if f == nil {
		_, f = o.applier.Apply(ctx, cr, list)
	}
	if f == nil {
		f = o.applier.Prune(ctx, cr, wanted)
	}
	if f == nil {
		f = o.adopter.Prune(ctx, cr)
	}
	if f != nil {
		return fmt.Errorf("%s: %w", f, f.Err)
	}
	return nil
}

// adopt reconciles until the adoption is complete, edits the custom resource, and reconciles until the pods are new ones, or an error ends it.
func (o *oneOperator) adopt(name string) error {
	o.t.Helper()
	var failed error
	framework.Eventually(o.t, time.Minute, name+" is adopted", func() error {
		switch failed = o.reconcile(o.t.Context(), name); {
		case apierrors.IsConflict(failed): // a controller of the cluster came in between: the operator reconciles again
			return failed
		case failed != nil:
			return nil //nolint:nilerr // no use to wait; the caller gets it
		}
		service := &corev1.Service{}
		if err := o.get(service, objects.ServiceName(name)); err != nil {
			return err
		}
		switch d := o.deployment(name); {
		case release09.Left(d):
			return errors.New("it is not adopted yet")
		case !objects.HasNewPods(&d.Spec.Template):
			if revision := d.Annotations["deployment.kubernetes.io/revision"]; revision != "1" {
				o.t.Errorf("the adoption has made revision %s", revision)
			}
			o.patchSpec(name, `{"workload":{"podDisruptionBudget":{"minAvailable":null,"maxUnavailable":1}}}`)
			return errors.New("it was edited")
		case release09.IsHeld(d), objects.SelectsNewPods(service, name):
			return errors.New("its pods are not replaced yet")
		}
		return nil
	})
	return failed
}

// Proves: R78, R89, R56, R48, L-25 (an operator that is killed between any two writes of an adoption, or of the first edit after it, leaves something
// that the next one finishes, with no rollout before the edit and one after it, with nothing that belongs to release 0.9, and with nothing left to write).
func TestAdoptionSurvivesBeingKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything", "was-config", "odd-volume"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := int64(0)
			var template any
			for killed := true; killed; steps++ {
				e := newEnv(t)
				one := e.replay(name)[0]
				e.waitForRevision(name, "1")
				d := &dying{}
				d.limit.Store(steps)
				err := e.newOperator(d).adopt(name)
				if killed = errors.Is(err, errKilled); !killed && err != nil {
					t.Fatalf("killed after %d writes: %v", steps, err)
				}
				d.limit.Store(1 << 30)
				if err := e.newOperator(d).adopt(name); err != nil {
					t.Fatalf("the next operator, after one that was killed after %d writes: %v", steps, err)
				}
				now := e.checkAdopted(one, steps)
				if template == nil {
					template = now
				}
				if diff := cmp.Diff(template, now); diff != "" {
					t.Errorf("killed after %d writes, the pods are others (-killed at once +now):\n%s", steps, diff)
				}
				before := d.writes.Load()
				if err := e.newOperator(d).reconcile(t.Context(), name); err != nil || d.writes.Load() != before {
					t.Errorf("killed after %d writes: a third operator wrote %d times, %v: %s", steps, d.writes.Load()-before, err, *d.last.Load())
				}
				framework.NoError(t, admin.Delete(t.Context(), e.resource(name)))
				if !killed { // the garbage collector does the same each time
					framework.Eventually(t, time.Minute, "the server goes with its custom resource", func() error {
						if err := e.get(&appsv1.Deployment{}, name); !apierrors.IsNotFound(err) {
							return fmt.Errorf("reading the Deployment: %w", err)
						}
						return nil
					})
				}
			}
			t.Logf("%d writes", steps-1)
			if steps < 10 {
				t.Errorf("an adoption is %d writes: nothing is shown", steps)
			}
		})
	}
}

// waitForRevision waits until the Deployment is seen by its controller, and has rolled that often.
func (e *env) waitForRevision(name, revision string) {
	e.t.Helper()
	framework.Eventually(e.t, time.Minute, name+" has revision "+revision, func() error {
		d := e.deployment(name)
		if got := d.Annotations["deployment.kubernetes.io/revision"]; got != revision || d.Status.ObservedGeneration != d.Generation {
			return fmt.Errorf("revision %q, %+v", got, d.Status)
		}
		return nil
	})
}

// checkAdopted checks what became of the objects, and returns the meaning of the pod template.
func (e *env) checkAdopted(one *framework.Recorded, steps int64) any {
	e.t.Helper()
	e.waitForRevision(one.Name(), "2")
	for _, recorded := range one.Objects {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(recorded.GroupVersionKind())
		if e.get(o, recorded.GetName()) != nil || recorded.GetKind() == "ConfigMap" {
			continue // not desired any more
		}
		owners := o.GetOwnerReferences()
		if release09.Owns(o, one.Name()) || len(owners) != 1 || owners[0].Controller == nil {
			e.t.Errorf("killed after %d writes: %s %s has owners %v and fields of %v", steps, o.GetKind(), o.GetName(), owners, o.GetManagedFields())
		}
	}
	return meaning(treeOf(e.t, e.deployment(one.Name()).Spec.Template))
}

// Proves: R56, L-03 (an operator that starts where everything is as it should be writes nothing at all, adopted custom resources included).
func TestRestartWritesNothing(t *testing.T) {
	e := newEnv(t)
	names := []string{
		"cmdargs", "everything", "exposed", "img-digest", "img-tag", "minimal", "odd-volume", "pods", "scaled", "was-config", "workers", "zero",
		"old-server", "missing-secret", "other-ns",
	}
	e.replay(names...)
	op := e.startOperator(operatorOptions{})
	for _, name := range names[:12] {
		e.waitFor(name, v1alpha2.ConditionReady, "True", "")
	}
	e.quiet(op)
	op.stop()
	before := framework.ReconcileCount(t)
	op = e.startOperator(operatorOptions{})
	framework.Eventually(t, time.Minute, "the operator has looked at everything", func() error {
		if n := framework.ReconcileCount(t) - before; n < float64(len(names)) {
			return fmt.Errorf("%v reconciles of %d custom resources", n, len(names))
		}
		return nil
	})
	e.quiet(op)
	if writes := op.requests.writes(0); len(writes) > 0 {
		t.Errorf("%d writes after a restart: %v", len(writes), writes)
	}
	t.Logf("%d requests for %d custom resources", len(op.requests.all()), len(names))
}
