// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	// servedVariable has the number of custom resources of TestServedVersionsCost.
	servedVariable = "LLSD_BENCH_SERVED"
	fewResources   = 40
	// maxConversions is how often the API server may ask for each write: once for its cache of the version that is not stored, and again where
	// several caches get the change before the first answer.
	maxConversions = 2.5
)

// What it costs the API server that v1alpha1 is served, beside the same where it is not: for each write, and for its start. The operator converts and
// validates, and reconciles nothing, so that there are no writes but those of the test.
//
// Proves: R22, L-26 (where v1alpha1 is not served and was never used, no write and no start of the API server asks for a conversion).
func TestServedVersionsCost(t *testing.T) {
	n := fewResources
	if named := os.Getenv(servedVariable); named != "" {
		var err error
		if n, err = strconv.Atoi(named); err != nil {
			t.Fatal(err)
		}
	}
	r := newOperator(t, direct()).start(t, "--watch-label-selector=llamastack.io/reconciled-by=nobody")
	t.Cleanup(func() { // also where something failed
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := patchServed(ctx, true); err != nil {
			t.Error(err)
		}
	})
	for _, served := range []bool{true, false} {
		t.Run(map[bool]string{true: "served", false: "not served"}[served], func(t *testing.T) {
			serveV1alpha1(t, served)
			state := map[bool]string{true: "v1alpha1 is served", false: "it is not"}[served]
			writes := measureWrites(t, n, r)
			start := measureStart(t, n, r)
			figures.add(t, fmt.Sprintf("%s, %d custom resources: conversions, and processor time of the API server and of the operator, for each write",
				state, n), "-", writes.each(2*n))
			figures.add(t, "the same, after a start of the API server: all of them are listed in v1alpha2 after", "-", fmt.Sprintf("%s, with %s",
				seconds(start.took), start.each(n)))
			if served && (writes.conversions == 0 || float64(writes.conversions) > maxConversions*2*float64(n)) {
				t.Errorf("%d conversions for %d writes", writes.conversions, 2*n)
			}
			if !served && writes.conversions+start.conversions != 0 {
				t.Errorf("%d conversions for writes, %d for the start: want none", writes.conversions, start.conversions)
			}
		})
	}
}

// serveV1alpha1 lets the API server serve v1alpha1 or not, and waits until it does.
func serveV1alpha1(t *testing.T, served bool) {
	t.Helper()
	if err := patchServed(t.Context(), served); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, patience, "the API server has the versions of the CRD", func() error {
		_, err := cluster.KubectlRun(t.Context(), "get", "--raw", listPath("v1alpha1")+"?limit=1")
		states := map[bool]string{true: "served", false: "not served"}
		is, want := states[err == nil], states[served]
		if is != want {
			return fmt.Errorf("v1alpha1 is %s, want %s", is, want)
		}
		return nil
	})
}

func patchServed(ctx context.Context, served bool) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := admin.Get(ctx, client.ObjectKey{Name: crdName}, crd); err != nil {
		return err
	}
	patch := client.MergeFrom(crd.DeepCopy())
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == "v1alpha1" {
			crd.Spec.Versions[i].Served = served
		}
	}
	return admin.Patch(ctx, crd, patch)
}

func listPath(version string) string {
	return "/apis/llamastack.io/" + version + "/llamastackdistributions"
}

// expense is what something took; the time on the clock only where it is measured.
type expense struct {
	conversions              int
	took, apiServer, replica time.Duration
}

// each is the expense for each of so many.
func (e expense) each(n int) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
	return fmt.Sprintf("%.1f conversions, %.1f ms, %.1f ms", float64(e.conversions)/float64(n), ms(e.apiServer), ms(e.replica))
}

// spent is the expense so far.
func spent(t *testing.T, r *replica) expense {
	t.Helper()
	server, err1 := fixture.ProcessorTimeOf(plane.processes[apiServer].PID)
	own, err2 := fixture.ProcessorTimeOf(r.cmd.Process.Pid)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return expense{conversions: conversions(t), apiServer: server, replica: own}
}

func (e expense) minus(before expense) expense {
	return expense{conversions: e.conversions - before.conversions, apiServer: e.apiServer - before.apiServer, replica: e.replica - before.replica}
}

// measureWrites creates so many custom resources and edits each once. They stay until the next measurement ends.
func measureWrites(t *testing.T, n int, r *replica) expense {
	t.Helper()
	w := &world{t: t, namespace: fmt.Sprintf("chaos-%d", namespaces.Add(1))}
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = admin.DeleteAllOf(ctx, w.resource(""), client.InNamespace(w.namespace))
		_ = admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	})
	settledConversions(t)
	before := spent(t, r)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"networking":{"port":8322}}}`))
	err := <-fixture.AtOnce(n, func(i int) error {
		cr := w.resource(fmt.Sprintf("s-%d", i))
		if err := admin.Create(t.Context(), cr); err != nil {
			return err
		}
		return admin.Patch(t.Context(), cr, patch)
	})
	if err != nil {
		t.Fatal(err)
	}
	settledConversions(t)
	return spent(t, r).minus(before)
}

// measureStart ends the API server and starts it again, until it has listed all custom resources from its cache.
func measureStart(t *testing.T, n int, r *replica) expense {
	t.Helper()
	plane.kill(t, apiServer)
	before, err := fixture.ProcessorTimeOf(r.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	plane.start(t, apiServer)
	fixture.Eventually(t, patience, "the API server lists the custom resources", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := cluster.KubectlRun(ctx, "get", "--raw", listPath("v1alpha2")+"?resourceVersion=0")
		if listed := strings.Count(out, `"kind":"LlamaStackDistribution"`); err == nil && listed < n {
			err = fmt.Errorf("%d of %d", listed, n)
		}
		return err
	})
	took := time.Since(began)
	plane.ready(t)
	settledConversions(t)
	e := spent(t, r)
	e.took, e.replica = took, e.replica-before
	return e
}

var conversionCount = regexp.MustCompile(`(?m)^apiserver_crd_conversion_webhook_duration_seconds_count\{crd_name="` + regexp.QuoteMeta(crdName) + `".* (\d+)$`)

// conversions is how often the API server, since it was started, has converted a custom resource by the webhook.
func conversions(t *testing.T) (count int) {
	t.Helper()
	text, err := cluster.KubectlRun(t.Context(), "get", "--raw", "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range conversionCount.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		count += n
	}
	return count
}

// settledConversions waits until there were no more conversions for a while.
func settledConversions(t *testing.T) {
	t.Helper()
	last, since := -1, time.Now()
	fixture.Eventually(t, patience, "there are no more conversions", func() error {
		if now := conversions(t); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < settled {
			return fmt.Errorf("%d so far", last)
		}
		return nil
	})
}
