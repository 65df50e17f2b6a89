// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	operator "github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// health are the health states that the tools compute for a resource.
type health struct {
	flux status.Status
	argo string
}

var (
	healthy     = health{status.CurrentStatus, "Healthy"}
	progressing = health{status.InProgressStatus, "Progressing"}
	degraded    = health{status.FailedStatus, "Degraded"}
	terminating = health{status.TerminatingStatus, "Progressing"}
)

// Proves: R18, R50 (the libraries of Flux and Argo CD show the correct health for each reason).
func TestGitOpsToolsShowEveryProblem(t *testing.T) {
	check := argoHealth(t)
	rows := 0
	for _, row := range problem.Rows() {
		found := problem.New(row.Example)
		want := progressing
		switch {
		case found.Severity == problem.Warning:
			want = healthy
		case found.Class == problem.Terminal:
			want = degraded
		}
		cr := resource()
		f := applied(t, cr)
		cr.Status = operator.Compute(f)
		cr.Generation++ // an edit brings the problem
		f.Problems, f.Now = append(f.Problems, *found), now.Add(time.Hour)
		cr.Status = operator.Compute(f)
		rows++
		expectHealth(t, check, string(row.Reason), cr, want)
	}
	if rows < 20 {
		t.Errorf("only %d reasons", rows)
	}
}

func TestGitOpsToolsShowEveryState(t *testing.T) {
	check := argoHealth(t)
	for name, c := range map[string]struct {
		change func(*operator.Facts)
		want   health
	}{
		"being created":       {func(f *operator.Facts) { f.Deployment = nil }, progressing},
		"pods start":          {func(f *operator.Facts) { f.Deployment = deployment(2, 1) }, progressing},
		"serves":              {func(*operator.Facts) {}, healthy},
		"Deployment unknown":  {func(f *operator.Facts) { f.Deployment, f.DeploymentUnknown = nil, true }, progressing},
		"being removed":       {func(f *operator.Facts) { f.CR.DeletionTimestamp = &metav1.Time{Time: now} }, terminating},
		"scaled to zero":      {scaledToZero, healthy},
		"old Deployment seen": {func(f *operator.Facts) { f.Deployment.Status.ObservedGeneration-- }, progressing},
	} {
		cr := resource()
		f := applied(t, cr)
		c.change(f)
		cr.Status = operator.Compute(f)
		expectHealth(t, check, name, cr, c.want)
	}
	// kstatus reports an object without a status as current, as docs/gitops.md says.
	expectHealth(t, check, "no status", resource(), health{status.CurrentStatus, "Progressing"})
	cr := resource()
	cr.Status = operator.Compute(applied(t, cr))
	cr.Generation++
	expectHealth(t, check, "an edit that the operator has not seen", cr, progressing)
}

func expectHealth(t *testing.T, check func(map[string]any) (string, string), name string, cr *v1alpha2.LlamaStackDistribution, want health) {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cr)
	framework.NoError(t, err)
	result, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	argo, message := check(o)
	if got := (health{result.Status, argo}); got != want {
		text, _ := json.Marshal(cr.Status.Conditions)
		t.Errorf("%s: %+v (%s), want %+v: observedGeneration %d of %d, %s", name, got, result.Message, want, cr.Status.ObservedGeneration, cr.Generation, text)
	}
	if message == "" {
		t.Errorf("%s: Argo CD shows no message", name)
	}
}

// resource returns a resource with one provider and no status.
func resource() *v1alpha2.LlamaStackDistribution {
	cr := &v1alpha2.LlamaStackDistribution{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind}}
	cr.Name, cr.Namespace, cr.UID, cr.Generation = "my-stack", "ai", "u1", 1
	cr.Spec.Distribution.Name = new("starter")
	cr.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm","endpoint":"http://vllm:8000"}`)}}
	return cr
}

// applied returns the facts of a reconcile that applied the spec, with a running server.
func applied(t *testing.T, cr *v1alpha2.LlamaStackDistribution) *operator.Facts {
	t.Helper()
	s, err := settings.Parse(nil)
	framework.NoError(t, err)
	d, p := s.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
	if p != nil {
		t.Fatal(p)
	}
	in := build.NewInputs(cr)
	in.Distribution, in.HashKey, in.Build = d, secret.New(make([]byte, 32)), "1.0.0"
	uses, _ := serverconfig.SecretUses(in.Spec)
	want, problems := build.Build(t.Context(), in)
	return &operator.Facts{
		CR: cr, Now: now, OperatorVersion: "1.0.0", Images: s.Images(), Distribution: d, Desired: want,
		SecretCount: len(uses), Problems: problems, Deployment: deployment(1, 1),
	}
}

func scaledToZero(f *operator.Facts) {
	f.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Replicas: new(int32(0))}
	f.Deployment = deployment(0, 0)
}

// deployment returns a Deployment with the given numbers of up-to-date and available pods.
func deployment(replicas, available int32) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Generation = 3
	d.Spec.Replicas = new(replicas)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 3, Replicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: available,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	if available < replicas {
		d.Status.Conditions[0].Status, d.Status.Conditions[1].Reason = corev1.ConditionFalse, "ReplicaSetUpdated"
	}
	return d
}

// argoHealth returns the Lua health check of docs/gitops.md, run as in Argo CD: without I/O libraries.
func argoHealth(t *testing.T) func(map[string]any) (health, message string) {
	t.Helper()
	var argocd corev1.ConfigMap
	for block := range strings.SplitSeq(string(readFile(t, "docs", "gitops.md")), "```yaml\n") {
		if text, _, _ := strings.Cut(block, "```"); strings.Contains(text, "name: argocd-cm") {
			framework.NoError(t, yaml.UnmarshalStrict([]byte(text), &argocd))
		}
	}
	program := argocd.Data["resource.customizations.health.llamastack.io_LlamaStackDistribution"]
	if program == "" {
		t.Fatal("docs/gitops.md has no health check for Argo CD")
	}
	return func(o map[string]any) (health, message string) {
		l := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer l.Close()
		l.Push(l.NewFunction(lua.OpenBase))
		l.Call(0, 0)
		l.SetGlobal("obj", toLua(l, o))
		framework.NoError(t, l.DoString(program))
		result, ok := l.Get(-1).(*lua.LTable)
		if !ok {
			t.Fatalf("the health check returns %v", l.Get(-1))
		}
		return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
	}
}

func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, below := range v {
			table.RawSetString(key, toLua(l, below))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, below := range v {
			table.Append(toLua(l, below))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// Users copy the examples, so they must name this release, an existing chart and valid values.
func TestGitOpsExamplesInstallThisRelease(t *testing.T) {
	release := "v" + strings.TrimSpace(string(readFile(t, "VERSION")))
	for block := range strings.SplitSeq(string(readFile(t, "docs", "gitops.md")), "```yaml\n") {
		text, _, closed := strings.Cut(block, "\n```")
		if !closed || !strings.HasPrefix(text, "apiVersion:") {
			continue
		}
		for key, o := range documents(t, []byte(text)) {
			for path, want := range map[string]string{
				"Application spec source targetRevision":      release,
				"Application spec source path":                "charts/llama-stack-k8s-operator",
				"Application spec destination namespace":      operatorNamespace,
				"GitRepository spec ref tag":                  release,
				"HelmRelease spec chart spec chart":           "charts/llama-stack-k8s-operator",
				"HelmRelease spec targetNamespace":            operatorNamespace,
				"HelmRelease spec chart spec sourceRef name":  "llama-stack-k8s-operator",
				"Kustomization spec sourceRef kind":           "GitRepository",
				"ConfigMap metadata name":                     "argocd-cm",
				"Application spec syncPolicy automated prune": "",
			} {
				kind, fields, _ := strings.Cut(path, " ")
				if kind != o.GetKind() {
					continue
				}
				if got, _, err := unstructured.NestedString(o.Object, strings.Fields(fields)...); err != nil || got != want {
					t.Errorf("%s: %s is %q (%v), want %q", key, fields, got, err, want)
				}
			}
			if v, found, err := unstructured.NestedMap(o.Object, "spec", "values"); err != nil || found {
				render(t, v)
			}
		}
	}
}
