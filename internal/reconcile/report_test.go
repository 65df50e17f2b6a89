// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

var errTimeout = errors.New("the server timed out")

// reporter is a Reconciler with a client that counts status writes and may reject them.
type reporter struct {
	*Reconciler
	recorder *events.FakeRecorder
	writes   int
	refuse   error
}

func stack(name string) *v1alpha2.LlamaStackDistribution {
	return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name, UID: types.UID("uid-" + name)}}
}

func newReporter(t *testing.T) *reporter {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &reporter{recorder: events.NewFakeRecorder(100)}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stack("a")).WithStatusSubresource(stack("a")).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(
			ctx context.Context, inner client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			r.writes++
			if r.refuse != nil {
				return r.refuse
			}
			return inner.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	}).Build()
	r.Reconciler = &Reconciler{client: c, recorder: r.recorder, metrics: metrics.New(catalog.Lines())}
	return r
}

// reportOnce reports problems of the stored custom resource.
func (r *reporter) reportOnce(t *testing.T, problems ...problem.Problem) (ctrl.Result, error) {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(stack("a")), cr); err != nil {
		t.Fatal(err)
	}
	cr.Generation = 1
	return r.report(t.Context(), &scope{cr: cr, problems: problems})
}

func terminalProblem(reason problem.Reason) problem.Problem {
	return problem.Problem{Class: problem.Terminal, Condition: v1alpha2.ConditionDeploymentUpdated, Reason: reason, Detail: "wrong"}
}

// Proves: R56, R50, L-29, L-33 (a changed status is written once, before the Events).
func TestReportWritesOnce(t *testing.T) {
	r := newReporter(t)
	for range 3 {
		if result, err := r.reportOnce(t, terminalProblem(problem.ObjectRejected)); err != nil || result != (ctrl.Result{}) {
			t.Fatalf("%+v %v", result, err)
		}
	}
	if r.writes != 1 {
		t.Errorf("%d writes of the same status", r.writes)
	}
	if got := len(r.recorder.Events); got != 1 { // for DeploymentUpdated
		t.Errorf("%d events", got)
	}
}

// Proves: L-03, L-08, L-30 (which errors are retried, and when).
func TestReportOutcome(t *testing.T) {
	resource := schema.GroupResource{Group: "llamastack.io", Resource: "llamastackdistributions"}
	for name, c := range map[string]struct {
		fault   problem.Problem
		refuse  error
		want    ctrl.Result
		err     error
		noEvent bool
	}{
		"wrong waits for an edit": {terminalProblem(problem.ObjectRejected), nil, ctrl.Result{}, nil, false},
		"a foreign object is looked for again": {
			terminalProblem(problem.Conflict), nil, ctrl.Result{RequeueAfter: foreignDelay}, nil, false,
		},
		"a failed question is asked again": {
			problem.Problem{Class: problem.Transient, Condition: v1alpha2.ConditionConfigGenerated, Reason: "X", Detail: "m", Err: errTimeout},
			nil, ctrl.Result{}, errTimeout, false,
		},
		"written by another client": {
			terminalProblem(problem.ObjectRejected), apierrors.NewConflict(resource, "a", errors.New("modified")), ctrl.Result{RequeueAfter: conflictDelay}, nil, true,
		},
		"gone":          {terminalProblem(problem.ObjectRejected), apierrors.NewNotFound(resource, "a"), ctrl.Result{}, nil, true},
		"status failed": {terminalProblem(problem.ObjectRejected), errTimeout, ctrl.Result{}, errTimeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t)
			r.refuse = c.refuse
			result, err := r.reportOnce(t, c.fault)
			if result != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v %v, want %+v %v", result, err, c.want, c.err)
			}
			if got := len(r.recorder.Events); (got == 0) != c.noEvent {
				t.Errorf("%d events", got)
			}
		})
	}
}

// Proves: R63 (the panic is counted, and its value is not shown).
func TestPanicIsReportedAndRetriedSlowly(t *testing.T) {
	r := newReporter(t)
	before := problem.PanicCount()
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stack("a"))}
	result, err := r.Reconcile(t.Context(), request) // without a gatherer
	if err != nil || result.RequeueAfter != problem.PanicRetryDelay || problem.PanicCount() != before+1 {
		t.Fatalf("%+v %v, %v panics", result, err, problem.PanicCount()-before)
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := r.client.Get(t.Context(), request.NamespacedName, cr); err != nil {
		t.Fatal(err)
	}
	condition := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionConfigGenerated)
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != string(problem.InternalError) {
		t.Errorf("%+v", condition)
	}
	const secret = "canary"
	if _, err := r.reportPanic(t.Context(), &scope{cr: cr}, secret); err != nil || strings.Contains(fmt.Sprint(cr.Status), secret) {
		t.Errorf("%v %+v", err, cr.Status)
	}
}

// Proves: R63 (after a conflict the report is retried soon, not with the next slow attempt).
func TestPanicIsReportedAfterAConflict(t *testing.T) {
	r := newReporter(t)
	r.refuse = apierrors.NewConflict(schema.GroupResource{Group: "llamastack.io", Resource: "llamastackdistributions"}, "a", errors.New("modified"))
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stack("a"))}
	if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter != conflictDelay {
		t.Fatalf("%+v %v", result, err)
	}
	r.refuse = nil
	if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter != problem.PanicRetryDelay || r.writes != 2 {
		t.Errorf("%+v %v, %d writes", result, err, r.writes)
	}
}

// Proves: EC-LOG (each warning is logged once, when it is new, beside its Event).
func TestWarningsAreLogged(t *testing.T) {
	r := newReporter(t)
	var lines []string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	warning := problem.Problem{
		Severity: problem.Warning, Class: problem.Terminal, Condition: v1alpha2.ConditionConfigGenerated, Reason: problem.DisabledAPI,
		Path: "spec.disabled[0]", Detail: "also disables provider vllm",
	}
	logged := func() (count int) {
		t.Helper()
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(stack("a")), cr); err != nil {
			t.Fatal(err)
		}
		lines = nil
		s := &scope{cr: cr, problems: problem.List{warning}, desired: &build.Desired{}, gathered: &gather.Gathered{Inputs: &build.Inputs{
			CR: cr, Distribution: &settings.Distribution{},
		}}}
		if _, err := r.report(ctx, s); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if strings.Contains(line, "\"msg\"=\"warning\"") && strings.Contains(line, "spec.disabled[0]: also disables provider vllm") {
				count++
			}
		}
		return count
	}
	for i, want := range []int{1, 0} {
		if got := logged(); got != want {
			t.Errorf("report %d: %d lines, want %d:\n%s", i, got, want, strings.Join(lines, "\n"))
		}
	}
	warning.Detail += "; new"
	if got := logged(); got != 1 {
		t.Errorf("%d lines of another warning", got)
	}
}
