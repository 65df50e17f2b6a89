// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

const (
	// startupTimeoutSeconds bounds a start: first downloads take minutes, and some releases hang with a closed port.
	startupTimeoutSeconds = 600
	startupPeriodSeconds  = 2
	// pullSeconds is the time to pull the image in the Deployment's progress deadline.
	pullSeconds = 300
	// drainSeconds is how long a terminating pod keeps serving, until every node removes it from the Service.
	drainSeconds = 5
	// serverUserID is the pods' non-root user if the cluster assigns none.
	serverUserID = 1001
)

// Deployment returns the Deployment that runs the server.
func Deployment(p *Params) *appsv1.Deployment {
	meta := objectMeta(p.CR, names.DeploymentName(p.CR.Name))
	meta.Annotations = map[string]string{names.AnnotationInputHash: p.InputHash, names.AnnotationBuild: p.Build}
	if p.AdoptedImage != "" {
		meta.Annotations[names.AnnotationAdoptedImage] = p.AdoptedImage
		meta.Annotations[names.AnnotationAdoptedName] = ptr.Deref(p.CR.Spec.Distribution.Name, "")
	}
	if p.FormerInputs != "" {
		meta.Annotations[names.AnnotationFormerInputs] = p.FormerInputs
	}
	if p.ConfigMapsHash != "" {
		meta.Annotations[names.AnnotationConfigMapsHash] = p.ConfigMapsHash
	}
	if p.ServerLine != "" {
		meta.Annotations[names.AnnotationServerLine] = p.ServerLine
	}
	if len(p.DatabaseHashes) > 0 {
		meta.Annotations[names.AnnotationDatabases] = strings.Join(p.DatabaseHashes, ",")
	}
	if p.Share != nil {
		meta.Annotations[names.AnnotationShare] = p.Share.annotation()
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas:                appliedReplicas(p),
			Selector:                &metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)},
			Strategy:                strategy(p),
			RevisionHistoryLimit:    ptr.To[int32](1),
			ProgressDeadlineSeconds: new(startupTimeout(p) + pullSeconds),
			Template:                podTemplate(p),
		},
	}
}

// startupTimeout returns the time in seconds in which the server must become ready.
func startupTimeout(p *Params) int32 {
	return ptr.Deref(workloadOf(&p.CR.Spec).StartupTimeoutSeconds, startupTimeoutSeconds)
}
