// SPDX-License-Identifier: Apache-2.0

package status

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// causes are the messages about the known causes of a rollout, by reason.
var causes = map[string]string{
	v1alpha2.ReasonSecretChanged:    "A referenced Secret changed",
	v1alpha2.ReasonConfigMapChanged: "A referenced ConfigMap changed",
	v1alpha2.ReasonUndoReverted: "The pod template of an earlier revision was put back, as kubectl rollout undo does, " +
		"and the operator replaced it with that of the spec: edit the custom resource instead",
}

// rolloutCause returns the reason of a rollout that no edit of the spec caused, else RolloutInProgress. A cause stays
// until the rollout is done or the spec is edited.
func rolloutCause(f *Facts, s *Status) string {
	if f.UndoReverted {
		return v1alpha2.ReasonUndoReverted
	}
	last := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionDeploymentUpdated)
	if last == nil || last.ObservedGeneration != f.CR.Generation {
		return v1alpha2.ReasonRolloutInProgress
	}
	if last.Status == metav1.ConditionTrue || causes[last.Reason] != "" {
		if reason := changedReference(f.Before, f.Deployment); reason != "" {
			return reason
		}
	}
	if causes[last.Reason] != "" {
		return last.Reason
	}
	return v1alpha2.ReasonRolloutInProgress
}

// changedReference returns the reason for a difference of two Deployments in the hashes of referenced objects, or "".
func changedReference(before, after *appsv1.Deployment) string {
	if before == nil || after == nil || before.Generation == after.Generation {
		return ""
	}
	configMaps := before.Annotations[names.AnnotationConfigMapsHash]
	switch current := after.Annotations[names.AnnotationConfigMapsHash]; {
	case configMaps == "" && current != "": // unknown before: an older operator made the Deployment
		return ""
	case configMaps != current:
		return v1alpha2.ReasonConfigMapChanged
	}
	for _, hash := range []string{names.AnnotationSecretsHash, names.AnnotationCertificateHash} {
		if before.Spec.Template.Annotations[hash] != after.Spec.Template.Annotations[hash] {
			return v1alpha2.ReasonSecretChanged
		}
	}
	return ""
}
