// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// waitShares waits until the HTTPRoutes of these custom resources have the same backends with these weights.
func (s *controlPlane) waitShares(want string, resources ...string) {
	s.T.Helper()
	for _, name := range resources {
		s.waitField("httproute/"+name+"-httproute", "{.spec.rules[0].backendRefs[*].name} {.spec.rules[0].backendRefs[*].weight}", want)
	}
}

// The API server has the real CRDs of the Gateway API, which check names and weights. There is no data plane: the test
// writes the status that a Gateway would write.
//
// Proves: WEIGHT (the sample, applied unchanged, shares the requests of another server once it has pods; weights follow
// edits without a restart; an edit that separates the state is refused; deletion gives the share back).
func TestServersShareTheRequestsForAHostName(t *testing.T) {
	t.Parallel()
	s := installed(t)
	s.installGatewayAPI()
	for _, namespace := range []string{"gateways", "ai"} {
		s.Kubectl("create", "namespace", namespace)
	}
	kubelet := framework.StartFakeKubelet(t, s.Client, "ai")
	kubelet.Hold(func(p *corev1.Pod) bool { return strings.HasPrefix(p.Name, "my-stack-new-") })
	s.Apply(gateway)
	s.edge(`{kind: HTTPRoute, gateway: {name: public, namespace: gateways}}`)
	p := s.start(buildManager(t))
	for name, database := range map[string]string{"pg-creds": "stack", "other": "other"} {
		s.Kubectl("create", "secret", "generic", name, "-n", "ai", "--from-literal=dsn=postgresql://stack:canary@pg:5432/"+database)
	}

	canary := framework.Sample(t, "v1alpha2-canary.yaml")
	s.Apply(strings.NewReplacer("name: my-stack-new", "name: my-stack", "weight: 10", "weight: 90").Replace(canary), "-n", "ai")
	s.waitShares("my-stack-service 90", "my-stack")
	s.waitField("llsd/my-stack", `{.status.availableReplicas}`, "1")

	s.Apply(canary, "-n", "ai")
	s.waitShares("my-stack-service 90", "my-stack-new", "my-stack")
	kubelet.Hold(func(*corev1.Pod) bool { return false })
	both := []string{"my-stack", "my-stack-new"}
	s.waitShares("my-stack-service my-stack-new-service 90 10", both...)

	// A Gateway that accepts only one of several HTTPRoutes with the same host name serves all of their Services.
	s.admit("httproute/my-stack-httproute", s.ofGeneration("my-stack", httpRouteStatus))
	s.admit("httproute/my-stack-new-httproute", s.ofGeneration("my-stack-new", strings.Replace(httpRouteStatus,
		`"status":"True","reason":"Accepted"`, `"status":"False","reason":"RuleMatchConflict"`, 1)))
	for _, name := range both {
		s.waitField("llsd/"+name, "{.status.routeURL}", "https://llama.example.com:8443")
	}

	revision := s.in("ai").Revision("my-stack-new")
	s.patchNew(`{"networking":{"expose":{"weight":50}}}`)
	s.waitShares("my-stack-service my-stack-new-service 90 50", both...)
	if got := s.in("ai").Revision("my-stack-new"); got != revision {
		t.Errorf("a weight changed the pods from revision %s to %s", revision, got)
	}

	s.patchNew(`{"storage":{"sql":{"connectionString":{"name":"other"}}}}`)
	s.waitMessage("my-stack-new", "ConfigGenerated", func(message string) bool {
		return strings.Contains(message, "the LlamaStackDistribution my-stack at the same host name has its state in other databases")
	})
	s.waitShares("my-stack-service my-stack-new-service 90 50", both...)
	s.patchNew(`{"storage":{"sql":{"connectionString":{"name":"pg-creds"}}}}`)
	s.waitMessage("my-stack-new", "ConfigGenerated", func(message string) bool {
		return message != "" && !strings.Contains(message, "other databases") && !strings.Contains(message, "uses the host name")
	})

	s.patchNew(`{"workload":{"replicas":0}}`)
	s.waitShares("my-stack-service 90", both...)
	s.patchNew(`{"workload":{"replicas":1}}`)
	s.waitShares("my-stack-service my-stack-new-service 90 50", both...)
	s.Kubectl("delete", "llsd", "my-stack-new", "-n", "ai", "--cascade=foreground")
	s.waitShares("my-stack-service 90", "my-stack")
	p.Terminate(t)
	s.nothingWasDenied()
}

// ofGeneration returns the status of a custom resource's HTTPRoute for its current generation.
func (s *controlPlane) ofGeneration(name, status string) string {
	s.T.Helper()
	generation, err := s.value("httproute/"+name+"-httproute", "{.metadata.generation}")
	framework.NoError(s.T, err)
	return strings.ReplaceAll(status, `"observedGeneration":1`, `"observedGeneration":`+generation)
}

func (s *controlPlane) patchNew(spec string) {
	s.T.Helper()
	s.Kubectl("patch", "llsd", "my-stack-new", "-n", "ai", "--type=merge", "-p", `{"spec":`+spec+`}`)
}
