// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

// Proves: WAIT (the cause of a rollout is known only if no edit of the spec may have caused it).
func TestRolloutHasItsCause(t *testing.T) {
	with := func(configMaps, secrets, certificate string, generation int64) *appsv1.Deployment {
		d := deployment(1, 1)
		d.Generation = generation
		d.Annotations = map[string]string{names.AnnotationConfigMapsHash: configMaps}
		d.Spec.Template.Annotations = map[string]string{
			names.AnnotationSecretsHash: secrets, names.AnnotationCertificateHash: certificate,
		}
		return d
	}
	before := with("c", "s", "t", 3)
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha2.ReasonDeploymentUpdated, ObservedGeneration: 1}
	rolling := metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonSecretChanged, ObservedGeneration: 1}
	for name, c := range map[string]struct {
		last          metav1.Condition
		before, after *appsv1.Deployment
		generation    int64
		want          string
	}{
		"a Secret":                         {ready, before, with("c", "s2", "t", 4), 1, "False SecretChanged"},
		"the certificate":                  {ready, before, with("c", "s", "t2", 4), 1, "False SecretChanged"},
		"a ConfigMap of the pods":          {ready, before, with("c2", "s2", "t", 4), 1, "False ConfigMapChanged"},
		"something else":                   {ready, before, with("c", "s", "t", 4), 1, "False RolloutInProgress"},
		"the spec too":                     {ready, before, with("c", "s2", "t", 4), 2, "False RolloutInProgress"},
		"a Deployment of an older build":   {ready, with("", "s", "t", 3), with("c", "s2", "t", 4), 1, "False RolloutInProgress"},
		"the first rollout":                {metav1.Condition{}, nil, with("c", "s2", "t", 4), 1, "False RolloutInProgress"},
		"a Secret that did not exist":      {metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonNotApplied, ObservedGeneration: 1}, before, with("c", "s2", "t", 4), 1, "False RolloutInProgress"},
		"the rollout goes on":              {rolling, with("c", "s2", "t", 4), with("c", "s2", "t", 4), 1, "False SecretChanged"},
		"a ConfigMap changes meanwhile":    {rolling, with("c", "s2", "t", 4), with("c2", "s3", "t", 5), 1, "False ConfigMapChanged"},
		"an edit of the spec meanwhile":    {rolling, with("c", "s2", "t", 4), with("c", "s2", "t", 5), 2, "False RolloutInProgress"},
		"the rollout is done":              {rolling, before, with("c", "s", "t", 3), 1, "True DeploymentUpdated"},
		"an annotation, without a rollout": {ready, before, with("c2", "s", "t", 3), 1, "True DeploymentUpdated"},
	} {
		t.Run(name, func(t *testing.T) {
			cr := resource()
			if c.last.Status != "" {
				c.last.Type = v1alpha2.ConditionDeploymentUpdated
				cr.Status.Conditions = []metav1.Condition{c.last}
			}
			cr.Generation = c.generation
			f := built(t, cr)
			f.Before, f.Deployment = c.before, c.after
			s := status.Compute(f)
			updated := condition(t, &s, v1alpha2.ConditionDeploymentUpdated)
			if got := string(updated.Status) + " " + updated.Reason; got != c.want {
				t.Errorf("DeploymentUpdated %s, want %s: %s", got, c.want, updated.Message)
			}
		})
	}
}
