// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: US-1.1, US-1.2, US-3.1, FR-001, FR-021, FR-022, FR-023, FR-030, FR-031, FR-032, FR-035, FR-040, FLOW, R6, R9, R10, R11, R14, R27, R47.
func sampleBecomesServer(t *testing.T) {
	s := sampleStack(t)
	did(t, "config/samples/v1alpha2-simple.yaml is applied unchanged, and Ready")

	vllm := s.provider(t, "inference", sampleServer)
	if vllm.Type != "remote::vllm" || vllm.Config["base_url"] != "http://vllm:8000/v1" {
		t.Errorf("the server lists %+v", vllm)
	}
	if models := s.models(t); !slices.Contains(models, "vllm/"+sampleModel) {
		t.Errorf("the server's models are %q, want vllm/%s among them", models, sampleModel)
	}
	did(t, "the server lists the provider with the sample's endpoint, and the model vllm/%s", sampleModel)

	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "a chat completion through the server reached the model server with the key of the Secret")

	pod := s.pod(t)
	if pod.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the server was restarted %d times", pod.Status.ContainerStatuses[0].RestartCount)
	}
}

// Proves: STAT, API-COL, FR-024, FR-025, NFR-005, R17, R18, R21, R29, R50.
func statusReportsRunningVersions(t *testing.T) {
	s := sampleStack(t)
	cr := s.in(t).CR(s.name)
	for _, kind := range []string{
		v1alpha2.ConditionReady, v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved,
		v1alpha2.ConditionDeploymentUpdated, v1alpha2.ConditionAvailable,
	} {
		if c := meta.FindStatusCondition(cr.Status.Conditions, kind); c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != cr.Generation {
			t.Errorf("condition %s is %+v, want True at generation %d", kind, c, cr.Generation)
		}
	}
	configMap := checkConfigMap(t, s, cr)
	checkStatusFields(t, s, cr)
	checkStatusProviders(t, s, cr)
	did(t, "status: Ready, server %s, %d providers, configuration in the immutable ConfigMap %s",
		cr.Status.Version.LlamaStackServerVersion, len(cr.Status.DistributionConfig.Providers), configMap)
	checkColumns(t, s, cr)
	did(t, "kubectl get llsd: phase, providers, available replicas and age; wide: distribution, release line, ConfigMap and versions")
}

func checkConfigMap(t *testing.T, s stack, cr *v1alpha2.LlamaStackDistribution) string {
	t.Helper()
	if cr.Status.ConfigGeneration == nil {
		t.Fatal("status.configGeneration is absent")
	}
	name := cr.Status.ConfigGeneration.ConfigMapName
	var cm corev1.ConfigMap
	framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &cm))
	if !regexp.MustCompile(`^my-stack-config-[0-9a-f]{10}$`).MatchString(name) || cm.Immutable == nil || !*cm.Immutable || !metav1.IsControlledBy(&cm, cr) {
		t.Errorf("ConfigMap %s: want an immutable one, named by its content, controlled by the resource: %+v", name, cm.ObjectMeta)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(cm.Data)), []string{"config.yaml"}) {
		t.Errorf("ConfigMap %s has the keys %q", name, slices.Sorted(maps.Keys(cm.Data)))
	}
	return name
}

func checkStatusFields(t *testing.T, s stack, cr *v1alpha2.LlamaStackDistribution) {
	t.Helper()
	got := map[string]string{
		"phase":             string(cr.Status.Phase),
		"availableReplicas": fmt.Sprint(cr.Status.AvailableReplicas),
		"replicas":          fmt.Sprint(cr.Status.Replicas),
		"selector":          cr.Status.Selector,
		"serviceURL":        cr.Status.ServiceURL,
		"serverVersion":     cr.Status.Version.LlamaStackServerVersion,
		"configSource":      string(cr.Status.ResolvedDistribution.ConfigSource),
		"serverLine":        cr.Status.ResolvedDistribution.ServerLine,
		"image":             cr.Status.ResolvedDistribution.Image,
		"active":            cr.Status.DistributionConfig.ActiveDistribution,
		"available":         strings.Join(slices.Sorted(maps.Keys(cr.Status.DistributionConfig.AvailableDistributions)), " "),
		"providerCount":     fmt.Sprint(cr.Status.ConfigGeneration.ProviderCount),
		"resourceCount":     fmt.Sprint(cr.Status.ConfigGeneration.ResourceCount),
		"configVersion":     fmt.Sprint(cr.Status.ConfigGeneration.ConfigVersion),
	}
	want := map[string]string{
		"phase":             "Ready",
		"availableReplicas": "1",
		"replicas":          "1",
		"selector":          "app=llama-stack,app.kubernetes.io/instance=my-stack",
		"serviceURL":        "http://my-stack-service." + s.namespace + ".svc:8321",
		"serverVersion":     registered.version,
		"configSource":      "registered",
		"serverLine":        registered.line,
		"image":             s.pod(t).Spec.Containers[0].Image,
		"active":            "starter",
		"available":         "light meta-reference-gpu postgres-demo remote-vllm starter",
		"providerCount":     "1",
		"resourceCount":     "1",
		"configVersion":     "2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// checkStatusProviders compares the providers in the status with those that the server lists, and checks the sample's
// provider and model.
func checkStatusProviders(t *testing.T, s stack, cr *v1alpha2.LlamaStackDistribution) {
	t.Helper()
	model := v1alpha2.ModelInfo{Name: sampleServer + "/" + sampleModel, ProviderID: sampleServer}
	if got := cr.Status.DistributionConfig.Models; !slices.Contains(got, model) {
		t.Errorf("the models in status are %+v, want %+v among them", got, model)
	}
	if missing := cr.Status.DistributionConfig.MissingResources; len(missing) > 0 {
		t.Errorf("missing in status: %q", missing)
	}
	inStatus, listed := []string{}, []string{}
	for _, p := range cr.Status.DistributionConfig.Providers {
		inStatus = append(inStatus, p.API+" "+p.ProviderID+" "+p.ProviderType)
		if p.API != "inference" || p.ProviderID != sampleServer {
			continue
		}
		var config map[string]any
		if p.Config == nil || json.Unmarshal(p.Config.Raw, &config) != nil {
			t.Fatalf("the entry of %s has no config", sampleServer)
		}
		if config["base_url"] != "http://vllm:8000/v1" || config["api_token"] != "${env.LLSD_VLLM_API_KEY}" {
			t.Errorf("config of %s in status: %s, want the endpoint and the placeholder of the key", sampleServer, p.Config.Raw)
		}
	}
	for _, p := range s.providers(t) {
		listed = append(listed, p.API+" "+p.ID+" "+p.Type)
	}
	slices.Sort(inStatus)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, inStatus); diff != "" {
		t.Errorf("providers (-of the server +in status):\n%s", diff)
	}
}

func checkColumns(t *testing.T, s stack, cr *v1alpha2.LlamaStackDistribution) {
	t.Helper()
	gap := regexp.MustCompile(`\s{2,}`)
	table := func(args ...string) (rows [][]string) {
		for line := range strings.Lines(s.in(t).Kubectl(append([]string{"get", "llsd", s.name}, args...)...)) {
			row := gap.Split(strings.TrimSpace(line), -1)
			if len(row) > 6 && row[6] != "AGE" {
				row[6] = "(age)"
			}
			rows = append(rows, row)
		}
		return rows
	}
	narrow := [][]string{
		{"NAME", "PHASE", "READY", "REASON", "PROVIDERS", "AVAILABLE", "AGE"}, {s.name, "Ready", "True", "Ready", "1", "1", "(age)"},
	}
	if diff := cmp.Diff(narrow, table()); diff != "" {
		t.Errorf("kubectl get llsd (-want +got):\n%s", diff)
	}
	generation := fmt.Sprint(cr.Generation)
	wide := [][]string{
		append(narrow[0], "GENERATION", "OBSERVED", "URL", "DISTRIBUTION", "RELEASE LINE", "CONFIG", "SERVER VERSION", "OPERATOR VERSION"),
		append(narrow[1], generation, generation, cr.Status.ServiceURL, "starter", registered.line, cr.Status.ConfigGeneration.ConfigMapName,
			registered.version, cr.Status.Version.OperatorVersion),
	}
	if diff := cmp.Diff(wide, table("-o", "wide")); diff != "" {
		t.Errorf("kubectl get llsd -o wide (-want +got):\n%s", diff)
	}
}

// Proves: STAT, R50, R51, L-17.
func scaleToZeroAndBack(t *testing.T) {
	s := sampleStack(t)
	s.in(t).Kubectl("scale", "llsd/"+s.name, "--replicas=0")
	s.in(t).Within(soon).WaitCondition(s.name, v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonScaledToZero)
	framework.Eventually(t, soon, "no pod is left and the status says so", func() error {
		cr := s.in(t).CR(s.name)
		if n := len(s.in(t).Pods(s.name)); n != 0 || cr.Status.Replicas != 0 || cr.Status.Phase != v1alpha2.PhaseReady ||
			!meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) {
			return fmt.Errorf("%d pods, status.replicas %d, phase %s: %s", n, cr.Status.Replicas, cr.Status.Phase, conditions(cr))
		}
		return nil
	})
	did(t, "scaled to zero: no pod, phase Ready, Available False (ScaledToZero)")

	s.in(t).Kubectl("scale", "llsd/"+s.name, "--replicas=1")
	s.waitReady(t)
	var scale struct {
		Spec   struct{ Replicas int }
		Status struct {
			Replicas int
			Selector string
		}
	}
	framework.NoError(t, json.Unmarshal([]byte(s.in(t).Kubectl("get", "llsd", s.name, "--subresource=scale", "-o", "json")), &scale))
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 || scale.Status.Selector != "app=llama-stack,app.kubernetes.io/instance="+s.name {
		t.Errorf("the scale subresource says %+v", scale)
	}
	did(t, "scaled to one: Ready, and the scale subresource says so")
}
