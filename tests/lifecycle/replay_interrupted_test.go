// SPDX-License-Identifier: Apache-2.0

package lifecycle

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/adopt"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// dying fails every write request after the first n, as if the operator were killed between two writes.
type dying struct {
	writes, limit atomic.Int64
	last          atomic.Pointer[string]
}

var errKilled = errors.New("killed")

func (d *dying) wrap(next http.RoundTripper) http.RoundTripper {
	return suite.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "-ca-bundle") {
			return next.RoundTrip(r) // deleted at any time after the last pod of release 0.9
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

// oneOperator reconciles with its own state, as one process of the operator does.
type oneOperator struct {
	*suite.Env
	gatherer *gather.Gatherer
	applier  *apply.Applier
	adopter  *adopt.Adopter
}

// withoutIndex reads from the API server, which selects by labels but not by the indexes of the operator's cache.
type withoutIndex struct{ client.Reader }

func (r withoutIndex) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, slices.DeleteFunc(options, func(o client.ListOption) bool { _, is := o.(client.MatchingFields); return is })...)
}

func newOperator(e *suite.Env, d *dying) *oneOperator {
	e.T.Helper()
	config := rest.CopyConfig(suite.OperatorConfig)
	key, err := apply.EnsureHashKey(e.T.Context(), suite.Admin, suite.Admin, framework.OperatorNamespace)
	framework.NoError(e.T, err)
	config.Wrap(d.wrap)
	c, err := client.New(config, client.Options{Scheme: suite.Scheme})
	framework.NoError(e.T, err)
	return &oneOperator{
		Env: e, applier: &apply.Applier{Client: c, Cached: withoutIndex{suite.Admin}, Live: c}, adopter: &adopt.Adopter{Client: c, Cached: suite.Admin, Live: c},
		// The operator reads these from its cache, with the permissions to list and watch, but not get.
		gatherer: &gather.Gatherer{Live: c, Cached: suite.Admin, OperatorNamespace: framework.OperatorNamespace, HashKey: key, Build: "1.0.0"},
	}
}

func (o *oneOperator) reconcile(ctx context.Context, name string) error {
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := o.Get(cr, name); err != nil {
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

// adopt reconciles until the adoption is complete, edits the custom resource, and reconciles until its pods are
// replaced. It returns the first error other than a conflict.
func (o *oneOperator) adopt(name string) error {
	o.T.Helper()
	var failed error
	framework.Eventually(o.T, 5*time.Minute, name+" is adopted", func() error {
		switch failed = o.reconcile(o.T.Context(), name); {
		// A controller of the cluster wrote in between, so the operator reconciles again.
		case apierrors.IsConflict(failed):
			return failed
		case failed != nil:
			return nil //nolint:nilerr // the caller gets the error
		}
		service := &corev1.Service{}
		if err := o.Get(service, names.ServiceName(name)); err != nil {
			return err
		}
		switch d := o.Deployment(name); {
		case release09.IsUnadopted(d):
			return errors.New("it is not adopted yet")
		case !names.HasNewPods(&d.Spec.Template):
			if revision := d.Annotations["deployment.kubernetes.io/revision"]; revision != "1" {
				o.T.Errorf("the adoption has made revision %s", revision)
			}
			o.PatchSpec(name, `{"workload":{"podDisruptionBudget":{"minAvailable":null,"maxUnavailable":1}}}`)
			return errors.New("it was edited")
		case release09.IsHeld(d), names.SelectsNewPods(service, name):
			return errors.New("its pods are not replaced yet")
		}
		return nil
	})
	return failed
}

// Proves: R78, R89, R56, R48, L-25 (if an operator is killed between two writes of an adoption or of the first edit
// after it, the next one completes the work: no rollout before the edit and one after it, no object of release 0.9
// left, and no pending write).
func TestAdoptionSurvivesBeingKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything", "was-config", "odd-volume"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := int64(0)
			var template any
			for killed := true; killed; steps++ {
				e := suite.NewEnv(t)
				one := e.Replay(name)[0]
				e.WaitRevision(name, "1")
				d := &dying{}
				d.limit.Store(steps)
				err := newOperator(e, d).adopt(name)
				if killed = errors.Is(err, errKilled); !killed && err != nil {
					t.Fatalf("killed after %d writes: %v", steps, err)
				}
				d.limit.Store(1 << 30)
				if err := newOperator(e, d).adopt(name); err != nil {
					t.Fatalf("the next operator, after one that was killed after %d writes: %v", steps, err)
				}
				now := checkAdopted(e, one, steps)
				if template == nil {
					template = now
				}
				if diff := cmp.Diff(template, now); diff != "" {
					t.Errorf("killed after %d writes, the pods are others (-killed at once +now):\n%s", steps, diff)
				}
				before := d.writes.Load()
				if err := newOperator(e, d).reconcile(t.Context(), name); err != nil || d.writes.Load() != before {
					t.Errorf("killed after %d writes: a third operator wrote %d times, %v: %s", steps, d.writes.Load()-before, err, *d.last.Load())
				}
				framework.NoError(t, suite.Admin.Delete(t.Context(), e.CR(name)))
				if !killed { // garbage collection needs one check only
					framework.Eventually(t, framework.Patience, "the server goes with its custom resource", func() error {
						if err := e.Get(&appsv1.Deployment{}, name); !apierrors.IsNotFound(err) {
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

// checkAdopted checks the adopted objects, and returns the pod template by its meaning.
func checkAdopted(e *suite.Env, one *framework.Recorded, steps int64) any {
	e.T.Helper()
	e.WaitRevision(one.Name(), "2")
	for _, recorded := range one.Objects {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(recorded.GroupVersionKind())
		if e.Get(o, recorded.GetName()) != nil || recorded.GetKind() == "ConfigMap" {
			continue // no longer desired
		}
		owners := o.GetOwnerReferences()
		if release09.Owns(o, one.Name()) || len(owners) != 1 || owners[0].Controller == nil {
			e.T.Errorf("killed after %d writes: %s %s has owners %v and fields of %v", steps, o.GetKind(), o.GetName(), owners, o.GetManagedFields())
		}
	}
	return meaning(framework.Tree(e.T, e.Deployment(one.Name()).Spec.Template))
}

// Proves: R56, L-03 (an operator that starts with up-to-date objects, adopted custom resources included, writes
// nothing).
func TestRestartWritesNothing(t *testing.T) {
	e := suite.NewEnv(t)
	recorded := []string{
		"cmdargs", "everything", "exposed", "img-digest", "img-tag", "minimal", "odd-volume", "pods", "scaled", "was-config", "workers", "zero",
		"old-server", "missing-secret", "other-ns",
	}
	e.Replay(recorded...)
	op := e.StartOperator()
	for _, name := range recorded[:12] {
		e.WaitCondition(name, v1alpha2.ConditionReady, "True", "")
	}
	e.Quiet(op)
	op.Stop()
	before := framework.ReconcileCount(t)
	op = e.StartOperator()
	e.Eventually("the operator has looked at everything", func() error {
		if n := framework.ReconcileCount(t) - before; n < float64(len(recorded)) {
			return fmt.Errorf("%v reconciles of %d custom resources", n, len(recorded))
		}
		return nil
	})
	e.Quiet(op)
	if writes := op.Requests.Writes(0); len(writes) > 0 {
		t.Errorf("%d writes after a restart: %v", len(writes), writes)
	}
	t.Logf("%d requests for %d custom resources", len(op.Requests.All()), len(recorded))
}
