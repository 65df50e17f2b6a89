// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// refusable are the kinds that the operator writes, with the object's name and the field of the spec that it is made
// from.
var refusable = []struct{ group, version, resources, kind, name, field string }{
	{"", "v1", "serviceaccounts", "ServiceAccount", "s-sa", ""},
	{"", "v1", "configmaps", "ConfigMap", "s-config-", ""},
	{"", "v1", "secrets", "Secret", "s-env-", ""},
	{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "s-pvc", "spec.workload.storage"},
	{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "s-network-policy", "spec.networking.allowedFrom"},
	{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "s-pdb", "spec.workload.podDisruptionBudget"},
	{"apps", "v1", "deployments", "Deployment", "s", "spec.workload"},
	{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "s-hpa", "spec.workload.autoscaling"},
	{"", "v1", "services", "Service", "s-service", "spec.networking.port"},
	{"networking.k8s.io", "v1", "ingresses", "Ingress", "s-ingress", "spec.networking.expose"},
}

// A custom resource before and after an edit that changes an object of every kind. The autoscaler raises the number of
// pods to two, once.
const (
	beforeEdit = `
distribution: {name: starter}
networking: {allowedFrom: {namespaces: [a]}, expose: true}
workload: {replicas: 2, autoscaling: {maxReplicas: 3}, podDisruptionBudget: {maxUnavailable: 1}, overrides: {serviceAccountName: default}}`
	afterEdit = `
distribution: {name: starter}
disabled: [eval]
storage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: redis, key: password}}}
networking: {allowedFrom: {namespaces: [b]}, expose: {hostname: s.example}, port: 9000}
workload: {replicas: 2, autoscaling: {maxReplicas: 4}, podDisruptionBudget: {maxUnavailable: 2}, storage: {}}`
)

// written returns the operator's objects in the namespace by kind and name, without fields that change by themselves.
func (e *env) written() map[string]string {
	e.T.Helper()
	all := map[string]string{}
	for _, r := range refusable {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind + "List"})
		framework.NoError(e.T, suite.Admin.List(e.T.Context(), list, client.InNamespace(e.Name), client.MatchingLabels{"app.kubernetes.io/managed-by": "llama-stack-operator"}))
		for i := range list.Items {
			o := &list.Items[i]
			text, err := json.Marshal([]any{o.Object["spec"], o.Object["data"], o.GetLabels(), o.GetOwnerReferences(), o.GetUID(), o.GetGeneration()})
			framework.NoError(e.T, err)
			all[r.kind+"/"+o.GetName()] = string(text)
		}
	}
	return all
}

// Proves: R61 (if the API server rejects objects of a kind, an edit changes no object of a running server, and a new
// custom resource gets none if the kind has values of the spec; the message has the field, the object and the API
// server's error, and reconciling continues once it admits them).
func TestRejectedKindDoesNotChangeOtherObjects(t *testing.T) {
	t.Parallel()
	for _, r := range refusable {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.CreateSecret("redis", map[string]string{"password": suite.Canaries.New()})
			e.StartOperator()
			e.Apply(framework.Manifest("s", beforeEdit))
			e.WaitReady("s")
			e.Eventually("the autoscaler has raised the number of pods", func() error {
				if n := *e.Deployment("s").Spec.Replicas; n != 2 {
					return fmt.Errorf("%d pods", n)
				}
				return nil
			})
			e.WaitReady("s")
			before := e.written()
			stop := e.refuse(r.group, r.resources)

			refused := func(prefix string) {
				t.Helper()
				message := e.WaitCondition(prefix, v1alpha2.ConditionDeploymentUpdated, metav1.ConditionUnknown, string(problem.ApplyFailed))
				start := r.kind + " " + strings.Replace(r.name, "s", prefix, 1)
				if r.field != "" {
					start = r.field + ": " + start
				}
				if !strings.HasPrefix(message, start) || !strings.Contains(message, "the platform team refuses "+r.resources) {
					t.Errorf("message %q, want it to begin with %q", message, start)
				}
			}
			e.Apply(framework.Manifest("s", afterEdit))
			refused("s")
			if diff := cmp.Diff(before, e.written()); diff != "" {
				t.Errorf("a refused edit changed (-before +after):\n%s", diff)
			}
			e.Apply(framework.Manifest("m", afterEdit))
			refused("m")
			// Objects without values of the spec get no dry run while no server runs: it would cost requests without a benefit.
			asked := r.kind == "Deployment" || r.field != "" && r.kind != "Service"
			if diff := cmp.Diff(before, e.written()); asked && diff != "" {
				t.Errorf("of a refused custom resource was made (-before +after):\n%s", diff)
			}

			stop()
			for _, name := range []string{"s", "m"} {
				e.Eventually(name+" goes on", func() error {
					for _, c := range e.CR(name).Status.Conditions {
						if c.Type == v1alpha2.ConditionDeploymentUpdated && c.Reason == string(problem.ApplyFailed) {
							return fmt.Errorf("%s", c.Message)
						}
					}
					return nil
				})
			}
			after := e.written()
			edited := map[string]bool{}
			for name := range after {
				kind, _, _ := strings.Cut(name, "/")
				edited[kind] = edited[kind] || after[name] != before[name]
				// The former configuration is kept beside the new one.
				if after[name] == before[name] && kind != "ConfigMap" {
					t.Errorf("%s was not changed by the edit: the test shows nothing of it", name)
				}
			}
			if !edited["ConfigMap"] {
				t.Error("the edit made no ConfigMap")
			}
		})
	}
}

// Proves: R69, R70, R56, R61, L-03 (a new custom resource costs few requests until it is Ready, and at most three
// Events).
func TestNewCustomResourceCostsFewRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec string
		kept []string // expected kinds of created objects
	}{
		"plain":                   {"distribution: {name: starter}", []string{"deployments", "services", "serviceaccounts"}},
		"with a provider":         {withProvider, []string{"configmaps"}},
		"with a derived Secret":   {withProvider + "\nstorage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: keys, key: token}}}", []string{"secrets"}},
		"with a warning":          {withProvider + "\nworkload: {workers: 4}", nil},
		"with values of the user": {withProvider + "\nworkload: {resources: {requests: {cpu: 100m}}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The status lists the registered distributions, and must not change with those of other tests.
			e := newEnvWithSettings(t)
			e.CreateSecret("keys", map[string]string{"token": canary})
			op := e.StartOperator()
			e.Quiet(op)
			idle := len(op.Requests.All())
			e.Apply(framework.Manifest("s", c.spec))
			e.WaitReady("s")
			e.Quiet(op)
			made := slices.DeleteFunc(op.Requests.All()[idle:], apiAsked.MatchString)
			reads, events := 0, 0
			for _, request := range made {
				if strings.HasPrefix(request, http.MethodGet) || strings.HasSuffix(request, suite.DryRun) {
					reads++
				}
				if strings.HasSuffix(request, "/events") {
					events++
				}
			}
			// An idle machine makes at most 14 requests; a busy one writes the status once or twice more.
			kinds := slices.Compact(slices.Sorted(slices.Values(made)))
			if len(made) > 24 || len(kinds) > 11 || events > 3 {
				t.Errorf("%d requests, and %d Events:\n%s", len(made), events, strings.Join(made, "\n"))
			}
			for _, resources := range c.kept {
				if !strings.Contains(strings.Join(made, "\n"), "POST /api") || !strings.Contains(strings.Join(made, "\n"), "/"+resources) {
					t.Errorf("no %s are created:\n%s", resources, strings.Join(made, "\n"))
				}
			}
			t.Logf("%d requests, %d of which write, %d Events:\n%s", len(made), len(made)-reads, events, strings.Join(made, "\n"))
		})
	}
}

// apiAsked matches the discovery of the cluster's APIs, which the operator repeats every minute.
var apiAsked = regexp.MustCompile(`^GET /apis/[^/]+/[^/]+$`)

const withProvider = `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: keys, key: token}}}`
