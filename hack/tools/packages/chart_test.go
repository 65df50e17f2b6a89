// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const operatorNamespace = "llama-stack-k8s-operator-system"

type values = map[string]any

// Exceptions are the namespace, which "helm install --create-namespace" creates, and the CRD's keep annotation.
func TestChartInstallsWhatTheManifestInstalls(t *testing.T) {
	want := documents(t, readFile(t, "dist", "install.yaml"))
	delete(want, "Namespace/"+operatorNamespace)
	got := render(t, values{})
	const crd = "CustomResourceDefinition/llamastackdistributions.llamastack.io"
	annotations := got[crd].GetAnnotations()
	if annotations["helm.sh/resource-policy"] != "keep" {
		t.Error("uninstalling the chart deletes the CRD, and every server with it")
	}
	delete(annotations, "helm.sh/resource-policy")
	got[crd].SetAnnotations(annotations)
	if len(got) != len(want) {
		t.Errorf("the chart has %d objects, the manifest has %d", len(got), len(want))
	}
	for key, o := range want {
		if diff := cmp.Diff(o, got[key]); diff != "" {
			t.Errorf("%s (-dist/install.yaml +chart):\n%.2000s", key, diff)
		}
	}
}

func TestChartPassesHelmLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.WithSubcharts = true, true
	for name, v := range map[string]values{
		"default":    {},
		"namespaced": {"namespaced": values{"enabled": true, "watch": []any{"a", "b"}}},
		"shards":     {"shards": values{"names": []any{"a", "b"}}},
		"monitored":  {"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}, "certificates": values{"maker": "cert-manager"}},
	} {
		result := lint.Run([]string{chartDir()}, v)
		for _, message := range result.Messages {
			if !strings.Contains(message.Err.Error(), "icon is recommended") {
				t.Errorf("%s: %s", name, message)
			}
		}
		if result.TotalChartsLinted != 1 {
			t.Errorf("%s: %d charts were checked", name, result.TotalChartsLinted)
		}
	}
}

func TestSchemaRejectsInvalidValues(t *testing.T) {
	for name, v := range map[string]values{
		"unknown":                   {"replica": 1},
		"unknown below":             {"image": values{"name": "x"}},
		"misspelled maker":          {"certificates": values{"maker": "certmanager"}},
		"digest without algorithm":  {"image": values{"digest": strings.Repeat("0", 64)}},
		"no namespaces":             {"namespaced": values{"enabled": true}},
		"setting that is not known": {"settings": values{"distribution": values{}}},
		"shard that is no label":    {"shards": values{"names": []any{"A_"}}},
		"shard twice":               {"shards": values{"names": []any{"a", "a"}}},
		"argument that is no flag":  {"extraArgs": []any{"v=1"}},
	} {
		if _, err := rendered(t, v); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: error %v, want one of the schema", name, err)
		}
	}
	if _, err := rendered(t, values{"certificates": values{"maker": "given"}}); err == nil || !strings.Contains(err.Error(), "certificates.caBundle") {
		t.Errorf("a given certificate without its CA: error %v", err)
	}
}

// A misspelled value is an error at every level.
func TestSchemaRejectsUnknownValues(t *testing.T) {
	var root map[string]any
	framework.NoError(t, json.Unmarshal(readFile(t, "charts", "llama-stack-k8s-operator", "values.schema.json"), &root))
	closed := 0
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		properties, ok := s["properties"].(map[string]any)
		if !ok {
			return
		}
		if s["additionalProperties"] != false {
			t.Errorf("%s takes unknown values", path)
		}
		closed++
		for name, p := range properties {
			walk(path+"."+name, p.(map[string]any))
		}
	}
	walk("", root)
	if closed < 9 {
		t.Errorf("only %d objects have properties", closed)
	}
}

func TestChartAppliesEveryValue(t *testing.T) {
	got := render(t, values{
		"image":    values{"repository": "registry.example.com/operator", "digest": "sha256:" + strings.Repeat("a", 64), "pullPolicy": "Always"},
		"replicas": 3, "resources": values{"limits": values{"memory": "1Gi"}}, "goMemoryLimit": "512MiB",
		"env":          []any{values{"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}, values{"name": "NO_PROXY", "value": ".svc"}},
		"nodeSelector": values{"pool": "system"}, "tolerations": []any{values{"key": "system", "operator": "Exists"}},
		"affinity":          values{"nodeAffinity": values{"preferredDuringSchedulingIgnoredDuringExecution": []any{}}},
		"priorityClassName": "system-cluster-critical", "imagePullSecrets": []any{values{"name": "registry"}},
		"podAnnotations": values{"a": "1"}, "podLabels": values{"b": "2"}, "extraArgs": []any{"--zap-log-level=debug"},
		"serviceAccount":      values{"annotations": values{"c": "3"}},
		"podDisruptionBudget": values{"enabled": false},
		"networkPolicy":       values{"webhookFrom": []any{values{"ipBlock": values{"cidr": "192.0.2.0/28"}}}},
		"serviceMonitor":      values{"enabled": true, "labels": values{"release": "prometheus"}},
		"podMonitor":          values{"enabled": true, "labels": values{"team": "ai"}, "interval": "7s"},
		"settings":            values{"forbid": []any{"hostPathVolumes"}, "image-overrides": values{"starter": "mirror.example.com/starter:0.7.1"}},
	})
	var d appsv1.Deployment
	convert(t, got["Deployment/llama-stack-k8s-operator-controller-manager"], &d)
	pod := d.Spec.Template.Spec
	container := pod.Containers[0]
	if *d.Spec.Replicas != 3 || container.Image != "registry.example.com/operator@sha256:"+strings.Repeat("a", 64) || container.ImagePullPolicy != "Always" ||
		container.Resources.Limits.Memory().String() != "1Gi" || pod.NodeSelector["pool"] != "system" || len(pod.Tolerations) != 1 || pod.Affinity == nil ||
		pod.PriorityClassName != "system-cluster-critical" || pod.ImagePullSecrets[0].Name != "registry" || d.Spec.Template.Annotations["a"] != "1" ||
		d.Spec.Template.Labels["b"] != "2" || container.Args[len(container.Args)-1] != "--zap-log-level=debug" ||
		!slices.Contains(container.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: "512MiB"}) ||
		!slices.Contains(container.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"}) ||
		!slices.Contains(container.Env, corev1.EnvVar{Name: "NO_PROXY", Value: ".svc"}) {
		t.Errorf("the Deployment is %+v", d.Spec)
	}
	if got["PodDisruptionBudget/llama-stack-k8s-operator-controller-manager"] != nil {
		t.Error("there is a PodDisruptionBudget")
	}
	for key, want := range map[string]string{
		"NetworkPolicy/llama-stack-k8s-operator-controller-manager":  `"cidr":"192.0.2.0/28"`,
		"ServiceMonitor/llama-stack-k8s-operator-controller-manager": `"release":"prometheus"`,
		"ServiceAccount/llama-stack-k8s-operator-controller-manager": `"c":"3"`,
		"PodMonitor/llama-stack-k8s-operator-servers":                `"interval":"7s"`,
	} {
		if text, err := json.Marshal(got[key]); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v: %s", key, err, text)
		}
	}
	data, _, err := unstructured.NestedStringMap(got["ConfigMap/"+settings.ConfigMapName].Object, "data")
	framework.NoError(t, err)
	parsed, err := settings.Parse(data)
	if err != nil {
		t.Errorf("the operator does not read the settings: %v", err)
	}
	_ = parsed
}

// Proves: L-27 (the operator's flags match the certificates' maker).
func TestChartCertificates(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n"
	for maker, want := range map[string]string{
		"operator": "", "given": "", "openshift": "service.beta.openshift.io/inject-cabundle", "cert-manager": "cert-manager.io/inject-ca-from",
	} {
		v := values{"maker": maker}
		if maker == "given" {
			v["caBundle"] = pem
		}
		got := render(t, values{"certificates": v})
		var d appsv1.Deployment
		convert(t, got["Deployment/llama-stack-k8s-operator-controller-manager"], &d)
		if unmanaged := slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--manage-certificates=false"); unmanaged != (maker != "operator") {
			t.Errorf("%s: the operator leaves certificates to others: %t", maker, unmanaged)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		convert(t, got["CustomResourceDefinition/llamastackdistributions.llamastack.io"], &crd)
		bundle := string(crd.Spec.Conversion.Webhook.ClientConfig.CABundle)
		if (bundle == pem) != (maker == "given") || maker != "given" && bundle != "" {
			t.Errorf("%s: the CRD has the CA bundle %q", maker, bundle)
		}
		webhooks := got["ValidatingWebhookConfiguration/llama-stack-k8s-operator-validating-webhook-configuration"]
		if text, err := json.Marshal(webhooks); err != nil || strings.Count(string(text), `"caBundle"`) != map[bool]int{true: 2}[maker == "given"] {
			t.Errorf("%s: %v: %s", maker, err, text)
		}
		if want != "" && (crd.Annotations[want] == "" || webhooks.GetAnnotations()[want] == "") {
			t.Errorf("%s: the CA bundle is not injected: %v, %v", maker, crd.Annotations, webhooks.GetAnnotations())
		}
		issued := got["Certificate/llama-stack-k8s-operator-webhook"]
		if (issued != nil) != (maker == "cert-manager") {
			t.Errorf("%s: Certificate %v", maker, issued)
		}
	}
}

// Proves: L-34 (the namespaced chart has only namespaced objects, with the Roles of the overlay).
func TestNamespacedChartHasNoClusterScopedObjects(t *testing.T) {
	got := render(t, values{
		"namespaced": values{"enabled": true, "watch": []any{"team-a", "team-b"}},
		"crds":       values{"install": false}, "admissionPolicy": values{"install": false},
	})
	namespaces := map[string]int{}
	for key, o := range got {
		if o.GetNamespace() == "" {
			t.Errorf("%s is in no namespace", key)
		}
		namespaces[o.GetNamespace()]++
	}
	var want unstructured.Unstructured
	framework.NoError(t, yaml.Unmarshal(readFile(t, "config", "overlays", "namespaced", "watched", "role.yaml"), &want.Object))
	for _, namespace := range []string{"team-a", "team-b"} {
		role := got["Role/"+want.GetName()+"@"+namespace]
		if role == nil {
			t.Fatalf("no Role in %s: %v", namespace, namespaces)
		}
		if diff := cmp.Diff(want.Object["rules"], role.Object["rules"]); diff != "" {
			t.Errorf("(-overlay +chart):\n%s", diff)
		}
		if binding := got["RoleBinding/llama-stack-k8s-operator-manager-rolebinding@"+namespace]; binding == nil {
			t.Errorf("no RoleBinding in %s", namespace)
		}
	}
	var d appsv1.Deployment
	convert(t, got["Deployment/llama-stack-k8s-operator-controller-manager"], &d)
	for _, flag := range []string{"--watch-namespaces=team-a,team-b", "--webhook-bind-address=0", "--metrics-bind-address=0"} {
		if !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, flag) {
			t.Errorf("the operator does not get %s: %v", flag, d.Spec.Template.Spec.Containers[0].Args)
		}
	}
	var crd apiextensionsv1.CustomResourceDefinition
	convert(t, render(t, values{"namespaced": values{"enabled": true, "watch": []any{"a"}}})["CustomResourceDefinition/llamastackdistributions.llamastack.io"], &crd)
	if crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter || crd.Spec.Conversion.Webhook != nil || crd.Spec.Versions[0].Served {
		t.Errorf("there is no webhook, but conversion is %+v", crd.Spec.Conversion)
	}
}

// Each custom resource belongs to one Deployment, whatever its label is. Only the first Deployment serves webhooks.
//
// Proves: R56, R71.
func TestChartShardsPartitionCustomResources(t *testing.T) {
	without := render(t, values{})
	// The values are those of the command in docs/sharding.md.
	command := regexp.MustCompile(`helm upgrade \S+ charts/llama-stack-k8s-operator[^']*--set '([^']*)'`).FindSubmatch(readFile(t, "docs", "sharding.md"))
	if command == nil {
		t.Fatal("the page has no command")
	}
	two, err := strvals.Parse(string(command[1]))
	framework.NoError(t, err)
	two["serviceMonitor"] = values{"enabled": true}
	all := render(t, two)
	var selectors []labels.Selector
	for name, want := range map[string]string{"controller-manager": "--webhook-bind-address=:9443", "shard-a": "--webhook-bind-address=0", "shard-b": "--webhook-bind-address=0"} {
		var d appsv1.Deployment
		convert(t, all["Deployment/llama-stack-k8s-operator-"+name], &d)
		var webhook, text string
		for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--webhook-bind-address=") {
				webhook = arg
			}
			if value, found := strings.CutPrefix(arg, "--watch-label-selector="); found {
				text = value
			}
		}
		selector, err := labels.Parse(text)
		if err != nil || text == "" || webhook != want {
			t.Errorf("%s: selector %q (%v), %s", name, text, err, webhook)
			continue
		}
		selectors = append(selectors, selector)
		if template := d.Spec.Template.Labels; !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(template)) {
			t.Errorf("%s does not select its pods: %v", name, template)
		}
		if all["PodDisruptionBudget/llama-stack-k8s-operator-"+name] == nil {
			t.Errorf("%s has no PodDisruptionBudget", name)
		}
		var webhooks corev1.Service
		convert(t, all["Service/llama-stack-k8s-operator-webhook-service"], &webhooks)
		if serves := labels.SelectorFromSet(webhooks.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)); serves != (name == "controller-manager") {
			t.Errorf("%s gets requests of webhooks: %t", name, serves)
		}
	}
	for _, set := range []labels.Set{nil, {"llamastack.io/shard": "a"}, {"llamastack.io/shard": "b"}, {"llamastack.io/shard": "misspelled"}, {"other": "a"}} {
		reconciled := 0
		for _, selector := range selectors {
			if selector.Matches(set) {
				reconciled++
			}
		}
		if reconciled != 1 {
			t.Errorf("a resource with the labels %v belongs to %d operators", set, reconciled)
		}
	}
	const deployment = "Deployment/llama-stack-k8s-operator-controller-manager"
	for key, o := range without {
		if key == deployment {
			continue
		}
		if diff := cmp.Diff(o, all[key]); diff != "" {
			t.Errorf("shards change %s:\n%.2000s", key, diff)
		}
	}
	// Added are two Deployments and PodDisruptionBudgets, the metrics' Service and NetworkPolicy, and the ServiceMonitor.
	if added := len(all) - len(without); added != 7 {
		t.Errorf("%d objects are added", added)
	}
}

func chartDir() string { return filepath.Join(framework.Root(), "charts", "llama-stack-k8s-operator") }

// The chart makes the PodMonitor by itself only where the cluster has the CRD, and the installation the permission.
//
// Proves: L-33.
func TestChartMakesThePodMonitorIfTheClusterHasTheCRD(t *testing.T) {
	const monitor = "PodMonitor/llama-stack-k8s-operator-servers"
	capable := chartutil.DefaultCapabilities.Copy()
	capable.APIVersions = append(slices.Clone(capable.APIVersions), "monitoring.coreos.com/v1/PodMonitor")
	for name, c := range map[string]struct {
		cluster *chartutil.Capabilities
		values  values
		want    bool
	}{
		"without the CRD":         {chartutil.DefaultCapabilities, values{}, false},
		"with the CRD":            {capable, values{}, true},
		"switched off":            {capable, values{"podMonitor": values{"enabled": false}}, false},
		"switched on without it":  {chartutil.DefaultCapabilities, values{"podMonitor": values{"enabled": true}}, true},
		"with Roles only":         {capable, values{"namespaced": values{"enabled": true, "watch": []any{"a"}}}, false},
		"with Roles, switched on": {capable, values{"namespaced": values{"enabled": true, "watch": []any{"a"}}, "podMonitor": values{"enabled": true}}, true},
	} {
		files, err := renderedOn(t, c.values, c.cluster)
		framework.NoError(t, err)
		found := false
		for file, text := range files {
			if strings.HasSuffix(file, "/servers.yaml") {
				found = documents(t, []byte(text))[monitor] != nil
			}
		}
		if found != c.want {
			t.Errorf("%s: %v, want %v", name, found, c.want)
		}
	}
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir())
	framework.NoError(t, err)
	return c
}

// rendered returns the files that Helm renders, after validating the values.
func rendered(t *testing.T, v values) (map[string]string, error) {
	t.Helper()
	return renderedOn(t, v, chartutil.DefaultCapabilities)
}

func renderedOn(t *testing.T, v values, cluster *chartutil.Capabilities) (map[string]string, error) {
	t.Helper()
	c := loadChart(t)
	options := chartutil.ReleaseOptions{Name: "operator", Namespace: operatorNamespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, v, options, cluster)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func render(t *testing.T, v values) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := rendered(t, v)
	framework.NoError(t, err)
	objects := map[string]*unstructured.Unstructured{}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			for key, o := range documents(t, []byte(text)) {
				if objects[key] != nil {
					t.Errorf("%s is there twice", key)
				}
				objects[key] = o
			}
		}
	}
	return objects
}

// documents returns the objects of a manifest by kind and name, with "@namespace" if it is not the operator's.
func documents(t *testing.T, manifest []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq("\n"+string(manifest), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := o.GetKind() + "/" + o.GetName()
		if n := o.GetNamespace(); n != "" && n != operatorNamespace {
			key += "@" + n
		}
		objects[key] = o
	}
	return objects
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if o == nil {
		t.Fatalf("there is no %T", into)
	}
	framework.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true))
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text := framework.ReadFile(t, filepath.Join(append([]string{framework.Root()}, path...)...))
	return text
}
