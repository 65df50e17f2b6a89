// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// readRoute reads the HTTPRoute of a server that shares the requests for its host name.
func (f *facts) readRoute(ctx context.Context, c *cluster.Connection) error {
	if f.cr.Spec.Networking == nil {
		return nil
	}
	expose, _ := parse.ExposeField(f.cr.Spec.Networking.Expose)
	if !expose.Enabled || expose.Weight == nil {
		return nil
	}
	route := &gatewayv1.HTTPRoute{}
	key := client.ObjectKey{Namespace: f.cr.Namespace, Name: names.HTTPRouteName(f.cr.Name)}
	switch err := c.Client.Get(ctx, key, route); {
	case apierrors.IsForbidden(err):
		f.unread = append(f.unread, "HTTPRoute "+key.Name+": "+string(apierrors.ReasonForError(err)))
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err): // a condition explains it
	case err != nil:
		return fmt.Errorf("read HTTPRoute %s: %w", key.Name, err)
	default:
		f.share = shareOf(route, f.cr.Name)
	}
	return nil
}

// shareOf returns the share of a server in the requests that an HTTPRoute distributes, and those of others:
// "90 % (10 %: my-stack-new)".
func shareOf(route *gatewayv1.HTTPRoute, name string) string {
	var backends []gatewayv1.HTTPBackendRef
	for i := range route.Spec.Rules {
		backends = append(backends, route.Spec.Rules[i].BackendRefs...)
	}
	total := int32(0)
	for i := range backends {
		total += ptr.Deref(backends[i].Weight, 1)
	}
	own := "0 %"
	var others []string
	for i := range backends {
		weight := ptr.Deref(backends[i].Weight, 1)
		share := fmt.Sprintf("%.3g %%", 100*float64(weight)/float64(max(total, 1)))
		resource := names.ResourceOfService(string(backends[i].Name))
		if resource == name {
			own = share
		} else {
			others = append(others, share+": "+resource)
		}
	}
	if len(others) == 0 {
		return own
	}
	return own + " (" + strings.Join(others, ", ") + ")"
}
