// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// rollOuts is the number of edits of a running server that must lose no request.
const rollOuts = 10

// Each edit follows as soon as the previous one's new pod serves, while the old pod is still terminating.
//
// Proves: FR-060, L-22, R82 (one request per 100 ms over ten edits of a server with one replica: none is lost; of two
// model servers, the unreachable one is named).
func editsLoseNoRequest(t *testing.T) {
	s := sampleStack(t)
	resource := load(t, "config", "samples", "v1alpha2-simple.yaml")
	// A registered model is listed even if its backend is unreachable.
	unstructured.RemoveNestedField(resource.Object, "spec", "resources")
	asked := startTraffic(t, s.url(t))
	var rolledOut []string
	rollOut := func(value any, fields ...string) {
		t.Helper()
		revision := s.in(t).Revision(s.name)
		s.edit(t, resource, value, fields...)
		s.waitRevisionAfter(t, revision)
		s.waitRolledOut(t)
		checkOneRollout(t, s, revision)
		rolledOut = append(rolledOut, time.Now().Format(time.TimeOnly))
	}
	inference := func(otherEndpoint string) []any {
		key := map[string]any{"name": sampleSecret, "key": "token"}
		return []any{
			map[string]any{"id": "right", "provider": "vllm", "endpoint": "http://" + sampleServer + ":8000", "apiKey": key},
			map[string]any{"id": "other", "provider": "vllm", "endpoint": otherEndpoint, "apiKey": key},
		}
	}
	rollOut(inference("http://nobody:8000"), "providers", "inference")
	s.waitBackends(t, metav1.ConditionFalse, "The server lists no models of the providers other")
	did(t, "of two model servers, one has a wrong endpoint, and BackendsReachable names it")
	rollOut(inference("http://"+sampleServer+":8000"), "providers", "inference")
	s.waitBackends(t, metav1.ConditionTrue, "other/"+sampleModel+", right/"+sampleModel)
	did(t, "with the right endpoint, it lists the models of both")

	for i := 2; i < rollOuts; i++ {
		rollOut([]any{map[string]any{"name": "EDIT", "value": fmt.Sprint(i)}}, "workload", "overrides", "env")
	}
	s.waitReady(t)
	did(t, "%d edits, each one rollout of the one replica", rollOuts)

	s.edit(t, resource, map[string]any{"requests": map[string]any{"cpu": "1000"}}, "workload", "resources")
	framework.Eventually(t, soon, "Ready names what keeps the new pod from running", func() error {
		cr := s.in(t).CR(s.name)
		c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.HasPrefix(c.Message, "1 new pod is not ready: Unschedulable: ") ||
			!strings.Contains(c.Message, "Insufficient cpu") || !strings.HasSuffix(c.Message, "; 1 old pod still serves") {
			return errors.New(conditions(cr))
		}
		return nil
	})
	s.in(t).Apply(asJSON(t, resource.Object))
	s.waitReady(t)
	o := asked.end()
	if o.lost > 0 || o.sent < 10*rollOuts {
		t.Errorf("while edits rolled out until %s: %s; the first: %v", rolledOut, o, o.first)
	}
	did(t, "an edit whose pod fits on no node is reported, and taken back; meanwhile, %s", o)
}

// waitBackends waits until BackendsReachable has the status, and a message with the ending. The first probe after a
// rollout can reach the terminating pod.
func (s stack) waitBackends(t *testing.T, status metav1.ConditionStatus, end string) {
	t.Helper()
	framework.Eventually(t, soon, "BackendsReachable reports the listed models", func() error {
		cr := s.in(t).CR(s.name)
		c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionBackendsReachable)
		if c == nil || c.Status != status || !strings.HasSuffix(c.Message, end) {
			return errors.New(conditions(cr))
		}
		return nil
	})
}

// waitRolledOut waits until the current spec is applied and all pods of the new revision are available; earlier pods
// may still be terminating.
func (s stack) waitRolledOut(t *testing.T) {
	t.Helper()
	framework.Eventually(t, serverStart, s.name+" is rolled out", func() error {
		cr, d := s.in(t).CR(s.name), s.in(t).Deployment(s.name)
		if cr.Status.ObservedGeneration != cr.Generation || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) {
			return errors.New(conditions(cr))
		}
		return framework.RolledOut(d)
	})
}
