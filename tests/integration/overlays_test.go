// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: L-27, L-34 (the overlays for other certificate sources build, the API server admits them, and their names are
// consistent).
func TestOverlays(t *testing.T) {
	t.Parallel()
	const serviceName = framework.WebhookService + "." + framework.OperatorNamespace + ".svc"
	for overlay, want := range map[string]map[string]string{ // annotations by kind
		"cert-manager": {"CustomResourceDefinition": "cert-manager.io/inject-ca-from=" + framework.OperatorNamespace + "/llama-stack-k8s-operator-webhook"},
		"openshift": {
			"CustomResourceDefinition": "service.beta.openshift.io/inject-cabundle=true",
			"Service":                  "service.beta.openshift.io/serving-cert-secret-name=" + certificates.SecretName,
		},
		"openshift-ai": {
			"CustomResourceDefinition": "service.beta.openshift.io/inject-cabundle=true",
			"Service":                  "service.beta.openshift.io/serving-cert-secret-name=" + certificates.SecretName,
		},
	} {
		text, err := suite.Cluster.KubectlRun(t.Context(), "kustomize", filepath.Join(framework.Root(), "config", "overlays", overlay))
		framework.NoError(t, err)
		var native []string
		unmanaged, serving := false, overlay != "cert-manager"
		for document := range strings.SplitSeq(text, "\n---\n") {
			u := &unstructured.Unstructured{}
			framework.NoError(t, yaml.Unmarshal([]byte(document), &u.Object))
			if strings.HasPrefix(u.GetAPIVersion(), "cert-manager.io/") {
				secretName, _, _ := unstructured.NestedString(u.Object, "spec", "secretName")
				names, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "dnsNames")
				serving = serving || secretName == certificates.SecretName && slices.Equal(names, []string{serviceName}) &&
					strings.HasSuffix(want["CustomResourceDefinition"], "="+u.GetNamespace()+"/"+u.GetName())
				continue
			}
			native = append(native, document)
			var annotations []string
			for key, value := range u.GetAnnotations() {
				annotations = append(annotations, key+"="+value)
			}
			if a, ok := want[u.GetKind()]; ok && (u.GetKind() != "Service" || u.GetName() == framework.WebhookService) && !slices.Contains(annotations, a) {
				t.Errorf("%s: %s %s has the annotations %v, want %s", overlay, u.GetKind(), u.GetName(), annotations, a)
			}
			if u.GetKind() == "Deployment" {
				var d appsv1.Deployment
				framework.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d))
				unmanaged = slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--manage-certificates=false")
			}
		}
		if !unmanaged || !serving {
			t.Errorf("%s: the operator leaves certificates to others: %t; a certificate for %s goes to the Secret: %t", overlay, unmanaged, serviceName, serving)
		}
		if out, err := suite.Cluster.KubectlInput(t.Context(), strings.Join(native, "\n---\n"), "apply", "--dry-run=server", "-f", "-"); err != nil {
			t.Errorf("%s: %v\n%s", overlay, err, out)
		}
	}
}

// Proves: R21, R81 (the overlay for OpenShift AI registers the platform's names, each by one parameter, and leaves no
// other parameter).
func TestOverlayRegistersTheNamesOfThePlatform(t *testing.T) {
	t.Parallel()
	overlay := filepath.Join(framework.Root(), "config", "overlays", "openshift-ai")
	params := framework.ReadFile(t, filepath.Join(overlay, "params.env"))
	text, err := suite.Cluster.KubectlRun(t.Context(), "kustomize", overlay)
	framework.NoError(t, err)
	registered := map[string]string{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var cm corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &cm); err != nil || cm.Kind != "ConfigMap" {
			continue
		}
		name, registers := cm.Labels[settings.LabelDistribution]
		if !registers || cm.Namespace != framework.OperatorNamespace {
			t.Errorf("ConfigMap %s/%s registers nothing", cm.Namespace, cm.Name)
		}
		if s, err := settings.Parse(nil, settings.ParseRegistration(&cm)); err != nil || len(s.Problems()) > 0 {
			t.Errorf("%s: %v, %v", name, err, s.Problems())
		}
		registered[name] = cm.Data["image"]
	}
	want := map[string]string{}
	for line := range strings.Lines(string(params)) {
		name, image, _ := strings.Cut(strings.TrimSpace(line), "=")
		want[name] = image
	}
	if diff := cmp.Diff(want, registered); diff != "" || len(want) != 2 || want["rh"] == "" || want["rh-dev"] == "" {
		t.Errorf("registered (-parameters +built):\n%s", diff)
	}
}

// Proves: L-27, L-32 (the released manifest has the webhook's Service, port and path, and no CA bundle: applying it
// again must not remove the injected CA bundles).
func TestManifestLeadsToTheWebhook(t *testing.T) {
	t.Parallel()
	var crd apiextensionsv1.CustomResourceDefinition
	var service corev1.Service
	text, err := suite.Cluster.KubectlRun(t.Context(), "get", framework.CRD, "-o", "jsonpath={.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}")
	framework.NoError(t, err)
	framework.NoError(t, yaml.Unmarshal([]byte(text), &crd))
	webhook := crd.Spec.Conversion.Webhook.ClientConfig
	if len(webhook.CABundle) > 0 || strings.Contains(text, "caBundle\":\"") {
		t.Error("the manifest names a CA bundle")
	}
	out, err := suite.Cluster.KubectlRun(t.Context(), "get", "service", "-n", webhook.Service.Namespace, webhook.Service.Name, "-o", "yaml")
	framework.NoError(t, err)
	framework.NoError(t, yaml.Unmarshal([]byte(out), &service))
	if webhook.Service.Namespace != framework.OperatorNamespace || *webhook.Service.Path != "/convert" || service.Spec.Ports[0].Port != *webhook.Service.Port {
		t.Errorf("the definition calls %+v, the Service is %+v", webhook.Service, service.Spec)
	}
}
