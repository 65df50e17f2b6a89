// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R104, R85 (pods that may call the server are read by metadata, one at most; what may not be listed is unknown).
func TestCallersAreLookedForWhereTheyAreAllowed(t *testing.T) {
	const (
		gateway = "pods: {matchLabels: {app: gateway}}"
		only    = "exclusive: true"
	)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	for name, c := range map[string]struct {
		allowed string
		pods    map[string]string // the label app by namespace
		refuse  map[string]error  // by namespace
		want    status.Callers
		requeue time.Duration
	}{
		"no selector":                     {"namespaces: [a]", nil, nil, status.CallersUnneeded, 0},
		"in the allowed namespace":        {gateway + ", namespaces: [a], " + only, map[string]string{"a": "gateway"}, nil, status.CallersFound, callersDelay},
		"another label":                   {gateway + ", namespaces: [a], " + only, map[string]string{"a": "other"}, nil, status.CallersMissing, noCallersDelay},
		"in another namespace":            {gateway + ", namespaces: [a], " + only, map[string]string{"ai": "gateway"}, nil, status.CallersMissing, noCallersDelay},
		"in the server's own":             {gateway + ", namespaces: [a]", map[string]string{"ai": "gateway"}, nil, status.CallersFound, callersDelay},
		"in the server's own, only there": {gateway + ", " + only, map[string]string{"ai": "gateway"}, nil, status.CallersFound, callersDelay},
		"in any":                          {gateway + ", namespaces: ['*']", map[string]string{"b": "gateway"}, nil, status.CallersFound, callersDelay},
		"in a namespace with a label":     {gateway + ", labels: [team]", map[string]string{"b": "gateway"}, nil, status.CallersFound, callersDelay},
		"many namespaces": {
			gateway + ", namespaces: [c, d, e, f, g, h, i, j, k, l, m]", nil, map[string]error{"": forbidden}, status.CallersUnknown, 0,
		},
		"not permitted":         {gateway + ", namespaces: [a, b], " + only, nil, map[string]error{"a": forbidden}, status.CallersUnknown, 0},
		"permitted in another":  {gateway + ", namespaces: [a, b], " + only, map[string]string{"b": "gateway"}, map[string]error{"a": forbidden}, status.CallersFound, callersDelay},
		"a request that failed": {gateway + ", namespaces: [a], " + only, nil, map[string]error{"a": errors.New("timeout")}, status.CallersUnknown, noCallersDelay},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
			for namespace, app := range c.pods {
				builder.WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: map[string]string{"app": app}}})
			}
			live := builder.WithInterceptorFuncs(interceptor.Funcs{List: func(
				ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption,
			) error {
				var o client.ListOptions
				o.ApplyOptions(opts)
				if _, metadata := list.(*metav1.PartialObjectMetadataList); !metadata || o.Limit != 1 {
					t.Errorf("a list of %T with limit %d", list, o.Limit)
				}
				if err := c.refuse[o.Namespace]; err != nil {
					return err
				}
				return inner.List(ctx, list, opts...)
			}}).Build()
			s := &scope{cr: stack("s"), desired: &build.Desired{}}
			framework.NoError(t, yaml.UnmarshalStrict([]byte("networking: {allowedFrom: {"+c.allowed+"}}"), &s.cr.Spec))
			(&Reconciler{live: live}).observeCallers(t.Context(), s)
			if s.callers != c.want || s.requeueAfter != c.requeue {
				t.Errorf("%v, again after %v; want %v, %v", s.callers, s.requeueAfter, c.want, c.requeue)
			}
		})
	}
	s := &scope{cr: stack("s"), desired: &build.Desired{}, problems: problem.List{{Reason: problem.InvalidField}}}
	s.cr.Spec.Networking = &v1alpha2.NetworkingSpec{AllowedFrom: &v1alpha2.AllowedFromSpec{Pods: &metav1.LabelSelector{}}}
	(&Reconciler{}).observeCallers(t.Context(), s)
	if s.callers != status.CallersUnneeded {
		t.Error("a spec that is not applied is looked at")
	}
}
