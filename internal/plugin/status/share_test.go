// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: WEIGHT (status shows the share of each server at the host name).
func TestStatusShowsTheShares(t *testing.T) {
	for name, c := range map[string]struct {
		expose   string
		backends map[string]int32
		want     string
	}{
		"two":        {`{"hostname":"h","weight":90}`, map[string]int32{"my-stack-service": 90, "my-stack-new-service": 10}, "90 % (10 %: my-stack-new)"},
		"relative":   {`{"hostname":"h","weight":1}`, map[string]int32{"my-stack-service": 1, "my-stack-new-service": 2}, "33.3 % (66.7 %: my-stack-new)"},
		"alone":      {`{"hostname":"h","weight":90}`, map[string]int32{"my-stack-service": 90}, "100 %"},
		"without":    {`{"hostname":"h","weight":90}`, map[string]int32{"my-stack-new-service": 10}, "0 % (100 %: my-stack-new)"},
		"no weights": {`{"hostname":"h","weight":0}`, map[string]int32{"my-stack-service": 0}, "0 %"},
		"no weight":  {`{"hostname":"h"}`, map[string]int32{"my-stack-service": 1}, ""},
		"no route":   {`{"hostname":"h","weight":90}`, nil, ""},
	} {
		cr := stack(t, "my-stack", "Ready=True Ready: x", "Available=True A: b")
		cr.Spec.Networking = &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte(c.expose)}}
		world := append(belongings(1), cr)
		if c.backends != nil {
			route := &gatewayv1.HTTPRoute{}
			rule := gatewayv1.HTTPRouteRule{}
			for _, service := range []string{"my-stack-service", "my-stack-new-service"} {
				if weight, found := c.backends[service]; found {
					backend := gatewayv1.HTTPBackendRef{}
					backend.Name, backend.Weight = gatewayv1.ObjectName(service), &weight
					rule.BackendRefs = append(rule.BackendRefs, backend)
				}
			}
			route.Spec.Rules = []gatewayv1.HTTPRouteRule{rule}
			world = append(world, labeled(route, "my-stack-httproute"))
		}
		out, code := run(t, fakecluster.New(t, world...), "my-stack")
		_, shown, found := strings.Cut(out, "\nShare ")
		shown, _, _ = strings.Cut(shown, "\n")
		if code != cli.ExitOK || found != (c.want != "") || strings.TrimSpace(shown) != c.want {
			t.Errorf("%s: %q, want %q:\n%s", name, strings.TrimSpace(shown), c.want, out)
		}
	}
}
