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

// References returns all well-formed references of the custom resource, also to the platform's CA bundles.
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
	for _, bundle := range in.AllCABundles() {
		list = append(list, bundle.reference())
	}
	if certificate := CertificateOf(cr); certificate != nil {
		list = append(list, certificateReference(certificate.Name, cr.Namespace))
	}
	list = append(list, in.providerTLS()...)
	return append(list, workloadReferences(cr)...)
}

// providerTLS returns the Secrets and ConfigMaps with the certificates of providers.
func (in *Inputs) providerTLS() []objects.Reference {
	var list []objects.Reference
	for _, group := range in.Spec.Providers {
		for i := range group.Providers {
			t := group.Providers[i].TLS
			if t == nil {
				continue
			}
			if t.CABundle != "" {
				list = append(list, objects.Reference{Kind: objects.KindConfigMap, Namespace: in.CR.Namespace, Name: t.CABundle,
					Keys: []string{t.CAKey}, Path: t.CAPath()})
			}
			if t.ClientCertificate != "" {
				list = append(list, certificateReference(t.ClientCertificate, in.CR.Namespace))
				list[len(list)-1].Path = t.ClientCertificatePath()
			}
		}
	}
	return list
}

// DefaultReferences returns the Secrets and ConfigMaps that the operator's settings add to the pods of a namespace.
func DefaultReferences(d *settings.PodDefaults, namespace string) []objects.Reference {
	cr := &v1alpha2.LlamaStackDistribution{Spec: v1alpha2.LlamaStackDistributionSpec{Workload: d.Complete(nil)}}
	cr.Namespace = namespace
	return workloadReferences(cr)
}

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

// ReferencesOfPods returns the references of the pods' overrides and of the providers' certificates, with the field
// that has them.
func (in *Inputs) ReferencesOfPods() []objects.Reference {
	const envFrom = ".envFrom["
	list := append(objects.PodReferences(in.CR), in.providerTLS()...)
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

// AssumeReferencesFound sets the references in the own namespace as found, with unknown content, for callers that read
// no Secret.
func (in *Inputs) AssumeReferencesFound() {
	uses, _ := serverconfig.SecretUses(in.Spec) // the engine reports malformed references
	for _, use := range uses {
		in.Secrets = append(in.Secrets, SecretFact{Use: use})
	}
	for _, ref := range in.ReferencesOfPods() {
		in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: ref})
	}
	if in.Certificate = CertificateOf(in.CR); in.Certificate != nil {
		in.Certificate.State = Unknown
	}
	in.CABundles = in.AllCABundles()
	for i := range in.CABundles {
		in.CABundles[i].State = Unknown
	}
}
