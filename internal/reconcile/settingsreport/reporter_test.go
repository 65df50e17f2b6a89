// SPDX-License-Identifier: Apache-2.0

package settingsreport

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	record "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func configMap(namespace, name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// Proves: R81, R70 (an unchanged problem is one Event on its ConfigMap and counts in the metric).
func TestReporterReportsOnlyChanges(t *testing.T) {
	wrong := func(configMap, text string) settings.Problem {
		return settings.Problem{ConfigMap: configMap, Err: errors.New(text)}
	}
	shadowed := wrong("a", "two")
	shadowed.Warning = true
	metric := -1
	recorder := record.NewFakeRecorder(10)
	r := &Reporter{
		Cached:   fake.NewClientBuilder().WithObjects(configMap("op", "a", nil), configMap("op", settings.ConfigMapName, nil)).Build(),
		Recorder: recorder, OperatorNamespace: "op", Count: func(count int) { metric = count },
	}
	failed := errors.New("the server timed out")
	for i, c := range []struct {
		problems []settings.Problem
		problem  *problem.Problem
		events   []string
		metric   int
	}{
		{problems: []settings.Problem{wrong("a", "one"), shadowed}, events: []string{"Warning InvalidOperatorSettings one", "Warning InvalidOperatorSettings two"}, metric: 1},
		{problems: []settings.Problem{wrong("a", "one"), shadowed}, metric: 1},
		{problem: &problem.Problem{Class: problem.Transient, Err: failed}, metric: 1},
		{problem: &problem.Problem{Class: problem.Terminal, Err: errors.New("all")}, events: []string{"Warning InvalidOperatorSettings all"}, metric: 1},
		{problems: []settings.Problem{wrong("gone", "x")}, metric: 1},
		{},
		{problems: []settings.Problem{wrong("a", "one")}, events: []string{"Warning InvalidOperatorSettings one"}, metric: 1},
	} {
		r.Read = func(context.Context) ([]settings.Problem, *problem.Problem) { return c.problems, c.problem }
		_, err := r.Reconcile(t.Context(), reconcile.Request{})
		if wantErr := c.problem != nil && c.problem.Class == problem.Transient; (err != nil) != wantErr {
			t.Errorf("%d: %v", i, err)
		}
		var events []string
		for len(recorder.Events) > 0 {
			events = append(events, <-recorder.Events)
		}
		if diff := cmp.Diff(c.events, events); diff != "" || metric != c.metric {
			t.Errorf("%d: metric %d, Events (-want +got):\n%s", i, metric, diff)
		}
	}
}
