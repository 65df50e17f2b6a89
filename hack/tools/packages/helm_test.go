// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	crd         = "crd/llamastackdistributions.llamastack.io"
	deployed    = "deployment/llama-stack-k8s-operator-controller-manager"
	releaseName = "llama"
	// Without nodes the webhook does not run, so the API server waits for validation until it times out.
	server = `
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: kept, namespace: default}
spec: {distribution: {name: starter}}
`
)

// helm is Helm in one namespace of a cluster.
type helm struct {
	t       *testing.T
	cluster *framework.Cluster
	config  *action.Configuration
}

// Helm adopts the objects of the manifest, upgrades the CRD without removing the injected CA bundle, keeps the CRD and
// the servers on uninstall, and installs again.
//
// Proves: L-25, L-27.
func TestHelmInstallsUpgradesAndUninstalls(t *testing.T) {
	cluster, err := framework.StartCluster(framework.ControlPlane, "helm")
	framework.NoError(t, err)
	t.Cleanup(func() {
		if err := cluster.Remove(); err != nil {
			t.Error(err)
		}
	})
	h := newHelm(t, cluster, operatorNamespace)
	h.kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	h.kubectl("wait", "--for=condition=Established", "--timeout=60s", crd)
	if _, err := cluster.KubectlInput(t.Context(), server, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	uids := h.uids()
	bundle := base64.StdEncoding.EncodeToString([]byte(framework.NewCACertificate(t)))
	h.kubectl("patch", crd, "--type=merge", "--field-manager=injector", "-p", `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"`+bundle+`"}}}}}`)

	h.install(loadChart(t), values{}, true)
	h.checkUnchanged("taken over", uids, bundle)
	if by := h.kubectl("get", deployed, "-n", operatorNamespace, "-o", `jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}`); by != "Helm" {
		t.Errorf("the Deployment is managed by %q", by)
	}

	newer := loadChart(t)
	newer.Metadata.Version = "99.0.0"
	for _, template := range newer.Templates {
		if strings.Contains(template.Name, "customresourcedefinition") {
			template.Data = []byte(strings.Replace(string(template.Data), "    - llsd\n", "    - llsd\n    - newer\n", 1))
		}
	}
	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace, upgrade.Timeout = operatorNamespace, time.Minute
	if _, err := upgrade.RunWithContext(t.Context(), releaseName, newer, values{"replicas": 3}); err != nil {
		t.Fatal(err)
	}
	h.checkUnchanged("upgraded", uids, bundle)
	if got := h.kubectl("get", deployed, "-n", operatorNamespace, "-o", "jsonpath={.spec.replicas}"); got != "3" {
		t.Errorf("%s replicas, want 3", got)
	}
	if got := h.kubectl("get", crd, "-o", "jsonpath={.spec.names.shortNames}"); !strings.Contains(got, "newer") {
		t.Errorf("the CRD was not upgraded: short names %s", got)
	}

	h.uninstall()
	h.checkUnchanged("uninstalled", uids, bundle)
	kinds := "clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
	if left := h.kubectl("get", kinds, "-o", "name"); strings.Contains(left, "llama") {
		t.Errorf("left is\n%s", left)
	}
	framework.Eventually(t, time.Minute, "nothing of the operator is left in its namespace", func() error { // its pods are deleted a moment later
		left, err := cluster.KubectlRun(t.Context(), "get", "all,configmaps,secrets,roles,rolebindings,networkpolicies,pdb", "-n", operatorNamespace, "-o", "name")
		if err == nil && strings.Contains(left, "llama-stack") {
			err = errors.New(left)
		}
		return err
	})

	h.install(loadChart(t), values{}, false)
	h.checkUnchanged("installed again", uids, bundle)
	h.uninstall()
	h.installNamespaced()
}

// installNamespaced installs the chart with Roles only, and uses the existing CRD.
func (h *helm) installNamespaced() {
	h.t.Helper()
	for _, namespace := range []string{"team-operator", "team-a"} {
		h.kubectl("create", "namespace", namespace)
	}
	team := newHelm(h.t, h.cluster, "team-operator")
	team.install(loadChart(h.t), values{
		"namespaced": values{"enabled": true, "watch": []any{"team-a"}}, "crds": values{"install": false}, "admissionPolicy": values{"install": false},
	}, false)
	account := "--as=system:serviceaccount:team-operator:llama-stack-k8s-operator-controller-manager"
	if got := h.kubectl("auth", "can-i", "create", "deployments.apps", "-n", "team-a", account); strings.TrimSpace(got) != "yes" {
		h.t.Errorf("the operator may create Deployments in team-a: %s", got)
	}
	if got, err := h.cluster.KubectlRun(h.t.Context(), "auth", "can-i", "list", "secrets", "-n", "default", account); err == nil {
		h.t.Errorf("the operator may list Secrets in default: %s", got)
	}
	team.uninstall()
}

func newHelm(t *testing.T, cluster *framework.Cluster, namespace string) *helm {
	t.Helper()
	settings := cli.New()
	settings.KubeConfig = cluster.Kubeconfig
	settings.SetNamespace(namespace)
	h := &helm{t: t, cluster: cluster, config: &action.Configuration{}}
	framework.NoError(t, h.config.Init(settings.RESTClientGetter(), namespace, "secret", t.Logf))
	return h
}

func (h *helm) install(c *chart.Chart, v values, takeOwnership bool) {
	h.t.Helper()
	install := action.NewInstall(h.config)
	install.TakeOwnership = takeOwnership
	h.runInstall(install, c, v)
}

// adopt adopts and replaces existing objects: helm install --take-ownership --force.
func (h *helm) adopt(c *chart.Chart) {
	h.t.Helper()
	install := action.NewInstall(h.config)
	install.TakeOwnership, install.Force = true, true
	h.runInstall(install, c, values{})
}

func (h *helm) runInstall(install *action.Install, c *chart.Chart, v values) {
	h.t.Helper()
	install.ReleaseName, install.Timeout = releaseName, time.Minute
	install.Namespace = operatorNamespace
	if v["namespaced"] != nil {
		install.Namespace = "team-operator"
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := install.RunWithContext(ctx, c, v); err != nil {
		h.t.Fatal(err)
	}
}

func (h *helm) uninstall() {
	h.t.Helper()
	uninstall := action.NewUninstall(h.config)
	uninstall.Wait, uninstall.Timeout = true, 2*time.Minute
	if _, err := uninstall.Run(releaseName); err != nil {
		h.t.Fatal(err)
	}
}

func (h *helm) kubectl(args ...string) string {
	h.t.Helper()
	out, err := h.cluster.KubectlRun(h.t.Context(), args...)
	framework.NoError(h.t, err)
	return out
}

// uids returns the UIDs of the CRD and of the server.
func (h *helm) uids() string {
	h.t.Helper()
	return h.kubectl("get", crd, "-o", "jsonpath={.metadata.uid}") + " " + h.kubectl("get", "llsd", "kept", "-n", "default", "-o", "jsonpath={.metadata.uid}")
}

func (h *helm) checkUnchanged(when, uids, bundle string) {
	h.t.Helper()
	if got := h.uids(); got != uids {
		h.t.Errorf("%s: uids %s, were %s", when, got, uids)
	}
	if got := h.kubectl("get", crd, "-o", "jsonpath={.spec.conversion.webhook.clientConfig.caBundle}"); got != bundle {
		h.t.Errorf("%s: the injected CA bundle is %.40s…", when, got)
	}
}
