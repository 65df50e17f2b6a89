// SPDX-License-Identifier: Apache-2.0

package settingsreport

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	record "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// The actions of Events. A further Event of the same action would change the first one, which the operator may not.
const (
	actionRead    = "ReadSettings"
	actionCompare = "CompareBase"
)

// Reporter reports the errors. Set its fields before Setup.
type Reporter struct {
	// Read returns the errors of the settings; the problem means that all settings are unreadable or invalid.
	Read func(context.Context) ([]settings.Problem, *problem.Problem)
	// Watch calls a function after each change of a ConfigMap with settings until the context ends.
	Watch             func(context.Context, func(client.Object)) error
	Cached            client.Reader
	Recorder          record.EventRecorder
	Count             func(int)
	OperatorNamespace string

	// reported are the messages by ConfigMap and UID; only one worker uses them.
	reported map[configMapKey]string
}

type configMapKey struct {
	name   string
	uid    types.UID
	action string
}

// Setup adds the reporter to the manager.
func (r *Reporter) Setup(mgr manager.Manager) error {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: r.OperatorNamespace,
		Name: settings.ConfigMapName}}
	changes := source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return r.Watch(ctx, func(client.Object) { queue.Add(request) })
	})
	return ctrl.NewControllerManagedBy(mgr).Named("operatorsettings").WatchesRawSource(changes).Complete(r)
}

// Reconcile reads the settings and reports changed errors.
func (r *Reporter) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	problems, p := r.Read(ctx)
	switch {
	case p != nil && p.Class == problem.Transient:
		return reconcile.Result{}, p.Err
	case p != nil:
		problems = []settings.Problem{{ConfigMap: settings.ConfigMapName, Err: p.Err}}
	}
	texts := map[bool]map[string][]string{false: {}, true: {}}
	for _, each := range problems {
		texts[each.Warning][each.ConfigMap] = append(texts[each.Warning][each.ConfigMap], each.Err.Error())
	}
	count := 0
	for _, list := range texts[false] {
		count += len(list)
	}
	r.Count(count)
	reported := map[configMapKey]string{}
	err := errors.Join(r.report(ctx, texts[false], actionRead, reported),
		r.report(ctx, texts[true], actionCompare, reported))
	if err != nil {
		return reconcile.Result{}, err
	}
	r.reported = reported
	return reconcile.Result{}, nil
}

// report makes an Event for each ConfigMap whose text changed, and notes the texts.
func (r *Reporter) report(ctx context.Context, texts map[string][]string, action string,
	reported map[configMapKey]string) error {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		cm := apply.ConfigMapMetadata()
		err := r.Cached.Get(ctx, types.NamespacedName{Namespace: r.OperatorNamespace, Name: name}, cm)
		if apierrors.IsNotFound(err) {
			continue // another event follows
		}
		if err != nil {
			return err
		}
		key, text := configMapKey{name, cm.UID, action}, limits.Message(strings.Join(texts[name], "; "))
		if reported[key] = text; r.reported[key] == text {
			continue
		}
		cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(objects.KindConfigMap))
		r.Recorder.Eventf(cm, nil, corev1.EventTypeWarning, string(problem.InvalidOperatorSettings), action, "%s", text)
		logf.FromContext(ctx).Info("operator settings are invalid", "configMap", name, "problem", text)
	}
	return nil
}
