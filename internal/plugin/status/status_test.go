// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

const running = `version: 2
apis: [inference, vector_io]
providers:
  inference:
  - {provider_id: vllm, provider_type: "remote::vllm", config: {base_url: "http://vllm:8000/v1"}}
  - {provider_id: "${env.OLLAMA_URL:+ollama}", provider_type: "remote::ollama", config: {}}
  - {provider_id: "${env.TOGETHER_API_KEY:+together}", provider_type: "remote::together", config: {}}
  - {provider_id: __disabled__, provider_type: "remote::groq", config: {}}
  - {provider_id: "${env.OTHER:=__disabled__}", provider_type: "remote::openai", config: {}}
  vector_io:
  - {provider_id: faiss, provider_type: "inline::faiss", config: {}}
registered_resources:
  models:
  - {model_id: "llama3.2-8b", provider_id: vllm, model_type: llm}
  - {model_id: "nomic", provider_id: "${env.OLLAMA_URL:+ollama}", model_type: embedding}
  - {model_id: "off", provider_id: "${env.TOGETHER_API_KEY:+together}", model_type: llm}
`

// stack returns a reconciled custom resource; each condition has the form "Type=Status Reason: message".
func stack(t *testing.T, name string, conditions ...string) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name, UID: "u1", Generation: 2}}
	if err := yaml.Unmarshal([]byte("distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}"), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	cr.Status = v1alpha2.LlamaStackDistributionStatus{
		Phase: v1alpha2.PhaseReady, ObservedGeneration: 2, Replicas: 1, AvailableReplicas: 1, ServiceURL: "http://" + name + "-service.ai.svc:8321",
		ResolvedDistribution: &v1alpha2.ResolvedDistributionStatus{Image: "registry.example/starter:0.7.1", ServerLine: "0.7", ConfigSource: "embedded"},
		ConfigGeneration:     &v1alpha2.ConfigGenerationStatus{ConfigMapName: name + "-config"},
		Version:              &v1alpha2.VersionInfo{OperatorVersion: "1.0.0", LlamaStackServerVersion: "0.7.1"},
	}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		status, rest, _ := strings.Cut(rest, " ")
		reason, message, _ := strings.Cut(rest, ": ")
		cr.Status.Conditions = append(cr.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, ObservedGeneration: 2,
		})
	}
	return cr
}

func labeled(o client.Object, name string) client.Object {
	o.SetNamespace("ai")
	o.SetName(name)
	o.SetLabels(names.Selector("my-stack"))
	return o
}

// belongings returns the objects of my-stack. Its pod is ready if available is above 0, otherwise its image pull fails.
func belongings(available int32) []client.Object {
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "llama-stack", Env: []corev1.EnvVar{{Name: "OLLAMA_URL", Value: "http://ollama:11434"}}}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}
	state := corev1.ContainerStatus{Name: "llama-stack", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image: ErrImagePull: not found"},
	}}
	if available > 0 {
		d.Status.AvailableReplicas = available
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		state = corev1.ContainerStatus{Name: "llama-stack", Ready: true, RestartCount: 2}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 8321}}}}
	claim := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
	}}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-config"}, Data: map[string]string{"config.yaml": running}}
	at := metav1.NewTime(time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC))
	event := func(name, kind, of, reason, text string) client.Object {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}, Type: kind, Reason: reason, Message: text, Count: 3, LastTimestamp: at,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: of},
		}
	}
	return []client.Object{
		labeled(d, "my-stack"), labeled(pod, "my-stack-abc"), labeled(service, "my-stack-service"), labeled(claim, "my-stack-pvc"), cm,
		event("e1", "Warning", "my-stack-abc", "Failed", "Error: ErrImagePull"),
		event("e2", "Normal", "my-stack-abc", "Pulling", "not shown"),
		event("e3", "Warning", "stranger", "Failed", "not shown"),
	}
}

// Proves: R91 (status reports a newer release line, with the command that shows its effect).
func TestStatusScreen(t *testing.T) {
	ready := stack(t, "my-stack", "ConfigGenerated=True X: y", "Available=True ServerAvailable: z", "Ready=True Ready: The spec is applied")
	ready.Status.DistributionConfig = &v1alpha2.DistributionConfig{
		VectorStores: []v1alpha2.ResourceInfo{{Name: "docs"}}, ToolGroups: []v1alpha2.ResourceInfo{{Name: "builtin::websearch", ProviderID: "tavily"}},
		Connectors: []v1alpha2.ResourceInfo{{Name: "github"}}, MissingResources: []string{"models/vllm/llama3.2-8b"},
	}
	ready.Status.ResolvedDistribution.NewerServerLine = "9.9"
	for name, test := range map[string]struct {
		cr        *v1alpha2.LlamaStackDistribution
		available int32
	}{
		"ready": {ready, 1},
		"rejected": {stack(
			t, "my-stack", `ConfigGenerated=False DuplicateProviderID: spec.providers.inference[1].id: Duplicate value: "vllm": give each its own`,
			"DeploymentUpdated=False NotApplied: Nothing was changed: see ConfigGenerated", "Available=True ServerAvailable: z", "Stalled=True DuplicateProviderID: x",
			"Ready=False DuplicateProviderID: spec.providers…",
		), 1},
		"not-ready": {stack(
			t, "my-stack", "ConfigGenerated=True X: y", "DeploymentUpdated=False RolloutInProgress: 0 of 1 up-to-date pods are available: ImagePullBackOff: not found",
			"Available=False ServerUnavailable: 0 of 1 pods are available: ImagePullBackOff: not found", "Ready=False RolloutInProgress: x",
		), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.New(t, append(belongings(test.available), test.cr)...)
			out, code := run(t, c, "my-stack")
			if code != cli.ExitOK {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			expect.File(t, filepath.Join("testdata", name+".txt"), out)
		})
	}
}

// Only the Events of a PVC say why it gets no volume.
func TestStatusReportsReasonOfPendingPVC(t *testing.T) {
	claim := labeled(&corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}, "my-stack-pvc")
	claim.SetUID("now")
	second := 0
	event := func(of types.UID, kind, reason, text string) client.Object {
		second++
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: reason}, Type: kind, Reason: reason, Message: text,
			InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Name: "my-stack-pvc", UID: of},
			LastTimestamp:  metav1.NewTime(time.Date(2026, 5, 4, 10, 0, second, 0, time.UTC)),
		}
	}
	world := []client.Object{stack(t, "my-stack", "Ready=False RolloutInProgress: x"), claim}
	for _, step := range []struct {
		event client.Object
		want  string
	}{
		{event("now", "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding"), "WaitForFirstConsumer: waiting for first"},
		{event("now", "Warning", "ProvisioningFailed", "storageclass \"fast\" not found"), `ProvisioningFailed: storageclass "fast" not found`},
		{event("now", "Normal", "ExternalProvisioning", "waiting for a volume"), `ProvisioningFailed: storageclass "fast" not found`},
		{event("before", "Warning", "Other", "of an earlier PVC"), `ProvisioningFailed: storageclass "fast" not found`},
	} {
		world = append(world, step.event)
		out, _ := run(t, fakecluster.New(t, world...), "my-stack")
		if !regexp.MustCompile(`PersistentVolumeClaim/my-stack-pvc +Pending +` + regexp.QuoteMeta(step.want)).MatchString(out) {
			t.Errorf("want %s:\n%s", step.want, out)
		}
	}
}

// Only the custom resource exists: the operator does not run, or the image's configuration is used.
func TestStatusOfUnreconciledResource(t *testing.T) {
	cr := stack(t, "my-stack")
	cr.Status = v1alpha2.LlamaStackDistributionStatus{}
	out, code := run(t, fakecluster.New(t, cr), "my-stack")
	if code != cli.ExitOK || !strings.HasPrefix(out, "ai/my-stack: the operator has not reconciled the resource: is the operator running?\n") ||
		!strings.Contains(out, "off: VLLM_URL is not set") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// Proves: L-33 (conditions of an earlier generation are marked, for one resource and in the table).
func TestStatusReportsAnUnseenGeneration(t *testing.T) {
	for want, conditions := range map[string][]string{
		"the operator has not observed generation 3 yet; the server runs generation 2": {"Ready=True Ready: x", "Available=True A: b"},
		"the operator has not observed generation 3 yet: is the operator running?":     {"SecretsResolved=False SecretNotFound: y", "Ready=False SecretNotFound: x"},
	} {
		cr := stack(t, "my-stack", conditions...)
		cr.Generation = 3
		c := fakecluster.New(t, cr)
		if out, _ := run(t, c, "my-stack"); !strings.HasPrefix(out, "ai/my-stack: "+want+"\n") {
			t.Errorf("want %q:\n%s", want, out)
		}
		if out, _ := run(t, c); !strings.Contains(out, want+"\n") {
			t.Errorf("the table does not report %q:\n%s", want, out)
		}
	}
}

func TestStatusTable(t *testing.T) {
	other := stack(t, "other", "Ready=True Ready: x", "Available=True A: b")
	other.Namespace = "web"
	asleep := stack(t, "asleep", "Available=False ScaledToZero: The server is scaled to zero", "Ready=True Ready: x")
	broken := stack(t, "my-stack", "SecretsResolved=False SecretNotFound: spec.providers.inference.apiKey: Not found", "Ready=False SecretNotFound: x")
	c := fakecluster.New(t, other, broken, asleep)
	for file, args := range map[string][]string{"table.txt": nil, "table-all.txt": {"-A"}} {
		out, code := run(t, c, args...)
		if code != cli.ExitOK {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		expect.File(t, filepath.Join("testdata", file), out)
	}
	if out, _ := run(t, fakecluster.New(t)); out != "no LlamaStackDistributions found\n" {
		t.Errorf("of an empty namespace: %s", out)
	}
}

func TestStatusForPrograms(t *testing.T) {
	c := fakecluster.New(t, append(belongings(1), stack(t, "my-stack", "Ready=True Ready: x", "Available=True A: b"))...)
	var s screen
	out, _ := run(t, c, "my-stack", "-o", "json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if !s.Good || len(s.Models) != 2 || s.Models[0].Name != "vllm/llama3.2-8b" || len(s.Providers) != 6 || strings.Contains(out, "\x1b") {
		t.Errorf("%s", out)
	}
	var list overview
	out, _ = run(t, c, "-o", "yaml")
	if err := yaml.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 || !list.Items[0].Good {
		t.Errorf("%v\n%s", err, out)
	}
}

// A user who may not list a kind sees the rest, and a note about that kind.
func TestStatusReportsForbiddenReads(t *testing.T) {
	c := fakecluster.New(t, append(belongings(1), stack(t, "my-stack", "Ready=True Ready: x", "Available=True A: b"))...)
	c.WithWatch = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
			}
			return inner.List(ctx, list, opts...)
		},
	})
	out, code := run(t, c, "my-stack")
	if code != cli.ExitOK || !strings.Contains(out, "Not read\n  Pods: no permission to list them\n") || !strings.Contains(out, "Deployment/my-stack") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestStatusRejectsInvalidUsage(t *testing.T) {
	c := fakecluster.New(t)
	for want, args := range map[string][]string{
		"--all-namespaces and a name are mutually exclusive": {"x", "-A"},
		"--watch and --output are mutually exclusive":        {"-w", "-o", "json"},
		`--output "toml": choose one of`:                     {"-o", "toml"},
	} {
		if out, code := run(t, c, args...); code != cli.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d: %s", args, code, out)
		}
	}
	if out, code := run(t, c, "nobody"); code != cli.ExitFailure || !strings.Contains(out, `there is no LlamaStackDistribution "nobody" in namespace ai`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestStatusWatchShowsChanges(t *testing.T) {
	cr := stack(t, "my-stack", "Ready=False SecretNotFound: x", "SecretsResolved=False SecretNotFound: there is no such Secret")
	c := fakecluster.New(t, cr)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out lockedBuffer
	o := &options{watch: true, interval: time.Millisecond}
	ended := make(chan error, 1)
	go func() {
		ended <- o.run(ctx, &cluster.Connection{Client: c, Namespace: "ai"}, []string{"my-stack"}, &out)
	}()
	out.await(ctx, t, "SecretNotFound")
	now := stack(t, "my-stack", "Ready=True Ready: x", "Available=True A: b")
	if stored, err := (&cluster.Connection{Client: c, Namespace: "ai"}).Get(ctx, "my-stack"); err == nil {
		now.ResourceVersion = stored.ResourceVersion
	}
	if err := c.Update(ctx, now); err != nil {
		t.Fatal(err)
	}
	out.await(ctx, t, "ai/my-stack: ready")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := out.String(); strings.Count(text, "ai/my-stack: ") != 2 {
		t.Errorf("a state is printed more than once:\n%s", text)
	}
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func (b *lockedBuffer) await(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !strings.Contains(b.String(), text) {
		select {
		case <-ctx.Done():
			t.Fatalf("%q does not appear in:\n%s", text, b.String())
		case <-ticker.C:
		}
	}
}

// run runs the command in namespace ai; text holds both streams.
func run(t *testing.T, c client.WithWatch, args ...string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &out}
	cmd := New(streams, func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{Client: c, Namespace: "ai"}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...))
	code = cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	return out.String(), code
}
