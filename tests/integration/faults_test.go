// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: FR-014, R19, R49, R61, FR-034, FR-066, FR-075, US-2.2, L-17, L-35 (an invalid edit reports the field and the
// fix, and the running server continues).
func TestFailingEditsDoNotChangeRunningServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.WithoutPolicy()
	op := e.ready()
	e.Quiet(op)
	before := e.versions("my-stack")
	delete(before, "itself")
	for name, c := range map[string]struct {
		spec   string
		reason string
		want   []string
	}{
		"unknown provider key": {
			`{"providers":{"inference":{"provider":"vllm","endpont":"http://vllm:8000"}}}`, string(problem.UnknownField),
			[]string{"spec.providers.inference.endpont", `did you mean "endpoint"?`},
		},
		"list without ids": {
			`{"providers":{"inference":[{"provider":"vllm","endpoint":"http://a"},{"provider":"vllm","endpoint":"http://b"}]}}`,
			string(problem.MissingField), []string{"spec.providers.inference[0].id", "spec.providers.inference[1].id", "needs an id: for example id: vllm-1"},
		},
		"endpoint without scheme": {
			`{"providers":{"inference":{"provider":"vllm","endpoint":"vllm:8000"}}}`, string(problem.InvalidField),
			[]string{"spec.providers.inference.endpoint", "http://"},
		},
		"model of an unknown provider": {
			`{"resources":{"models":[{"name":"m","provider":"nobody"}]}}`, string(problem.UnknownProvider),
			[]string{"spec.resources.models[0].provider", "vllm"},
		},
		"unknown distribution": {
			`{"distribution":{"name":"startr"}}`, string(problem.UnknownDistribution),
			[]string{"spec.distribution.name", `did you mean "starter"?`, "registered-distribution.yaml"},
		},
		"a key that no label can have": {
			`{"networking":{"allowedFrom":{"labels":["team=frontend"]}}}`, string(problem.InvalidField),
			[]string{`spec.networking.allowedFrom.labels[0]: Invalid value: "team=frontend": is not a valid label key: write team: `},
		},
		"unknown distribution and more": {
			`{"distribution":{"name":"startr"},"disabled":["inferense"]}`, string(problem.UnknownDistribution),
			[]string{"spec.distribution.name", `spec.disabled[0]: Unsupported value: "inferense": did you mean "inference"?`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e.PatchSpec("my-stack", c.spec)
			message := e.WaitCondition("my-stack", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, c.reason)
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("the message does not mention %q: %s", want, message)
				}
			}
			e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionFalse, c.reason)
			e.WaitCondition("my-stack", v1alpha2.ConditionStalled, metav1.ConditionTrue, c.reason)
			e.WaitCondition("my-stack", v1alpha2.ConditionAvailable, metav1.ConditionTrue, "")
			if phase := e.CR("my-stack").Status.Phase; phase != v1alpha2.PhaseReady {
				t.Errorf("phase %s, want Ready: the server serves on", phase)
			}
			e.PatchSpec("my-stack", `{"networking":null}`)
			e.Apply(framework.Sample(t, "v1alpha2-simple.yaml"))
			e.replaceSpec("my-stack", "v1alpha2-simple.yaml")
			e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
			after := e.versions("my-stack")
			delete(after, "itself")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("a failing edit and its fix touched objects (-before +after):\n%s", diff)
			}
		})
	}
}

// replaceSpec replaces the resource's spec with that of a sample, as kubectl replace does. It retries if the operator
// writes the status between kubectl's read and its write.
func (e *env) replaceSpec(name, file string) {
	e.T.Helper()
	e.Eventually(name+" is replaced", func() error {
		out, err := suite.Cluster.KubectlInput(e.T.Context(), framework.Sample(e.T, file), "replace", "-n", e.Name, "-f", "-")
		if err != nil && !strings.Contains(err.Error(), "(Conflict)") {
			e.T.Fatalf("%s: %v: %s", name, err, out)
		}
		return err
	})
}

// Proves: R20, EC-2, FR-073, US-1.2 (the status names a missing Secret with namespace and field, and recovers once it
// exists).
func TestStatusRecoversOnceMissingSecretExists(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Sample(t, "v1alpha2-simple.yaml"))
	message := e.WaitCondition("my-stack", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.SecretNotFound))
	for _, want := range []string{"Secret not found: vllm-creds", e.Name, "spec.providers.inference.apiKey", `"token"`} {
		if !strings.Contains(message, want) {
			t.Errorf("the message does not mention %q: %s", want, message)
		}
	}
	e.WaitCondition("my-stack", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
	if cr := e.CR("my-stack"); cr.Status.Phase != v1alpha2.PhasePending {
		t.Errorf("phase %s, want Pending", cr.Status.Phase)
	}
	if owned := e.owned(); len(owned) > 0 {
		t.Errorf("objects were made although a Secret is missing: %v", owned)
	}
	e.CreateSecret("vllm-creds", map[string]string{"tokn": "x"})
	e.WaitCondition("my-stack", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.SecretNotFound), `has no key "token"`, "tokn")
	e.patchSecret("vllm-creds", `{"stringData":{"token":"123456"}}`)
	message = e.WaitCondition("my-stack", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.InvalidSecret))
	if !strings.Contains(message, "looks like a number") || strings.Contains(message, "123456") {
		t.Errorf("message %q: want the problem without the value (R8)", message)
	}
	e.patchSecret("vllm-creds", `{"stringData":{"token":"`+canary+`"}}`)
	e.WaitReady("my-stack")
}

// Proves: R47, R14 (the operator's ConfigMap registers distributions; a change takes effect at once), US-1.3, R15.
func TestOperatorSettings(t *testing.T) {
	t.Parallel()
	e := newEnvWithSettings(t)
	e.StartOperator()
	e.Apply(framework.Manifest("light", "distribution: {name: light-"+e.Name+"}"))
	e.WaitCondition("light", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnknownDistribution))
	e.MakeSettings(settings.KeyDistributions, "light-"+e.Name+": {image: 'registry.example.com/light:0.7.1'}\nbroken: {imag: x}\n")
	e.WaitCondition("light", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonImageDefault)
	d := e.Deployment("light")
	if c := d.Spec.Template.Spec.Containers[0]; c.Image != "registry.example.com/light:0.7.1" || len(e.ownedConfigMaps()) != 0 {
		t.Errorf("image %s, ConfigMaps %v; want the registered image and no ConfigMap", c.Image, e.ownedConfigMaps())
	}
	e.Apply(framework.Manifest("broken", "distribution: {name: broken}"))
	message := e.WaitCondition("broken", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.InvalidOperatorSettings))
	if !strings.Contains(message, "distributions[broken]") {
		t.Errorf("message %q does not name the entry", message)
	}
}

// A new restriction stops no server: the status reports the field and the setting, the webhook rejects new resources,
// and reconciling continues when the restriction is removed.
//
// Proves: R19, R47.
func TestNewRestrictionStopsNoServer(t *testing.T) {
	e := newEnv(t)
	e.startValidation()
	e.StartOperator()
	e.Apply(framework.Manifest("s", "distribution: {name: starter}\nworkload: {overrides: {args: [--quiet]}}"))
	e.WaitReady("s")
	before := e.Deployment("s")
	remove := e.MakeSettings(settings.KeyForbid, "- commandAndArgs\n")
	message := e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.ForbiddenBySettings))
	if !strings.HasPrefix(message, "spec.workload.overrides.args: Forbidden: ") || !strings.Contains(message, settings.ConfigMapName) {
		t.Errorf("message %q", message)
	}
	e.WaitCondition("s", v1alpha2.ConditionAvailable, metav1.ConditionTrue, "")
	if diff := cmp.Diff(before.Spec, e.Deployment("s").Spec); diff != "" {
		t.Errorf("the Deployment changed (-before +after):\n%s", diff)
	}
	if out, err := e.TryApply(framework.Manifest("t", "distribution: {name: starter}\nworkload: {overrides: {command: [sh]}}")); err == nil ||
		!strings.Contains(out, "spec.workload.overrides.command: Forbidden: ") {
		t.Errorf("the webhook answers: %s", out)
	}
	remove()
	e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
}

// probes are objects that an API server admits unless it rejects their kind.
var probes = map[string]string{
	"serviceaccounts":        "{apiVersion: v1, kind: ServiceAccount}",
	"configmaps":             "{apiVersion: v1, kind: ConfigMap}",
	"secrets":                "{apiVersion: v1, kind: Secret}",
	"persistentvolumeclaims": "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
	"services":               "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}",
	"networkpolicies":        "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}",
	"ingresses":              "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: a, port: {number: 1}}}}}",
	"poddisruptionbudgets":   "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1}}",
	"horizontalpodautoscalers": "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, " +
		"spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}",
	"deployments": "{apiVersion: apps/v1, kind: Deployment, " +
		"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}",
}

// refuse makes the API server reject objects of a kind in the test's namespace, until the returned function is called.
func (e *env) refuse(group, resources string) (stop func()) {
	e.T.Helper()
	name := "refuse-" + resources + "-" + e.Name
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Name}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resources}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "the platform team refuses " + resources}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	stop = sync.OnceFunc(func() {
		_ = suite.Admin.Delete(context.Background(), binding)
		_ = suite.Admin.Delete(context.Background(), policy)
	})
	e.T.Cleanup(stop)
	for _, o := range []client.Object{policy, binding} {
		framework.NoError(e.T, suite.Admin.Create(e.T.Context(), o))
	}
	e.Eventually("the API server refuses "+resources, func() error {
		probe := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(probes[resources]), probe); err != nil {
			return err
		}
		probe.SetNamespace(e.Name)
		probe.SetName("probe")
		if err := suite.Admin.Create(e.T.Context(), probe, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "refuses "+resources) {
			return fmt.Errorf("it does not yet: %w", err)
		}
		return nil
	})
	return stop
}
