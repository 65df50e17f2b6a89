// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// panicDelay is how long a resource waits whose reconcile panicked: the same input does the same again.
const panicDelay = 10 * time.Minute

// panicked is how many reconciles panicked, and panics the metric of it.
var (
	panicked atomic.Int64
	panics   = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "llamastack_reconcile_panics_total", Help: "Reconciles of LlamaStackDistributions that panicked. Each is an error in the operator.",
	}, func() float64 { return float64(panicked.Load()) })
)

// registerMetrics makes the counter known; several managers of one process share it.
func registerMetrics() error {
	err := metrics.Registry.Register(panics)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		return nil
	}
	return err
}

// reportPanic reports in the status of the resource that its reconcile panicked, and tries again much later. What runs stays as it is: the
// panic ended the reconcile before it could write more. Neither log nor status shows what the panic says unless it is one of Go's own,
// because it can hold a value of a Secret.
func (r *Reconciler) reportPanic(ctx context.Context, s *scope, value any) (ctrl.Result, error) {
	panicked.Add(1)
	what := fmt.Sprintf("%T", value)
	if own, ok := value.(runtime.Error); ok {
		what = own.Error()
	}
	log := logf.FromContext(ctx)
	log.Error(errors.New(what), "reconcile panicked", "stack", string(debug.Stack()))
	again := ctrl.Result{RequeueAfter: panicDelay}
	if s.cr.UID == "" && s.cr.ResourceVersion == "" {
		return again, nil // it has not been read
	}
	failed := &scope{key: s.key, cr: s.cr, gathered: s.gathered}
	if failed.gathered == nil {
		failed.gathered = &gather.Gathered{Inputs: &desired.Inputs{CR: s.cr, Spec: &parse.Spec{Source: &s.cr.Spec}}, DeploymentUnknown: true}
	}
	failed.deployment = failed.gathered.Inputs.Live
	failed.fail(problem.New(problem.Problem{
		Reason: problem.InternalError, Path: "spec", Type: field.ErrorTypeInternal,
		Detail: "an error in the operator ended the reconcile of this custom resource; what runs stays as it is. " +
			fmt.Sprintf("Trying again in %s, or when the custom resource changes", panicDelay),
		Fix: "the operator's log has details, please report it",
	}))
	defer func() {
		if value := recover(); value != nil {
			log.Error(fmt.Errorf("%T", value), "the status of a resource whose reconcile panicked cannot be written")
		}
	}()
	if _, err := r.report(ctx, failed); err != nil {
		return ctrl.Result{}, err
	}
	return again, nil
}
