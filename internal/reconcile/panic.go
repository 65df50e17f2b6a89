// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// reportPanic reports the panic in the status and requeues after problem.PanicRetryDelay. Log and status show the text
// only of Go's own panics: any other can hold a value of a Secret.
func (r *Reconciler) reportPanic(ctx context.Context, s *scope, value any) (ctrl.Result, error) {
	message, bug := problem.RecordPanic(value)
	log := logf.FromContext(ctx)
	log.Error(errors.New(message), "reconcile panicked", "stack", string(debug.Stack()))
	retry := ctrl.Result{RequeueAfter: problem.PanicRetryDelay}
	if s.cr.UID == "" && s.cr.ResourceVersion == "" {
		return retry, nil // not read yet
	}
	failed := &scope{key: s.key, cr: s.cr, gathered: s.gathered}
	if failed.gathered == nil {
		failed.gathered = &gather.Gathered{Inputs: &build.Inputs{CR: s.cr, Spec: &parse.Spec{Source: &s.cr.Spec}},
			DeploymentUnknown: true}
	}
	failed.deployment = failed.gathered.Inputs.Live
	failed.fail(bug)
	defer func() {
		if value := recover(); value != nil {
			log.Error(fmt.Errorf("%T", value), "cannot write the status after a panic")
		}
	}()
	result, err := r.report(ctx, failed)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case failed.stale:
		return result, nil
	}
	return retry, nil
}
