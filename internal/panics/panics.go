// SPDX-License-Identifier: Apache-2.0

package panics

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Delay is the retry delay after a panic, because the same input panics again.
const Delay = 10 * time.Minute

// ErrInternal means that a request to a server or registry panicked.
var ErrInternal = errors.New("an error in the operator ended the question; the operator's log has details, please " +
	"report it")

var counted atomic.Int64

// Count returns how many reconciles, requests and cache reads have panicked in this process.
func Count() int64 { return counted.Load() }

// Record counts a panic, and returns its text for the log and its problem for the status; see the package comment.
func Record(value any) (what string, wrong *problem.Problem) {
	what = count(value)
	return what, problem.New(problem.Problem{
		Reason: problem.InternalError, Path: "spec", Type: field.ErrorTypeInternal,
		Detail: "an error in the operator ended the reconcile of this custom resource; what runs stays as it is. " +
			fmt.Sprintf("Trying again in %s, or when the custom resource changes", Delay),
		Fix: "the operator's log has details, please report it",
	})
}

// Catch is for defer: it recovers from a panic outside of the workers, counts and logs it, and sets ErrInternal.
func Catch(log logr.Logger, message string, err *error) { //nolint:gocritic // the result of the function that defers it
	if value := recover(); value != nil {
		logPanic(log, message, value)
		*err = ErrInternal
	}
}

// CatchRead recovers, when deferred, from a panic of an informer function, which the reconcile of the object reports.
func CatchRead(log logr.Logger, of metav1.Object, message string) {
	if value := recover(); value != nil {
		logPanic(log.WithValues("namespace", of.GetNamespace(), "name", of.GetName()), message, value)
	}
}

func logPanic(log logr.Logger, message string, value any) {
	log.Error(errors.New(count(value)), message, "stack", string(debug.Stack()))
}

func count(value any) (what string) {
	counted.Add(1)
	if own, ok := value.(runtime.Error); ok {
		return own.Error()
	}
	return fmt.Sprintf("%T", value)
}
