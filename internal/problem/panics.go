// SPDX-License-Identifier: Apache-2.0

package problem

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
)

// PanicRetryDelay is the retry delay after a panic, because the same input panics again.
const PanicRetryDelay = 10 * time.Minute

// ErrInternal means that a request to a server or registry panicked.
var ErrInternal = errors.New("an error in the operator ended the question; the operator's log has details, please " +
	"report it")

var panicCount atomic.Int64

// PanicCount returns how many reconciles, requests and cache reads have panicked in this process.
func PanicCount() int64 { return panicCount.Load() }

// RecordPanic counts a panic, and returns its text for the log and its problem for the status; see the package comment.
func RecordPanic(value any) (what string, wrong *Problem) {
	what = countPanic(value)
	return what, New(Problem{
		Reason: InternalError, Path: "spec", Type: field.ErrorTypeInternal,
		Detail: "an error in the operator ended the reconcile of this custom resource; what runs stays as it is. " +
			fmt.Sprintf("Trying again in %s, or when the custom resource changes", PanicRetryDelay),
		Fix: "the operator's log has details, please report it",
	})
}

// CatchPanic is for defer: it recovers from a panic outside of the workers, counts and logs it, and sets ErrInternal.
func CatchPanic(log logr.Logger, message string, err *error) { //nolint:gocritic // the deferring function's result
	if value := recover(); value != nil {
		logPanic(log, message, value)
		*err = ErrInternal
	}
}

// CatchReadPanic recovers, when deferred, from a panic of an informer function; the object's reconcile reports it.
func CatchReadPanic(log logr.Logger, of metav1.Object, message string) {
	if value := recover(); value != nil {
		logPanic(log.WithValues("namespace", of.GetNamespace(), "name", of.GetName()), message, value)
	}
}

func logPanic(log logr.Logger, message string, value any) {
	log.Error(errors.New(countPanic(value)), message, "stack", string(debug.Stack()))
}

func countPanic(value any) (what string) {
	panicCount.Add(1)
	if own, ok := value.(runtime.Error); ok {
		return own.Error()
	}
	return fmt.Sprintf("%T", value)
}
