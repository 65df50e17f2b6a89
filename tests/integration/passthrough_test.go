// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: R61, FR-074, FR-075 (the webhook rejects names, duplicates and quantities that Kubernetes would reject, with
// the field of the custom resource, and admits all that Kubernetes admits).
func TestValuesThatKubernetesRefuses(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startValidation()
	made := func(spec string) (*v1alpha2.LlamaStackDistribution, []client.Object) {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.UnmarshalStrict([]byte(framework.Manifest("s", "distribution: {name: starter}\n"+spec)), cr); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		cr.Namespace = e.Name
		p := &objects.Params{CR: cr, Image: "registry.example/starter:0.7.1", PortVariables: []string{"PORT"}}
		d := objects.Deployment(p)
		list := []client.Object{d, firstPod(d)}
		if budget := objects.PodDisruptionBudget(p); budget != nil {
			list = append(list, budget)
		}
		for _, o := range list {
			o.SetOwnerReferences(nil)
		}
		return cr, list
	}
	// Kubernetes admits the objects of a valid spec, so the value is the reason for each rejection below.
	e.Eventually("Kubernetes takes what is made without a wrong value", func() error {
		_, list := made("workload: {podDisruptionBudget: {minAvailable: 1}}")
		var faults []error
		for _, o := range list {
			faults = append(faults, suite.Admin.Create(t.Context(), o, client.DryRunAll))
		}
		return errors.Join(faults...)
	})
	// The API server ignores the webhook if it is late, as on a busy machine.
	refuse := func(cr *v1alpha2.LlamaStackDistribution, c framework.RejectedValue) {
		e.Eventually(c.Spec+": the webhook refuses it", func() error {
			if err := suite.Admin.Create(t.Context(), cr.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), c.Problem) {
				return fmt.Errorf("answered %v, want %q", err, c.Problem) //nolint:errorlint // may be nil
			}
			return nil
		})
	}
	for _, c := range framework.RejectedValues() {
		cr, list := made(c.Spec)
		refuse(cr, c)
		refused := strings.Contains(c.Spec, "storage: {size") // the builder replaces a size of zero by the default
		for _, o := range list {
			refused = refused || apierrors.IsInvalid(suite.Admin.Create(t.Context(), o, client.DryRunAll))
		}
		switch {
		case !refused && framework.OldKubernetes(): // it drops fields that it does not know
			t.Logf("%s: this Kubernetes takes it", c.Spec)
		case !refused:
			t.Errorf("%s: Kubernetes takes it", c.Spec)
		}
	}
	for _, c := range framework.InvalidNames() {
		cr, _ := made(c.Spec)
		refuse(cr, c)
	}
}

// Proves: R61, FR-075 (a dry run of the Deployment finds what the operator does not check: the message names the field
// of the custom resource, and no object is created).
func TestValuesThatADryRunFinds(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	values := framework.RejectedByKubernetes()
	for i, c := range values {
		e.Apply(framework.Manifest(fmt.Sprint("s", i), "distribution: {name: starter}\n"+c.Spec))
	}
	for i, c := range values {
		message := e.WaitCondition(fmt.Sprint("s", i), v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, string(problem.ObjectRejected))
		if !strings.HasPrefix(message, c.Problem) || !strings.Contains(message, " could not be applied: ") {
			t.Errorf("%s: the message is %q, want one that begins with %s", c.Spec, message, c.Problem)
		}
	}
	var list appsv1.DeploymentList
	if err := suite.Admin.List(t.Context(), &list, client.InNamespace(e.Name)); err != nil || len(list.Items) > 0 {
		t.Errorf("%d Deployments, %v", len(list.Items), err)
	}
}

// Proves: R61, FR-075 (a dry run finds what only Kubernetes rejects: the message has the field of the custom resource,
// the object and the API server's message, and no running object changes).
func TestValuesRejectedOnlyByKubernetes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("s", "distribution: {name: starter}"))
	e.WaitReady("s")
	before := e.written()
	for spec, says := range map[string]string{
		"dataSource: {kind: PersistentVolumeClaim, name: ''}":                                                       "dataSource.name: Required value",
		"dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}": "must match dataSourceRef",
	} {
		edit := "distribution: {name: starter}\nnetworking: {port: 9000}\nworkload: {overrides: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {" +
			"accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, " + spec + "}}}}]}}"
		e.Apply(framework.Manifest("s", edit))
		e.Eventually(spec+" is reported", func() error {
			c := meta.FindStatusCondition(e.CR("s").Status.Conditions, v1alpha2.ConditionDeploymentUpdated)
			const start = "spec.workload.overrides.volumes[0].ephemeral.volumeClaimTemplate.spec"
			if c == nil || c.Reason != string(problem.ObjectRejected) || !strings.HasPrefix(c.Message, start) ||
				!strings.Contains(c.Message, ": Deployment s could not be applied: ") || !strings.Contains(c.Message, says) {
				return fmt.Errorf("%+v", c)
			}
			return nil
		})
		if diff := cmp.Diff(before, e.written()); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", spec, diff)
		}
	}
}

// firstPod returns a pod of the Deployment: Kubernetes admits some Deployments and rejects their pods.
func firstPod(d *appsv1.Deployment) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = d.Name, d.Namespace
	// The operator's ServiceAccount does not exist, for which the API server would reject the pod.
	pod.Spec.ServiceAccountName = "default"
	return pod
}
