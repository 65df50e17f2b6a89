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

// Delay is how long a custom resource waits whose reconcile panicked, and a question that did: the same input does the
// same again.
const Delay = 10 * time.Minute

// ErrInternal is what a question reports that panicked.
var ErrInternal = errors.New("an error in the operator ended the question; the operator's log has details, please " +
	"report it")

// counted is how many reconciles, questions and reads for the caches panicked.
var counted atomic.Int64

// Count is how many reconciles, questions and reads for the caches have panicked in this process.
func Count() int64 { return counted.Load() }

// Record counts a panic with this value, and returns what the log and the status may report of it: what it says only
// where it is one of Go's own, because it can hold a value of a Secret.
func Record(value any) (what string, wrong *problem.Problem) {
	what = count(value)
	return what, problem.New(problem.Problem{
		Reason: problem.InternalError, Path: "spec", Type: field.ErrorTypeInternal,
		Detail: "an error in the operator ended the reconcile of this custom resource; what runs stays as it is. " +
			fmt.Sprintf("Trying again in %s, or when the custom resource changes", Delay),
		Fix: "the operator's log has details, please report it",
	})
}

// Catch ends, where it is deferred, a panic outside of the reconcile workers, which would end the process: it counts
// it, logs what may be shown of it, and sets the error to ErrInternal.
func Catch(log logr.Logger, message string, err *error) { //nolint:gocritic // the result of the function that defers it
	if value := recover(); value != nil {
		logPanic(log, message, value)
		*err = ErrInternal
	}
}

// CatchRead ends, where it is deferred, a panic of a function by which an informer reads an object. It would end the
// process, again at each of its starts, because the object is still there: the function returns nothing instead, and
// the object's reconcile meets and reports the same panic.
func CatchRead(log logr.Logger, of metav1.Object, message string) {
	if value := recover(); value != nil {
		logPanic(log.WithValues("namespace", of.GetNamespace(), "name", of.GetName()), message, value)
	}
}

func logPanic(log logr.Logger, message string, value any) {
	log.Error(errors.New(count(value)), message, "stack", string(debug.Stack()))
}

// count counts a panic, and returns what may be shown of it.
func count(value any) (what string) {
	counted.Add(1)
	if own, ok := value.(runtime.Error); ok {
		return own.Error()
	}
	return fmt.Sprintf("%T", value)
}
