// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// refusable are the kinds that the operator writes, with the name of the object and the field of the spec that it is made from.
var refusable = []struct{ group, version, resources, kind, name, field string }{
	{"", "v1", "serviceaccounts", "ServiceAccount", "s-sa", ""},
	{"", "v1", "configmaps", "ConfigMap", "s-config-", ""},
	{"", "v1", "secrets", "Secret", "s-env-", ""},
	{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "s-pvc", "spec.workload.storage"},
	{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "s-network-policy", "spec.networking.allowedFrom"},
	{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "s-pdb", "spec.workload.podDisruptionBudget"},
	{"apps", "v1", "deployments", "Deployment", "s", ""},
	{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "s-hpa", "spec.workload.autoscaling"},
	{"", "v1", "services", "Service", "s-service", "spec.networking.port"},
	{"networking.k8s.io", "v1", "ingresses", "Ingress", "s-ingress", "spec.networking.expose"},
}

// What a custom resource is before and after an edit that changes an object of every kind. The autoscaler has no metrics, and no reason to
// change the number of pods.
const (
	beforeEdit = `
distribution: {name: starter}
networking: {allowedFrom: {namespaces: [a]}, expose: true}
workload: {replicas: 2, autoscaling: {minReplicas: 1, maxReplicas: 3}, podDisruptionBudget: {maxUnavailable: 1}, overrides: {serviceAccountName: default}}`
	afterEdit = `
distribution: {name: starter}
disabled: [eval]
storage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: redis, key: password}}}
networking: {allowedFrom: {namespaces: [b]}, expose: {hostname: s.example}, port: 9000}
workload: {replicas: 2, autoscaling: {minReplicas: 1, maxReplicas: 4}, podDisruptionBudget: {maxUnavailable: 2}, storage: {}}`
)

// written is what the operator wrote in the namespace, by kind and name: without what changes by itself.
func (e *env) written() map[string]string {
	e.t.Helper()
	all := map[string]string{}
	for _, r := range refusable {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind + "List"})
		if err := admin.List(e.t.Context(), list, client.InNamespace(e.namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "llama-stack-operator"}); err != nil {
			e.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			text, err := json.Marshal([]any{o.Object["spec"], o.Object["data"], o.GetLabels(), o.GetOwnerReferences(), o.GetUID(), o.GetGeneration()})
			if err != nil {
				e.t.Fatal(err)
			}
			all[r.kind+"/"+o.GetName()] = string(text)
		}
	}
	return all
}

// Proves: R61 (an API server that refuses objects of one kind, whichever that is, leaves all others as they were: those of a server that runs
// when its custom resource is edited, and of a new one none is made where the kind holds values of the spec. The message names the field, the
// object and what the API server says; and all goes on when nothing is refused any more).
func TestRefusedKindLeavesTheOthersAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, r := range refusable {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.createSecret("redis", map[string]string{"password": canaries.New()})
			e.startOperator(operatorOptions{})
			e.mustApply(manifest("s", beforeEdit))
			e.waitReady("s")
			before := e.written()
			stop := e.refuse(r.group, r.resources)

			refused := func(prefix string) {
				t.Helper()
				message := e.waitFor(prefix, v1alpha2.ConditionDeploymentUpdated, metav1.ConditionUnknown, string(problem.ApplyFailed))
				start := r.kind + " " + strings.Replace(r.name, "s", prefix, 1)
				if r.field != "" {
					start = r.field + ": " + start
				}
				if !strings.HasPrefix(message, start) || !strings.Contains(message, "the platform team refuses "+r.resources) {
					t.Errorf("message %q, want it to begin with %q", message, start)
				}
			}
			e.mustApply(manifest("s", afterEdit))
			refused("s")
			if diff := cmp.Diff(before, e.written()); diff != "" {
				t.Errorf("a refused edit changed (-before +after):\n%s", diff)
			}
			e.mustApply(manifest("m", afterEdit))
			refused("m")
			// What the operator alone decides is not asked for while nothing runs: that costs requests, and harms nobody.
			asked := r.kind == "Deployment" || r.field != "" && r.kind != "Service"
			if diff := cmp.Diff(before, e.written()); asked && diff != "" {
				t.Errorf("of a refused custom resource was made (-before +after):\n%s", diff)
			}

			stop()
			for _, name := range []string{"s", "m"} {
				fixture.Eventually(t, 2*time.Minute, name+" goes on", func() error {
					for _, c := range e.resource(name).Status.Conditions {
						if c.Type == v1alpha2.ConditionDeploymentUpdated && c.Reason == string(problem.ApplyFailed) {
							return fmt.Errorf("%s", c.Message)
						}
					}
					return nil
				})
			}
			after := e.written()
			for name := range after {
				if after[name] == before[name] {
					t.Errorf("%s was not changed by the edit: the test shows nothing of it", name)
				}
			}
		})
	}
}

// Proves: R61, R56 (a new custom resource costs few requests: what is asked before it is written is what an API server may refuse because of
// the spec).
func TestNewCustomResourceCostsFewRequests(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.createSecret("vllm-creds", map[string]string{"token": canary})
	op := e.startOperator(operatorOptions{})
	e.quiet(op)
	idle := len(op.requests.all())
	e.mustApply(sample(t, "v1alpha2-simple.yaml"))
	e.waitReady("my-stack")
	e.quiet(op)
	made := op.requests.all()[idle:]
	t.Logf("%d requests:\n%s", len(made), strings.Join(made, "\n"))
	if len(made) == 0 {
		t.Error("no request is seen")
	}
}
