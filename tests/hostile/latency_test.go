// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// hostileAtOnce is the number of the largest resources. editPeriod is the time between two edits, long enough for the
// rollout of the first to end.
const (
	hostileAtOnce  = 10
	editPeriod     = 500 * time.Millisecond
	validatePeriod = time.Second
)

// loadDuration returns how long the test edits a small resource beside the largest ones; a report needs more
// measurements.
func loadDuration() time.Duration {
	if os.Getenv(reportFile) != "" {
		return 20 * time.Second
	}
	return 5 * time.Second
}

// latencies are the measured durations of edits by kind, and the times of the custom resource's edits.
type latencies struct {
	answered, deployed, configMap []time.Duration
	edits                         []edit
}

// edit has the times when an edit began, was answered and was in the Deployment.
type edit struct{ began, answered, deployed time.Time }

// latencyInputs measure edits of a small resource: alone, while the operator continuously validates ten of the largest
// resources, and while these are edited. Edits of a ConfigMap measure the API server alone.
func latencyInputs() []input {
	return []input{
		{name: "edits meanwhile, of nothing else", want: []string{"Deployment"}, send: func(t *testing.T, w *world) (string, error) {
			return w.editsWhile(t, "calm", 0, nil)
		}},
		{name: "edits meanwhile, ten of the largest resources being validated", want: []string{"Deployment"}, send: func(t *testing.T, w *world) (string, error) {
			return w.editsWhile(t, "validated", hostileAtOnce, w.validateAgain)
		}},
		{name: "edits meanwhile, of ten resources as large as may be", want: []string{"Deployment"}, send: func(t *testing.T, w *world) (string, error) {
			return w.editsWhile(t, "edited", hostileAtOnce, w.editLargest)
		}},
	}
}

// editsWhile measures edits of a small resource beside others of the largest ones, while happens runs.
func (w *world) editsWhile(t *testing.T, name string, others int, happens func(ctx context.Context)) (string, error) {
	t.Helper()
	if denied, err := w.store(t, "v1alpha2", bystanders, name, resource("v1alpha2", name, starter)); denied != "" || err != nil {
		return denied, err
	}
	if _, err := w.verdict(t.Context(), bystanders, name); err != nil {
		return "", err
	}
	w.configMap(t, bystanders, name, map[string]string{"a": "b"})
	for i := range others {
		id := largestName(i)
		if denied, err := w.store(t, "v1alpha2", namespace, id, resource("v1alpha2", id, largest())); denied != "" || err != nil {
			return denied, err
		}
	}
	for i := range others {
		if _, err := w.verdict(t.Context(), namespace, largestName(i)); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), loadDuration())
	defer cancel()
	before, err := w.operator.usage()
	if err != nil {
		return "", err
	}
	began := time.Now()
	var all sync.WaitGroup
	if happens != nil {
		all.Go(func() { happens(ctx) })
	}
	var took latencies
	var failed [2]error
	// Edits that are pending when the others stop count too: they are the slowest.
	all.Go(func() { failed[0] = w.editResource(t.Context(), ctx.Done(), name, &took) })
	all.Go(func() { took.configMap, failed[1] = w.editConfigMap(t.Context(), ctx.Done(), name) })
	all.Wait()
	after, err := w.operator.usage()
	own, ownErr := took.own(name)
	return fmt.Sprintf("%d edits of another resource: answered within %s; in the Deployment within %s, of which the operator beside its requests: %s; "+
		"%d of a ConfigMap: answered within %s; the operator used %.1f s of processor time in %.1f s",
		len(took.answered), quantiles(took.answered), quantiles(took.deployed), quantiles(own), len(took.configMap), quantiles(took.configMap),
		(after.cpu - before.cpu).Seconds(), time.Since(began).Seconds()), errors.Join(failed[0], failed[1], err, ownErr)
}

// own returns how long the operator itself took for each edit: from the response to the edit, or from the operator's
// first request about it if that is earlier, to its request for the Deployment, without the API server's time for the
// requests in between.
func (l *latencies) own(name string) (own []time.Duration, _ error) {
	all, err := cluster.Requests()
	if err != nil {
		return nil, err
	}
	user := "system:serviceaccount:" + framework.OperatorNamespace + ":"
	for _, e := range l.edits {
		var about []framework.Request
		var end time.Time
		for _, r := range all {
			if strings.HasPrefix(r.User, user) && r.Namespace == bystanders && strings.HasPrefix(r.Name, name) && !strings.HasSuffix(r.Resource, "/status") &&
				r.Received.After(e.began) && r.Received.Before(e.deployed) {
				about = append(about, r)
				if r.Resource == "deployments" && r.Verb == "patch" {
					end = r.Received
				}
			}
		}
		if end.IsZero() {
			return nil, errors.New("an edit is in a Deployment without being requested")
		}
		from, asking := e.answered, time.Duration(0)
		for _, r := range about {
			if r.Answered.Before(end) {
				asking += r.Answered.Sub(r.Received)
			}
			if r.Received.Before(from) {
				from = r.Received
			}
		}
		own = append(own, max(0, end.Sub(from)-asking))
	}
	return own, nil
}

func largestName(i int) string { return fmt.Sprintf("h-largest-%d", i) }

// validateAgain continuously changes the ConfigMap of the operator's settings, which validates all resources.
func (w *world) validateAgain(ctx context.Context) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: settingsName}}
	_ = w.admin.Create(ctx, settings)
	defer func() { _ = w.admin.Delete(context.WithoutCancel(ctx), settings) }()
	for number := 0; pause(ctx.Done(), validatePeriod); number++ {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"validated":"%d"}}}`, number)
		_ = w.admin.Patch(ctx, settings.DeepCopy(), client.RawPatch("application/merge-patch+json", patch))
	}
}

func (w *world) editLargest(ctx context.Context) {
	var all sync.WaitGroup
	for i := range hostileAtOnce {
		all.Go(func() {
			for number := 0; ctx.Err() == nil; number++ {
				patch, _ := anotherPod(number)
				_, _, _ = w.ask(ctx, http.MethodPatch, resourcePath("v1alpha2", namespace, largestName(i)), patch)
			}
		})
	}
	all.Wait()
}

// editResource edits a small custom resource until stop is closed.
func (w *world) editResource(ctx context.Context, stop <-chan struct{}, name string, took *latencies) error {
	changes, err := w.admin.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(bystanders), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for number := 0; pause(stop, editPeriod); number++ {
		patch, value := anotherPod(number)
		began := time.Now()
		code, answer, err := w.ask(ctx, http.MethodPatch, resourcePath("v1alpha2", bystanders, name), patch)
		if err != nil {
			return err
		}
		if code != http.StatusOK {
			return errors.New(denial(code, answer))
		}
		answered := time.Now()
		took.answered = append(took.answered, answered.Sub(began))
		for event := range changes.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok && slices.Contains(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "EDIT", Value: value}) {
				took.deployed = append(took.deployed, time.Since(began))
				took.edits = append(took.edits, edit{began, answered, time.Now()})
				break
			}
		}
	}
	return nil
}

// editConfigMap edits a ConfigMap that the operator does not read, which measures the API server alone.
func (w *world) editConfigMap(ctx context.Context, stop <-chan struct{}, name string) (took []time.Duration, err error) {
	for number := 0; pause(stop, editPeriod); number++ {
		began := time.Now()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bystanders, Name: name}}
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"a":"edit-%d"}}`, number))
		if err := w.admin.Patch(ctx, cm, patch); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

func pause(stop <-chan struct{}, period time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(period):
		return true
	}
}

// quantiles formats the median, the 95th percentile and the maximum.
func quantiles(times []time.Duration) string {
	if len(times) == 0 {
		return "nothing"
	}
	slices.Sort(times)
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	return fmt.Sprintf("%s, %s, %s", ms(times[len(times)/2]), ms(times[len(times)*95/100]), ms(times[len(times)-1]))
}

// largest returns a spec with the maximum number of everything.
func largest() string {
	return starter + `,"providers":{"inference":` + list(100, `{"id":"p#","provider":"vllm","endpoint":"http://a"}`) + `},"resources":{"models":` +
		list(1000, `{"name":"m#","provider":"p1"}`) + `,"tools":` + list(1000, `{"name":"mcp::s#","endpoint":"http://a/mcp"}`) + `}`
}
