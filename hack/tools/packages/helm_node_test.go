// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// current is read as v1alpha2, which the operator's pods convert to.
const current = "llamastackdistributions.v1alpha2.llamastack.io"

// On a node, what Helm installs over release 0.9 runs: it serves both versions of the API, refuses what is wrong, and makes the server of the custom resource
// that was there; an upgrade, an uninstallation and another installation change nothing of that server, and the last operator takes it on.
//
// Proves: R48, L-25, L-28.
func TestHelmRunsTheOperatorOnANode(t *testing.T) {
	image := os.Getenv("LLSD_OPERATOR_IMAGE")
	if image == "" {
		t.Skip("LLSD_OPERATOR_IMAGE does not name the archive of the operator's image: make test-packages sets it")
	}
	cluster, err := fixture.Up(fixture.Node, "helm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Load(image); err != nil {
		t.Fatal(err)
	}
	h := newHelm(t, cluster, operatorNamespace)
	h.kubectl("create", "namespace", operatorNamespace)
	h.installRelease09()

	h.takeOver(loadChart(t))
	h.serves(2)
	h.eventually(current+"/kept", "{.spec.distribution.name} {.status.observedGeneration}", "starter 1")
	made := h.kubectl("get", "deployment/kept", "-n", "default", "-o", "jsonpath={.metadata.uid}")
	same := func(when string) {
		t.Helper()
		if got := h.kubectl("get", "deployment/kept", "-n", "default", "-o", "jsonpath={.metadata.uid}"); got != made {
			t.Errorf("%s: the server's Deployment is another one", when)
		}
	}
	wrong := strings.NewReplacer("kept", "wrong", "starter", "no-such-one").Replace(server)
	if out, err := cluster.KubectlInput(t.Context(), wrong, "apply", "-f", "-"); err == nil || !strings.Contains(out, "known distributions: ") {
		t.Errorf("the webhook lets pass what is wrong: %v %s", err, out)
	}

	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace, upgrade.Timeout = operatorNamespace, time.Minute
	if _, err := upgrade.RunWithContext(t.Context(), releaseName, loadChart(t), values{"replicas": 3}); err != nil {
		t.Fatal(err)
	}
	h.serves(3)
	same("upgraded")

	h.uninstall()
	same("uninstalled")

	h.install(loadChart(t), values{}, false)
	h.serves(2)
	h.kubectl("patch", current, "kept", "-n", "default", "--type=merge", "-p", `{"spec":{"workload":{"replicas":2}}}`)
	h.eventually("deployment/kept", "{.spec.replicas}", "2")
	same("installed again")
	h.kubectl("delete", current, "kept", "-n", "default")
	h.uninstall()
}

// serves waits until the operator runs with that many pods.
func (h *helm) serves(replicas int) {
	h.t.Helper()
	h.kubectl("rollout", "status", deployed, "-n", operatorNamespace, "--timeout=180s")
	if got := h.kubectl("get", deployed, "-n", operatorNamespace, "-o", "jsonpath={.status.availableReplicas}"); got != fmt.Sprint(replicas) {
		h.t.Errorf("%s pods of the operator are available, want %d", got, replicas)
	}
}

// eventually waits for a value of an object in namespace default.
func (h *helm) eventually(object, path, want string) {
	h.t.Helper()
	fixture.Eventually(h.t, 2*time.Minute, object+" has "+want, func() error {
		got, err := h.cluster.KubectlRun(h.t.Context(), "get", object, "-n", "default", "-o", "jsonpath="+path)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %q", path, got)
		}
		return err
	})
}
