// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// References returns every Secret and ConfigMap that the custom resource refers to, once for each field: those of
// providers and storage, the user's own configuration, the CA bundles (those of the platform included), the server's
// certificate, what the overrides bring into the pods, and the credentials for the image. References that the spec
// gives in a wrong form are left out; Build reports them.
func References(cr *v1alpha2.LlamaStackDistribution) []objects.Reference {
	in := NewInputs(cr)
	var list []objects.Reference
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		list = append(list, secretReference(&use, cr.Namespace))
	}
	if ref, ok := in.OverrideRef(); ok {
		list = append(list, (&OverrideFact{Ref: ref}).reference())
	}
	if bundle := in.NamedCABundle(); bundle != nil {
		list = append(list, bundle.reference())
	} else {
		list = append(list, objects.Reference{Kind: objects.KindConfigMap, Namespace: cr.Namespace, Name: PlatformBundle,
			Optional: true})
	}
	list = append(list, objects.Reference{Kind: objects.KindConfigMap, Namespace: cr.Namespace, Name: ServiceBundle,
		Optional: true})
	if certificate := CertificateOf(cr); certificate != nil {
		list = append(list, certificateReference(certificate.Name, cr.Namespace))
	}
	return append(list, workloadReferences(cr)...)
}

// DefaultReferences returns every Secret and ConfigMap that the operator's settings bring into the pods of a namespace
// whose custom resources do not set these fields.
func DefaultReferences(d *settings.PodDefaults, namespace string) []objects.Reference {
	cr := &v1alpha2.LlamaStackDistribution{Spec: v1alpha2.LlamaStackDistributionSpec{Workload: d.Complete(nil)}}
	cr.Namespace = namespace
	return workloadReferences(cr)
}

// workloadReferences are those of spec.workload.
func workloadReferences(cr *v1alpha2.LlamaStackDistribution) []objects.Reference {
	list := objects.PodReferences(cr)
	if w := cr.Spec.Workload; w != nil {
		for i := range w.ImagePullSecrets {
			list = append(list, objects.Reference{
				Kind: objects.KindSecret, Namespace: cr.Namespace, Name: w.ImagePullSecrets[i].Name, Optional: true,
				Path: fmt.Sprintf("spec.workload.imagePullSecrets[%d]", i),
			})
		}
	}
	return list
}

// ReferencesOfPods are the Secrets and ConfigMaps that the overrides bring into the pods, at the field that names them:
// one of the custom resource, or one of the operator's settings.
func (in *Inputs) ReferencesOfPods() []objects.Reference {
	const envFrom = ".envFrom["
	list := objects.PodReferences(in.CR)
	for i := range list {
		if index, is := strings.CutPrefix(list[i].Path, objects.PathOverrides+envFrom); is && in.EnvFromDefaults {
			list[i].Path = "operator settings: " + settings.KeyPodDefaults + ".overrides" + envFrom + index
		}
	}
	return list
}

func secretReference(use *serverconfig.SecretUse, namespace string) objects.Reference {
	return objects.Reference{Kind: objects.KindSecret, Namespace: namespace, Name: use.Ref.Name,
		Keys: []string{use.Ref.Key}, Path: use.Path}
}

// LeaveUnread fills in what the custom resource refers to in its own namespace, for callers that read no Secret: each
// counts as found, with content that nobody knows.
func (in *Inputs) LeaveUnread() {
	uses, _ := serverconfig.SecretUses(in.Spec) // the engine reports what is wrong there
	for _, use := range uses {
		in.Secrets = append(in.Secrets, SecretFact{Use: use})
	}
	for _, ref := range in.ReferencesOfPods() {
		in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: ref})
	}
	if in.Certificate = CertificateOf(in.CR); in.Certificate != nil {
		in.Certificate.State = Unknown
	}
}
