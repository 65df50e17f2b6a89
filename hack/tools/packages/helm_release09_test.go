// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// resource09 is read as v1alpha1, because the conversion webhook does not run in a cluster without nodes.
	resource09 = "llamastackdistributions.v1alpha1.llamastack.io"
	server09   = `
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: kept, namespace: default}
spec: {server: {distribution: {name: starter}}}
`
)

// Helm adopts the objects of release 0.9's manifest and removes that release's fields. The CRD, the Deployment and the
// custom resources keep their UIDs, and an uninstall keeps the custom resources.
//
// Proves: R48, L-25, L-28.
func TestHelmUpgradesRelease09(t *testing.T) {
	cluster, err := framework.StartCluster(framework.ControlPlane, "helm-release09")
	framework.NoError(t, err)
	t.Cleanup(func() {
		if err := cluster.Remove(); err != nil {
			t.Error(err)
		}
	})
	h := newHelm(t, cluster, operatorNamespace)
	h.kubectl("create", "namespace", operatorNamespace)
	h.installRelease09()
	uids := func() string {
		return h.kubectl("get", crd, "-o", "jsonpath={.metadata.uid}") + " " +
			h.kubectl("get", resource09, "kept", "-n", "default", "-o", "jsonpath={.metadata.uid} {.spec.server.distribution.name}") + " " +
			h.kubectl("get", deployed, "-n", operatorNamespace, "-o", "jsonpath={.metadata.uid}")
	}
	before := uids()

	h.adopt(loadChart(t))
	if got := uids(); got != before {
		t.Errorf("taken over: %s, was %s", got, before)
	}
	h.checkFreshInstall()

	h.uninstall()
	if left := h.kubectl("get", resource09, "-n", "default", "-o", "name"); !strings.Contains(left, "kept") {
		t.Errorf("uninstalled: the custom resources are %q", left)
	}
}

// installRelease09 creates the objects of release 0.9 and a custom resource.
func (h *helm) installRelease09() {
	h.t.Helper()
	raw, err := os.ReadFile(filepath.Join(framework.Root(), "config", "crd", "bases", "llamastack.io_llamastackdistributions.yaml"))
	framework.NoError(h.t, err)
	definition := &unstructured.Unstructured{}
	framework.NoError(h.t, yaml.Unmarshal(raw, &definition.Object))
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	first := versions[0].(map[string]any)
	if first["name"] != "v1alpha1" {
		h.t.Fatalf("the first version is %v", first["name"])
	}
	first["storage"] = true
	_ = unstructured.SetNestedSlice(definition.Object, []any{first}, "spec", "versions")
	unstructured.RemoveNestedField(definition.Object, "spec", "conversion")
	text, err := definition.MarshalJSON()
	framework.NoError(h.t, err)
	h.applyText(string(text))
	h.kubectl("apply", "-f", filepath.Join("testdata", "release-0.9.yaml"))
	h.kubectl("wait", "--for=condition=Established", "--timeout=60s", crd)
	h.applyText(server09)
}

func (h *helm) applyText(text string) {
	h.t.Helper()
	if _, err := h.cluster.KubectlInput(h.t.Context(), text, "apply", "-f", "-"); err != nil {
		h.t.Fatal(err)
	}
}

// checkFreshInstall checks that the Deployment, the roles and the Service have no fields of release 0.9.
func (h *helm) checkFreshInstall() {
	h.t.Helper()
	for _, c := range []struct{ object, path, want string }{
		{deployed, "{.spec.replicas} {.spec.template.spec.containers[*].name} {.spec.template.spec.terminationGracePeriodSeconds}", "2 manager 30"},
		{deployed, "{.spec.template.spec.containers[0].resources}", `{"limits":{"memory":"256Mi"},"requests":{"cpu":"10m","memory":"64Mi"}}`},
		{deployed, "{.spec.template.spec.containers[0].env[*].name}", "POD_NAME POD_NAMESPACE GOMEMLIMIT GOGC"},
		{deployed, "{.spec.template.spec.containers[0].readinessProbe.initialDelaySeconds}", ""},
		{"clusterrole/llama-stack-k8s-operator-manager-role", `{.rules[?(@.verbs[0]=="*")].resources}`, ""},
		{"service/llama-stack-k8s-operator-controller-manager-metrics-service", "{.spec.ports[*].targetPort}", "metrics"},
		{crd, "{.spec.versions[?(@.storage==true)].name} {.spec.conversion.strategy}", "v1alpha2 Webhook"},
	} {
		if got := h.kubectl("get", c.object, "-n", operatorNamespace, "-o", "jsonpath="+c.path); got != c.want {
			h.t.Errorf("%s %s is %q, want %q", c.object, c.path, got, c.want)
		}
	}
}
