// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

var (
	canary  = suite.Canaries.Add("sk-canary-4711")
	rotated = suite.Canaries.Add("sk-canary-rotated")
)

// ready waits until the simple sample is Ready, and returns its operator.
func (e *env) ready() *suite.Operator {
	e.T.Helper()
	e.CreateSecret("vllm-creds", map[string]string{"token": canary, "other": "sk-other"})
	op := e.StartOperator()
	e.Apply(framework.Sample(e.T, "v1alpha2-simple.yaml"))
	e.WaitReady("my-stack")
	return op
}

// owned returns the resource versions of the objects that the custom resources own, as "Kind/name".
func (e *env) owned() map[string]string {
	e.T.Helper()
	versions := map[string]string{}
	for _, kind := range []string{"Deployment", "Service", "ServiceAccount", "ConfigMap"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		if kind == "Deployment" {
			list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
		}
		framework.NoError(e.T, suite.Admin.List(e.T.Context(), list, client.InNamespace(e.Name)))
		for i := range list.Items {
			if c := metav1.GetControllerOf(&list.Items[i]); c != nil && c.Kind == v1alpha2.Kind {
				versions[kind+"/"+list.Items[i].Name] = list.Items[i].ResourceVersion
			}
		}
	}
	return versions
}

func (e *env) ownedConfigMaps() []string {
	e.T.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.owned())), func(n string) bool { return !strings.HasPrefix(n, "ConfigMap/") })
}

// versions returns the resource versions of the custom resource and the objects that it owns.
func (e *env) versions(resource string) map[string]string {
	e.T.Helper()
	versions := e.owned()
	versions["itself"] = e.CR(resource).ResourceVersion
	return versions
}

// Proves: FLOW, FR-021, FR-023, FR-024, FR-025, FR-026, R17, R21, R27, STAT, R29, R50, R82.
func TestResourceBecomesReady(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	cr := e.CR("my-stack")
	g := cr.Status.ConfigGeneration
	if g == nil || g.ProviderCount != 1 || g.ResourceCount != 1 || g.ConfigVersion != 2 || g.GeneratedAt == nil {
		t.Fatalf("configGeneration %+v", g)
	}
	if got, want := slices.Sorted(maps.Keys(e.owned())), []string{
		"ConfigMap/" + g.ConfigMapName, "Deployment/my-stack", "Service/my-stack-service", "ServiceAccount/my-stack-sa",
	}; !cmp.Equal(got, want) {
		t.Errorf("owned objects %v, want %v", got, want)
	}
	var cm corev1.ConfigMap
	framework.NoError(t, e.Get(&cm, g.ConfigMapName))
	if cm.Immutable == nil || !*cm.Immutable || !strings.Contains(cm.Data["config.yaml"], "base_url: http://vllm:8000/v1") {
		t.Errorf("ConfigMap %+v", cm)
	}
	if s := cr.Status; s.Phase != v1alpha2.PhaseReady || s.AvailableReplicas != 1 || s.Replicas != 1 || s.ObservedGeneration != cr.Generation ||
		s.ServiceURL != "http://my-stack-service."+e.Name+".svc:8321" || s.Version.LlamaStackServerVersion != suite.ServerRelease ||
		s.ResolvedDistribution.ConfigSource != v1alpha2.ConfigSourceEmbedded || s.ResolvedDistribution.ServerLine != catalog.Newest() ||
		!strings.HasSuffix(s.ResolvedDistribution.Image, ":"+suite.ServerRelease) {
		t.Errorf("status %+v", s)
	}
	providers := cr.Status.DistributionConfig.Providers
	if len(providers) != 1 || providers[0].ProviderID != "vllm" || providers[0].Config == nil ||
		!strings.Contains(string(providers[0].Config.Raw), `"${env.LLSD_VLLM_API_KEY}"`) || providers[0].Health != nil {
		t.Errorf("providers %+v", providers)
	}
	models := []v1alpha2.ModelInfo{{Name: "vllm/llama3", ProviderID: "vllm", NotInSpec: true}}
	if got := cr.Status.DistributionConfig.Models; !cmp.Equal(got, models) {
		t.Errorf("models %+v, want %+v", got, models)
	}
	connectors, missing := []v1alpha2.ResourceInfo{{Name: "of-the-base"}}, []string{"models/vllm/llama3.2-8b"}
	if got := cr.Status.DistributionConfig; !cmp.Equal(got.Connectors, connectors) || !cmp.Equal(got.MissingResources, missing) {
		t.Errorf("connectors %+v, want %+v; missing %q, want %q", got.Connectors, connectors, got.MissingResources, missing)
	}
	template := e.Deployment("my-stack").Spec.Template
	if template.Annotations["llamastack.io/config-hash"] == "" || template.Annotations["llamastack.io/secrets-hash"] == "" {
		t.Errorf("the pod template lacks the hash annotations: %v", template.Annotations)
	}
	for _, m := range e.Deployment("my-stack").ManagedFields {
		if m.Subresource == "" && m.Manager != "llama-stack-operator" && m.Manager != "kube-controller-manager" {
			t.Errorf("the Deployment has a second field manager %q", m.Manager)
		}
	}
}

// Proves: R56, FR-026, L-03, L-07 (an unchanged resource costs no write, and an idle one no request).
func TestUnchangedResourceCostsNothing(t *testing.T) {
	e := newEnv(t)
	op := e.ready()
	before := e.versions("my-stack")
	e.Quiet(op)

	idle := len(op.Requests.All())
	framework.Consistently(t, 3*time.Second, "an idle operator asks nothing", func() error {
		if now := op.Requests.All(); len(now) > idle {
			return fmt.Errorf("requests: %v", now[idle:])
		}
		return nil
	})

	// Two reconciles without a change: a foreign label on the Secret is an event, and the manifest is applied again.
	var s corev1.Secret
	framework.NoError(t, e.Get(&s, "vllm-creds"))
	s.Labels = map[string]string{"touched": "yes"}
	framework.NoError(t, suite.Admin.Update(t.Context(), &s))
	e.Apply(framework.Sample(t, "v1alpha2-simple.yaml"))
	e.Eventually("the event starts a pass", func() error {
		if len(op.Requests.All()) == idle {
			return fmt.Errorf("no request yet")
		}
		return nil
	})
	e.Quiet(op)
	if writes := op.Requests.Writes(idle); len(writes) > 0 {
		t.Errorf("a pass without a change wrote: %v", writes)
	}
	if diff := cmp.Diff(before, e.versions("my-stack")); diff != "" {
		t.Errorf("resource versions changed (-before +after):\n%s", diff)
	}
}

// Proves: FR-024, FR-026, NFR-005, R17, US-2.1, L-33 (each edit makes a new ConfigMap and one rollout; the previous
// ConfigMap is kept, and older ones are deleted).
func TestEditsRollOnceAndKeepThePreviousConfig(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.ready()
	first := e.CR("my-stack").Status.ConfigGeneration.ConfigMapName
	previous := first
	for i, model := range []string{"m1", "m2", "m3"} {
		generation := e.Deployment("my-stack").Generation
		e.PatchSpec("my-stack", `{"resources":{"models":["`+model+`"]}}`)
		e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
		current := e.CR("my-stack").Status.ConfigGeneration.ConfigMapName
		if current == previous {
			t.Fatalf("edit %d: still ConfigMap %s", i, current)
		}
		if got := e.Deployment("my-stack").Generation; got != generation+1 {
			t.Errorf("edit %d: the Deployment changed %d times, want once", i, got-generation)
		}
		want := []string{"ConfigMap/" + current, "ConfigMap/" + previous}
		slices.Sort(want)
		e.Eventually("the current and the previous ConfigMap stay", func() error {
			if got := e.ownedConfigMaps(); !cmp.Equal(got, want) {
				return fmt.Errorf("there are %v, want %v", got, want)
			}
			return nil
		})
		previous = current
	}
	// One rollout for the new server and three for the edits. A probe may time out on a busy machine.
	for name, want := range map[string]string{"llamastack_rollouts_total": "4", "llamastack_server_questions_total": "{result=success} "} {
		if got := op.Counted(t, name); !slices.ContainsFunc(got, func(series string) bool { return strings.Contains(series, want) }) {
			t.Errorf("the metrics count %q, want %s", got, want)
		}
	}
}

// rolledOnce waits until the Deployment's generation changes, checks that it rolled out once, and returns the new
// generation.
func (e *env) rolledOnce(op *suite.Operator, name, what string, before int64) (generation int64) {
	e.T.Helper()
	generation = before + 1
	e.Eventually(what+" rolls the pods", func() error {
		if got := e.Deployment(name).Generation; got != generation {
			return fmt.Errorf("generation %d, want %d", got, generation)
		}
		return nil
	})
	e.WaitReady(name)
	e.Quiet(op)
	if got := e.Deployment(name).Generation; got != generation {
		e.T.Errorf("%s rolled the pods %d times", what, got-before)
	}
	return generation
}

// Proves: L-04, L-31 (unset fields are removed; other clients' fields, labels and restarts stay).
func TestUnsetFieldsAreRemovedAndForeignFieldsKept(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	e.Kubectl("rollout", "restart", "deployment/my-stack")
	e.Kubectl("label", "deployment/my-stack", "team=a")
	e.PatchSpec("my-stack", `{"workload":{"resources":{"claims":null,"limits":{"memory":"3Gi"},"requests":null}}}`)
	e.Eventually("the limit is applied and the request is the default again", func() error {
		d := e.Deployment("my-stack")
		r := d.Spec.Template.Spec.Containers[0].Resources
		if r.Limits.Memory().String() != "3Gi" || r.Requests.Memory().String() != "1Gi" {
			return fmt.Errorf("resources %+v", r)
		}
		if d.Labels["team"] != "a" || d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
			return fmt.Errorf("foreign fields were lost: %v %v", d.Labels, d.Spec.Template.Annotations)
		}
		return nil
	})
}

// Proves: L-23, R54 (a new value of a referenced key causes one rollout; other keys and labels cause none).
func TestSecretRotation(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.ready()
	generation := e.Deployment("my-stack").Generation
	e.patchSecret("vllm-creds", `{"metadata":{"labels":{"x":"y"}},"stringData":{"other":"sk-new"}}`)
	e.Quiet(op)
	if got := e.Deployment("my-stack").Generation; got != generation {
		t.Errorf("an unreferenced key rolled the pods")
	}
	e.patchSecret("vllm-creds", `{"stringData":{"token":"`+rotated+`"}}`)
	e.Eventually("the new value rolls the pods", func() error {
		if got := e.Deployment("my-stack").Generation; got != generation+1 {
			return fmt.Errorf("generation %d, want %d", got, generation+1)
		}
		return nil
	})
	e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	e.Quiet(op)
	if got := e.Deployment("my-stack").Generation; got != generation+1 {
		t.Errorf("the new value rolled the pods %d times", got-generation)
	}
}

// Proves: L-23, R20 (the same for variables and files of overrides; the operator reports missing objects and waits for
// them).
func TestOverridesRotation(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.StartOperator()
	e.Apply(framework.Manifest("s", `
distribution: {name: starter}
workload:
  overrides:
    env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: mine, key: token}}}]
    volumes: [{name: files, projected: {sources: [{configMap: {name: files}}, {secret: {name: perhaps, optional: true}}]}}]
    volumeMounts: [{name: files, mountPath: /files}]
`))
	message := e.WaitCondition("s", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.SecretNotFound))
	if want := "spec.workload.overrides.env[0].valueFrom.secretKeyRef: Secret not found: mine (namespace " + e.Name + ")"; !strings.Contains(message, want) {
		t.Errorf("message %q, want %q", message, want)
	}
	e.CreateSecret("mine", map[string]string{"token": canary, "other": "x"})
	message = e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.ConfigMapNotFound))
	if want := "spec.workload.overrides.volumes[0].projected.sources[0].configMap: ConfigMap not found: files (namespace " + e.Name + ")"; !strings.Contains(message, want) {
		t.Errorf("message %q, want %q", message, want)
	}
	files := e.CreateConfigMap("files", map[string]string{"a": "1"})
	e.WaitReady("s")
	generation := e.Deployment("s").Generation
	e.patchSecret("mine", `{"metadata":{"labels":{"x":"y"}},"stringData":{"other":"z"}}`)
	e.Quiet(op)
	if got := e.Deployment("s").Generation; got != generation {
		t.Errorf("an unreferenced key rolled the pods")
	}
	for _, change := range []struct {
		what string
		make func()
	}{
		{"a variable's new value", func() { e.patchSecret("mine", `{"stringData":{"token":"`+rotated+`"}}`) }},
		{"a new file", func() {
			framework.NoError(t, suite.Admin.Patch(t.Context(), files, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"b":"2"}}`))))
		}},
		{"an optional Secret that appears", func() { e.CreateSecret("perhaps", map[string]string{"c": "3"}) }},
	} {
		change.make()
		generation = e.rolledOnce(op, "s", change.what, generation)
	}
}

// Proves: R39, FR-062, STAT (with TLS in a user's configuration, probes, Service, status and the operator's requests
// use HTTPS).
func TestOverrideWithTLS(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	plain := e.Server
	e.Server = httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(e.Server.Close)
	e.StartOperator()
	e.CreateConfigMap("own", map[string]string{"config.yaml": "version: 2\nserver: {tls_certfile: /tls/tls.crt, tls_keyfile: /tls/tls.key}\n"})
	e.Apply(framework.Manifest("s", "distribution: {name: starter}\noverrideConfig: {configMapName: own}"))
	cr := e.WaitReady("s")
	if got := cr.Status.ServiceURL; got != "https://s-service."+e.Name+".svc:8321" {
		t.Errorf("serviceURL %s", got)
	}
	e.Eventually("the server reports its version", func() error {
		if got := e.CR("s").Status.Version.LlamaStackServerVersion; got != suite.ServerRelease {
			return fmt.Errorf("version %q", got)
		}
		return nil
	})
	container := e.Deployment("s").Spec.Template.Spec.Containers[0]
	if startup, ready := container.StartupProbe.HTTPGet.Scheme, container.ReadinessProbe.HTTPGet.Scheme; startup != "HTTPS" || ready != "HTTPS" {
		t.Errorf("probes speak %s and %s", startup, ready)
	}
	var service corev1.Service
	framework.NoError(t, e.Get(&service, "s-service"))
	if p := service.Spec.Ports[0]; p.Name != "http" || p.AppProtocol == nil || *p.AppProtocol != "https" {
		t.Errorf("port %+v of the Service", p)
	}
}

func (e *env) patchSecret(name, patch string) {
	e.T.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: name}}
	framework.NoError(e.T, suite.Admin.Patch(e.T.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// Proves: R48, L-28 (an upgrade of the operator causes no rollout; the next edit applies the new pod template).
func TestOperatorUpgradeRollsNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.ready()
	op.Stop()
	before := e.Deployment("my-stack")
	e.StartOperator("9.9.9")
	e.WaitCondition("my-stack", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionTrue, "", "takes effect with the next edit")
	if after := e.Deployment("my-stack"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Deployment was touched: %s", cmp.Diff(before, after))
	}
	e.PatchSpec("my-stack", `{"resources":{"models":["m1"]}}`)
	e.Eventually("the edit brings the newer form", func() error {
		if got := e.Deployment("my-stack").Annotations["llamastack.io/operator-build"]; got != "9.9.9" {
			return fmt.Errorf("build %q", got)
		}
		return nil
	})
}

// Proves: R17, L-04, L-35 (manual changes of the operator's objects are reverted, a renumbered port of the Service too,
// which the API server merges into a duplicate).
func TestManualEditsAreReverted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	for name, patch := range map[string]string{
		"a renumbered port": `[{"op":"replace","path":"/spec/ports/0/port","value":9999}]`,
		"another selector":  `[{"op":"replace","path":"/spec/selector/app","value":"other"}]`,
	} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: "my-stack-service"}}
		if err := suite.Admin.Patch(t.Context(), s, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e.Eventually(name+" comes back", func() error {
			if err := e.Get(s, "my-stack-service"); err != nil {
				return err
			}
			if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 8321 || s.Spec.Selector["app"] != "llama-stack" {
				return fmt.Errorf("ports %+v, selector %v", s.Spec.Ports, s.Spec.Selector)
			}
			return nil
		})
		e.WaitCondition("my-stack", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	}
	// A later change of the port in the spec removes the former port.
	e.PatchSpec("my-stack", `{"networking":{"port":9321}}`)
	e.Eventually("the Service has the new port alone", func() error {
		s := &corev1.Service{}
		if err := e.Get(s, "my-stack-service"); err != nil {
			return err
		}
		if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 9321 {
			return fmt.Errorf("ports %+v", s.Spec.Ports)
		}
		return nil
	})
}

// Unused objects that the resource controls are removed: another release of the operator may have created them.
//
// Proves: R17.
func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.ready()
	leftover := func(o client.Object, like client.Object) {
		t.Helper()
		o.SetNamespace(e.Name)
		o.SetName("my-stack-former")
		o.SetLabels(like.GetLabels())
		o.SetOwnerReferences(like.GetOwnerReferences())
		framework.NoError(t, suite.Admin.Create(t.Context(), o))
	}
	service, deployment := &corev1.Service{}, e.Deployment("my-stack")
	framework.NoError(t, e.Get(service, "my-stack-service"))
	leftover(&corev1.Service{Spec: corev1.ServiceSpec{Selector: service.Spec.Selector, Ports: []corev1.ServicePort{{Port: 80}}}}, service)
	leftover(&appsv1.Deployment{Spec: *deployment.Spec.DeepCopy()}, deployment)
	e.PatchSpec("my-stack", `{"networking":{"port":9000}}`)
	e.Eventually("the leftovers are removed", func() error {
		if now := e.owned(); now["Service/my-stack-former"] != "" || now["Deployment/my-stack-former"] != "" || now["Deployment/my-stack"] == "" {
			return fmt.Errorf("there are %v", slices.Sorted(maps.Keys(now)))
		}
		return nil
	})
}

// The current and the previous derived Secret are kept.
//
// Proves: R17, R24.
func TestFormerDerivedSecretsAreRemoved(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.CreateSecret("redis", map[string]string{"password": suite.Canaries.New()})
	e.StartOperator()
	e.Apply(framework.Manifest("s", `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}
storage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: redis, key: password}}}`))
	derived := func() (names []string) {
		t.Helper()
		var list corev1.SecretList
		framework.NoError(t, suite.Admin.List(t.Context(), &list, client.InNamespace(e.Name)))
		for i := range list.Items {
			if metav1.GetControllerOf(&list.Items[i]) != nil {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}
	seen := map[string]bool{}
	for i := range 3 {
		if i > 0 {
			e.patchSecret("redis", fmt.Sprintf(`{"stringData":{"password":%q}}`, suite.Canaries.New()))
		}
		framework.Eventually(t, framework.Patience, "the Secret of this password is there and in use", func() error {
			for _, name := range derived() {
				if !seen[name] {
					seen[name] = true
					return nil
				}
			}
			return fmt.Errorf("there are %v", derived())
		})
		e.WaitReady("s")
	}
	framework.Eventually(t, framework.Patience, "the first Secret is removed", func() error {
		if now := derived(); len(now) != 2 {
			return fmt.Errorf("there are %v of %v", now, slices.Sorted(maps.Keys(seen)))
		}
		return nil
	})
}
