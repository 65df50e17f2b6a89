// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// paceVariable names the variable with the numbers of custom resources to measure, separated by commas.
	paceVariable = "LLSD_BENCH"
	// memoryVariable names the variable with the operator's memory limit, as a quantity; the default is that of the
	// manifest.
	memoryVariable = "LLSD_BENCH_MEMORY"
	// maxRequestsEach bounds the operator's requests for each custom resource while no pod becomes ready.
	maxRequestsEach = 12
	paceTimeout     = 75 * time.Minute
	// quiet is longer than the debounce of status writes, so that no write is left to the operator's next process.
	quiet = 3 * time.Second
)

// Proves: R69, R56, L-03 (many new custom resources cost few requests each; afterwards the operator is idle, and a
// restarted one writes nothing).
//
// The test also reports, without asserting them, the times beside those of a replay of the same writes.
func TestManyNewCustomResources(t *testing.T) {
	w := newWorld(t)
	if limit := os.Getenv(memoryVariable); limit != "" {
		w.giveMemory(t, limit)
	}
	w.operator = newOperator(t, w.in(t, framework.OperatorNamespace))
	sizes := "50"
	if named := os.Getenv(paceVariable); named != "" {
		sizes = named
	}
	var report strings.Builder
	w.silent(t)
	lines := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	idle, err := w.operator.usage()
	framework.NoError(t, err)
	printFigures(lines, 0, []figure{{"memory of an idle operator", mib(idle.resident), "45 MiB"}})
	var former []string
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		framework.NoError(t, err)
		w.remove(t, former...)
		former = []string{fmt.Sprintf("pace-%d", n), fmt.Sprintf("beside-%d", n)}
		t.Run(size, func(t *testing.T) { printFigures(lines, n, w.pace(t, n, former[0], former[1])) })
	}
	if err := lines.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", report.String())
	if file := os.Getenv("LLSD_BENCH_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(report.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// giveMemory sets the operator's memory limit, and half of it as Go's limit, as docs/operator-settings.md says.
func (w *world) giveMemory(t *testing.T, limit string) {
	t.Helper()
	memory, err := quantity.ParseQuantity(limit)
	framework.NoError(t, err)
	d := &appsv1.Deployment{}
	framework.NoError(t, w.admin.Get(t.Context(), client.ObjectKey{Namespace: framework.OperatorNamespace, Name: framework.OperatorName}, d))
	container := &d.Spec.Template.Spec.Containers[0]
	container.Resources.Limits[corev1.ResourceMemory] = memory
	for i := range container.Env {
		if container.Env[i].Name == "GOMEMLIMIT" {
			container.Env[i].Value = strconv.FormatInt(memory.Value()/2, 10)
		}
	}
	framework.NoError(t, w.admin.Update(t.Context(), d))
}

// figure is a measured value with its goal; an empty goal means none.
type figure struct{ name, measured, goal string }

func printFigures(to io.Writer, n int, figures []figure) {
	for _, f := range figures {
		goal := ""
		if f.goal != "" {
			goal = "goal " + f.goal
		}
		_, _ = fmt.Fprintf(to, "%d\t%s\t%s\t%s\n", n, f.name, f.measured, goal)
	}
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

const withSecret = starter + `,"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000/v1","apiKey":{"name":"keys","key":"token"}}}`

// pace measures n new custom resources in a namespace, and edits while others are created in another namespace.
func (w *world) pace(t *testing.T, n int, many, beside string) []figure {
	t.Helper()
	replay := w.replay(t, many+"-replay", n)
	w.keys(t, many)
	w.silent(t)
	w.operator.resetPeak()
	made := w.many(t, many, n, withSecret)
	t.Logf("all Deployments after %s, requests %.1f each, processor time of the operator %s", made.took.Round(time.Second), made.requests, made.operator)
	if made.requests > float64(maxRequestsEach) {
		t.Errorf("%.1f requests for each of %d custom resources", made.requests, n)
	}
	before, _ := w.operator.usage()
	t.Logf("memory %s, at most %s", mib(before.resident), mib(before.peak))
	edits := w.someEdits(t, "among", nil)
	t.Log("edits among them:", edits)
	w.keys(t, beside)
	others := min(n, 500)
	// The edits keep the operator busy.
	during := w.someEdits(t, "during", func() { w.burst(t, beside, others, withSecret) })
	t.Log("edits while others are created:", during)
	w.silent(t)
	writes, silent := w.restart(t)
	if writes > 0 {
		t.Errorf("a restart wrote %d times", writes)
	}
	each := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000/float64(n)) }
	memory := "90 MiB with 200, 200 MiB with 1,000"
	return []figure{
		{"Deployments of all, time", fmt.Sprintf("%.1f s", made.took.Seconds()), ""},
		{"replay of the same writes, time", fmt.Sprintf("%.1f s", replay.took.Seconds()), ""},
		{"times the replay", fmt.Sprintf("%.1f", made.took.Seconds()/replay.took.Seconds()), "2.2"},
		{"requests of the operator, each", fmt.Sprintf("%.1f", made.requests), strconv.Itoa(maxRequestsEach)},
		{"processor time of the operator, each", each(made.operator), ""},
		{"processor time of the API server, each", each(made.apiServer), ""},
		{"processor time of the API server in the replay, each", each(replay.apiServer), ""},
		{"memory of the operator, peak", mib(before.peak), memory},
		{"memory of the operator afterwards", mib(before.resident), ""},
		{"edits among them: half, 95 %, all", edits, "100 ms"},
		{fmt.Sprintf("edits while %d others are created: half, 95 %%, all", others), during, "100 ms"},
		{"writes of an operator that starts", strconv.Itoa(writes), "0"},
		{"an operator that starts is silent after", silent.Round(time.Millisecond).String(), ""},
	}
}

func (w *world) keys(t *testing.T, namespace string) {
	t.Helper()
	w.namespace(t, namespace)
	w.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keys"}, StringData: map[string]string{"token": w.canaries.New()}})
}

// cost is the total time, the processor times, and the operator's requests for each custom resource.
type cost struct {
	took, operator, apiServer time.Duration
	requests                  float64
}

// many creates custom resources, waits for their Deployments until the operator is idle, and counts the requests for
// them.
func (w *world) many(t *testing.T, namespace string, n int, spec string) cost {
	t.Helper()
	requests := w.requestsOf(t, namespace)
	c := w.burst(t, namespace, n, spec)
	w.silent(t)
	c.requests = float64(w.requestsOf(t, namespace)-requests) / float64(n)
	return c
}

// burst creates custom resources and waits for their Deployments, without counting requests.
func (w *world) burst(t *testing.T, namespace string, n int, spec string) cost {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), paceTimeout)
	defer cancel()
	before, err1 := w.operator.usage()
	server := apiServerCPU(t)
	began := time.Now()
	creating := framework.Parallel(n, func(i int) error {
		name := fmt.Sprintf("s-%d", i)
		code, answer, err := w.ask(ctx, "POST", strings.TrimSuffix(resourcePath("v1alpha2", namespace, ""), "/"), resource("v1alpha2", name, spec))
		if err == nil && code != 201 {
			err = errors.New(denial(code, answer))
		}
		return err
	})
	there := w.deployments(ctx, namespace, n)
	took := time.Since(began)
	after, err2 := w.operator.usage()
	if err := errors.Join(<-creating, err1, err2); err != nil || there < n {
		t.Fatalf("%d of %d Deployments, %v", there, n, err)
	}
	return cost{took: took, operator: after.cpu - before.cpu, apiServer: apiServerCPU(t) - server}
}

// deployments waits until there are n Deployments, and returns their number when the context ends. The API server ends
// a watch after half an hour or more.
func (w *world) deployments(ctx context.Context, namespace string, n int) int {
	there := map[string]bool{}
	for len(there) < n && ctx.Err() == nil {
		changes, err := w.admin.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace))
		if err != nil {
			pause(ctx.Done(), time.Second)
			continue
		}
		for event := range changes.ResultChan() { // first the existing ones
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				there[d.Name] = true
			}
			if len(there) == n {
				break
			}
		}
		changes.Stop()
	}
	return len(there)
}

// replay writes the operator's objects for a custom resource n times, each with an Event and a patch. It begins and
// ends without such objects, because Kubernetes takes longer for a Service the more Services exist.
func (w *world) replay(t *testing.T, namespace string, n int) cost {
	t.Helper()
	pattern := namespace + "-of"
	w.keys(t, pattern)
	w.burst(t, pattern, 1, withSecret)
	templates := w.written(t, pattern)
	w.namespace(t, namespace)
	server := apiServerCPU(t)
	began := time.Now()
	err := <-framework.Parallel(n, func(i int) error {
		var last client.Object
		for _, one := range templates {
			o := reflect.New(one.kind).Interface().(client.Object)
			text := firstName.ReplaceAll(one.text, fmt.Appendf(nil, "s-%d", i)) // in labels and selectors, too
			if err := json.Unmarshal(text, o); err != nil {
				return err
			}
			o.SetNamespace(namespace)
			if err := w.admin.Create(t.Context(), o); err != nil {
				return err
			}
			last = o
		}
		event := &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "e-"}, EventTime: metav1.NowMicro(), ReportingController: "replay",
			ReportingInstance: "replay", Action: "Replay", Reason: "Replay", Type: "Normal", Note: "as the operator's",
			Regarding: corev1.ObjectReference{Kind: "Service", Namespace: namespace, Name: last.GetName()},
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"replay":"status"}}}`))
		return errors.Join(w.admin.Create(t.Context(), event), w.admin.Patch(t.Context(), last, patch))
	})
	framework.NoError(t, err)
	c := cost{took: time.Since(began), apiServer: apiServerCPU(t) - server}
	t.Logf("the replay took %s, processor time of the API server %s", c.took.Round(time.Second), c.apiServer)
	w.remove(t, namespace, pattern)
	return c
}

// remove deletes namespaces, and waits until they are gone, so that the deletion does not affect the next measurement.
func (w *world) remove(t *testing.T, namespaces ...string) {
	t.Helper()
	for _, name := range namespaces {
		framework.NoError(t, client.IgnoreNotFound(w.admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	for _, name := range namespaces {
		framework.Eventually(t, paceTimeout, name+" is gone", func() error {
			err := w.admin.Get(t.Context(), client.ObjectKey{Name: name}, &corev1.Namespace{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New("it is there"))
		})
	}
}

// firstName matches the name of the first custom resource in an object.
var firstName = regexp.MustCompile(`\bs-0\b`)

// template is an object of the first custom resource, without the fields that the API server sets.
type template struct {
	kind reflect.Type
	text []byte
}

func (w *world) written(t *testing.T, namespace string) (list []template) {
	t.Helper()
	add := func(o client.Object) {
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
		o.SetOwnerReferences(nil)
		delete(o.GetLabels(), names.LabelManagedBy) // the operator would watch it
		text, err := json.Marshal(o)
		framework.NoError(t, err)
		list = append(list, template{kind: reflect.TypeOf(o).Elem(), text: text})
	}
	get := func(o client.Object, name string) { framework.NoError(t, w.in(t, namespace).Get(o, name)) }
	account := &corev1.ServiceAccount{}
	get(account, "s-0-sa")
	add(account)
	configMaps := &corev1.ConfigMapList{}
	if err := w.admin.List(t.Context(), configMaps, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/instance": "s-0"}); err != nil || len(configMaps.Items) == 0 {
		t.Fatalf("%d ConfigMaps, %v", len(configMaps.Items), err)
	}
	add(&configMaps.Items[0])
	d := &appsv1.Deployment{}
	get(d, "s-0")
	add(d)
	s := &corev1.Service{}
	get(s, "s-0-service")
	s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil
	add(s)
	return list
}

func (w *world) requestsOf(t *testing.T, namespace string) int {
	t.Helper()
	all, err := cluster.Requests()
	framework.NoError(t, err)
	count := 0
	for i := range all {
		if all[i].Namespace == namespace && strings.HasPrefix(all[i].User, "system:serviceaccount:"+framework.OperatorNamespace+":") {
			count++
		}
	}
	return count
}

// silent waits until the operator has used almost no processor time for a while.
func (w *world) silent(t *testing.T) {
	t.Helper()
	last, since := usage{}, time.Now()
	framework.Eventually(t, paceTimeout, "the operator is silent", func() error {
		now, err := w.operator.usage()
		if now.cpu-last.cpu > 3*quiet/100 { // the lease takes some
			last, since = now, time.Now()
		}
		if err == nil && time.Since(since) < quiet {
			err = errors.New("it works")
		}
		return err
	})
}

// someEdits measures edits of one custom resource while happens runs, or for ten seconds.
func (w *world) someEdits(t *testing.T, name string, happens func()) string {
	t.Helper()
	framework.NoError(t, client.IgnoreAlreadyExists(w.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bystanders}})))
	name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	w.mustStore(t, bystanders, name, starter)
	_, err := w.verdict(t.Context(), bystanders, name)
	framework.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if happens == nil {
			pause(ctx.Done(), 10*time.Second)
			return
		}
		happens()
	}()
	var took latencies
	if err := w.editResource(t.Context(), ctx.Done(), name, &took); err != nil {
		t.Error(err)
	}
	<-ctx.Done()
	return quantiles(took.deployed)
}

// restart restarts the operator, and returns how many writes about custom resources the new process made, and how long
// it took until it was idle.
func (w *world) restart(t *testing.T) (writes int, silent time.Duration) {
	t.Helper()
	w.operator.Kill()
	before, err := cluster.Requests()
	framework.NoError(t, err)
	began := time.Now()
	w.operator.start()
	w.silent(t)
	all, err := cluster.Requests()
	framework.NoError(t, err)
	for _, r := range all[len(before):] {
		own := strings.HasPrefix(r.User, "system:serviceaccount:"+framework.OperatorNamespace+":") && r.Namespace != framework.OperatorNamespace
		if own && (r.Verb == "create" || r.Verb == "patch" || r.Verb == "update" || r.Verb == "delete") && !strings.HasSuffix(r.Resource, "reviews") {
			writes++
			t.Logf("after a restart: %s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name)
		}
	}
	return writes, time.Since(began) - quiet
}

func apiServerCPU(t *testing.T) time.Duration {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	framework.NoError(t, err)
	for _, file := range processes {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line[:min(len(line), 200)], []byte("kube-apiserver")) || !bytes.Contains(line, []byte(cluster.Dir)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		framework.NoError(t, err)
		if took, err := framework.CPUTimeOf(pid); err == nil {
			return took
		}
	}
	t.Fatal("there is no API server")
	return 0
}
