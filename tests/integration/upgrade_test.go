// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// oldImage is the image of the distribution's name in release 0.9, which differs from the one in this operator.
const oldImage = "docker.io/llamastack/distribution-starter:0.7.0"

// oldResource is the resource of release 0.9 as conversion returns it in v1alpha2.
const oldResource = `
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  name: old
  annotations:
    llamastack.io/conversion: '{"version":1,"origin":"v1alpha1","kept":{"spec.server.containerSpec.name":{"was":"main"}}}'
spec:
  distribution: {name: starter}
  networking: {port: 8321, allowedFrom: {namespaces: [a]}}
  workload:
    replicas: 1
    storage: {}
    terminationGracePeriodSeconds: 45
    overrides:
      env: [{name: VLLM_URL, value: "http://vllm:8000/v1"}]
`

// release09 creates the objects that release 0.9 leaves for the resource "old", and returns their UIDs by kind.
func (e *env) release09(image string) map[string]types.UID {
	e.T.Helper()
	return e.release09Under("starter", image)
}

func (e *env) release09Under(name, image string) map[string]types.UID {
	e.T.Helper()
	e.Apply(strings.ReplaceAll(oldResource, "name: starter", "name: "+name))
	e.disownAllowedFrom("old")
	cr := e.CR("old")
	text := framework.ReadFile(e.T, "testdata/release-0.9.yaml")
	uids, err := framework.CreateAsRelease09(e.T.Context(), suite.Admin, cr, strings.ReplaceAll(string(text), "%s", image))
	framework.NoError(e.T, err)
	return uids
}

// replicaSets counts the ReplicaSets of the resource, including those without pods.
func (e *env) replicaSets(resource string) int {
	e.T.Helper()
	var list appsv1.ReplicaSetList
	framework.NoError(e.T, suite.Admin.List(e.T.Context(), &list, client.InNamespace(e.Name), client.MatchingLabels{"app.kubernetes.io/instance": resource}))
	return len(list.Items)
}

// Proves: R21, R48, R89, R91, R22, L-25, L-28, L-04, L-06 (a server of release 0.9 keeps running, and the status names
// the newest release line; the first edit is one rollout, which removes unused objects of the old operator).
//
// TestReplayOfRelease09IsAdopted compares the objects.
func TestUpgradeFromRelease09(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.release09(oldImage)
	e.Eventually("the old server runs", func() error {
		if d := e.Deployment("old"); d.Status.AvailableReplicas != 1 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	before := e.Deployment("old")
	op := e.StartOperator()
	e.WaitReady("old")
	e.Quiet(op)
	op.Stop()
	op = e.StartOperator("9.9.9") // neither a restart nor a newer build causes a rollout
	e.WaitReady("old")
	e.Quiet(op)
	if diff := cmp.Diff(before.Spec, e.Deployment("old").Spec); diff != "" || e.replicaSets("old") != 1 {
		t.Errorf("the adoption has rolled out (-before +after):\n%s", diff)
	}
	if r := e.CR("old").Status.ResolvedDistribution; r == nil || r.Image != oldImage || r.ServerLine != "0.7" || r.NewerServerLine != catalog.Newest() {
		t.Errorf("resolvedDistribution %+v", r)
	}
	for name, o := range map[string]client.Object{"old-rb": &rbacv1.RoleBinding{}, "old-ca-bundle": &corev1.ConfigMap{}} {
		if err := e.Get(o, name); err != nil {
			t.Errorf("the pods of release 0.9 need %s: %v", name, err)
		}
	}

	e.PatchSpec("old", `{"workload":{"podDisruptionBudget":{"maxUnavailable":1}}}`)
	e.Eventually("the edit brings the new pods", func() error {
		if d := e.Deployment("old"); !names.HasNewPods(&d.Spec.Template) {
			return fmt.Errorf("annotations %v", d.Annotations)
		}
		return nil
	})
	e.WaitReady("old")
	server := e.Deployment("old").Spec.Template.Spec.Containers[0]
	for name, o := range map[string]client.Object{"old-rb": &rbacv1.RoleBinding{}, "old-network-policy": &networkingv1.NetworkPolicy{}} {
		if err := e.Get(o, name); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	e.Eventually("the CA bundle of release 0.9 goes with its last pod", func() error {
		if err := e.Get(&corev1.ConfigMap{}, "old-ca-bundle"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("old-ca-bundle is still there: %v", err) //nolint:errorlint // may be nil
		}
		return nil
	})
	if strategy := e.Deployment("old").Spec.Strategy; strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %+v", strategy)
	}
	e.Quiet(op)
	if n := e.replicaSets("old"); n != 2 {
		t.Errorf("%d ReplicaSets, want the old one and one more", n)
	}

	// The image of release 0.9 stays until the distribution changes: the operator's image could be of another release
	// line.
	if d := e.Deployment("old"); server.Image != oldImage || d.Annotations[names.AnnotationAdoptedImage] != oldImage {
		t.Errorf("image %s, annotations %v", server.Image, d.Annotations)
	}
	e.PatchSpec("old", `{"distribution":{"name":"remote-vllm"}}`)
	e.Eventually("another distribution brings its image", func() error {
		d := e.Deployment("old")
		if image := d.Spec.Template.Spec.Containers[0].Image; image == oldImage || d.Annotations[names.AnnotationAdoptedImage] != "" {
			return fmt.Errorf("image %s, annotations %v", image, d.Annotations)
		}
		return nil
	})
}

// Proves: R48, R89, R91, R19, R81 (a server of release 0.9 under an unregistered name keeps running: a workload edit is
// applied with the same image, and an edit that needs a generated configuration waits until the name is registered, as
// the message says).
func TestUnknownNameOfRelease09KeepsRunning(t *testing.T) {
	t.Parallel()
	e := newEnvWithSettings(t)
	const image = "registry.example/platform/core:v9.25"
	e.release09Under("rh-dev", image)
	op := e.StartOperator()
	e.WaitReady("old")
	if n := e.replicaSets("old"); n != 1 {
		t.Errorf("%d ReplicaSets after the adoption", n)
	}
	runs := func(what string, ready func(*appsv1.Deployment) bool) {
		t.Helper()
		e.Eventually(what, func() error {
			if d := e.Deployment("old"); !ready(d) || d.Spec.Template.Spec.Containers[0].Image != image {
				return fmt.Errorf("%+v", d.Spec.Template.Spec.Containers)
			}
			return nil
		})
	}
	e.PatchSpec("old", `{"workload":{"overrides":{"env":[{"name":"EDITED","value":"yes"}]}}}`)
	runs("the edit applies, with the image that runs", func(d *appsv1.Deployment) bool {
		return slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "EDITED" })
	})
	message := e.WaitCondition("old", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
	if !strings.Contains(message, "distribution rh-dev is not known to this operator: image "+image+" of release 0.9 keeps running") {
		t.Errorf("message %q", message)
	}
	e.WaitReady("old")
	e.Quiet(op)

	before := e.Deployment("old")
	e.PatchSpec("old", `{"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}},"workload":{"overrides":{"env":null}}}`)
	message = e.WaitCondition("old", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnknownDistribution))
	for _, way := range []string{"the running server is not changed", settings.Sample, "spec.distribution.version"} {
		if !strings.Contains(message, way) {
			t.Errorf("message %q does not say %q", message, way)
		}
	}
	if diff := cmp.Diff(before.Spec, e.Deployment("old").Spec); diff != "" {
		t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
	}

	base := framework.ReadFile(t, filepath.Join(framework.Root(), "distributions", "starter", "0.7.yaml"))
	e.Register("rh-dev", map[string]string{"image": image, "serverVersion": "0.7.1", "config.yaml": string(base)})
	e.WaitCondition("old", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonConfigGenerationSucceeded)
	runs("the name is registered: the configuration is generated", func(d *appsv1.Deployment) bool {
		return objects.MountedConfigMap(&d.Spec.Template.Spec) != ""
	})
}

// Proves: R16 (a server older than all known releases keeps running unchanged), R19.
func TestServersBeforeFirstReleaseLineAreNotChanged(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const image = "docker.io/llamastack/distribution-starter:0.2.12"
	e.release09(image)
	before := e.Deployment("old").ResourceVersion
	op := e.StartOperator()
	message := e.WaitCondition("old", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnsupportedRelease))
	e.Quiet(op)
	d := e.Deployment("old")
	if !strings.Contains(message, image) || d.Spec.Template.Spec.Containers[0].Image != image || d.Generation != 1 && d.ResourceVersion == before {
		t.Errorf("message %q, Deployment %+v", message, d.Spec)
	}
}

// Proves: R21, L-04 (objects of release 0.9 are adopted although their Deployment is gone).
func TestUpgradeWithoutDeployment(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	uids := e.release09(oldImage)
	framework.NoError(t, suite.Admin.Delete(t.Context(), e.Deployment("old"), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	e.Eventually("the Deployment is gone", func() error {
		if err := e.Get(&appsv1.Deployment{}, "old"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	e.StartOperator()
	e.WaitReady("old")
	service, claim := &corev1.Service{}, &corev1.PersistentVolumeClaim{}
	if err := e.Get(service, "old-service"); err != nil || service.UID != uids["Service"] || service.Labels["release"] != "" {
		t.Errorf("the Service: %v, %+v", err, service.ObjectMeta)
	}
	if err := e.Get(claim, "old-pvc"); err != nil || claim.UID != uids["PersistentVolumeClaim"] || *claim.Spec.StorageClassName != "slow" {
		t.Errorf("the claim: %v, %+v", err, claim)
	}
	if err := e.Get(&rbacv1.RoleBinding{}, "old-rb"); !apierrors.IsNotFound(err) {
		t.Errorf("the RoleBinding is still there: %v", err)
	}
}
