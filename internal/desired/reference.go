// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// Reference is a Secret or a ConfigMap that decides what a custom resource becomes.
type Reference struct {
	// Kind is objects.KindSecret or objects.KindConfigMap.
	Kind string
	// Namespace and Name are those of the object.
	Namespace, Name string
	// Keys are the keys that are read; empty means those that there are.
	Keys []string
	// Optional reports that the custom resource works without the object.
	Optional bool
	// Path is the field that refers to the object; empty where nobody wrote the reference.
	Path string
}

// References returns every Secret and ConfigMap that the custom resource refers to, once for each field: those of providers and storage, the
// user's own configuration, the CA bundle (that of the platform where the spec names none), the server's certificate, what the overrides bring into
// the pods, and the credentials for the image.
// References that the spec gives in a wrong form are left out; Build reports them.
func References(cr *v1alpha2.LlamaStackDistribution) []Reference {
	in := NewInputs(cr)
	var list []Reference
	uses, _ := config.SecretUses(in.Spec)
	for _, use := range uses {
		list = append(list, *secretReference(&use, cr.Namespace))
	}
	if ref, ok := in.OverrideRef(); ok {
		list = append(list, Reference{
			Kind: objects.KindConfigMap, Namespace: ref.Namespace, Name: ref.Name, Keys: []string{objects.ConfigKey}, Path: "spec.overrideConfig",
		})
	}
	if bundle := in.NamedCABundle(); bundle != nil {
		list = append(list, Reference{
			Kind: objects.KindConfigMap, Namespace: bundle.Namespace, Name: bundle.Name, Keys: bundle.Keys, Path: "spec.networking.tls.caBundle",
		})
	} else {
		list = append(list, Reference{Kind: objects.KindConfigMap, Namespace: cr.Namespace, Name: PlatformBundle, Optional: true})
	}
	if certificate := CertificateOf(cr); certificate != nil {
		list = append(list, *certificateReference(certificate.Name, cr.Namespace))
	}
	for _, ref := range objects.PodReferences(&cr.Spec) {
		list = append(list, *podReference(&ref, cr.Namespace))
	}
	if w := cr.Spec.Workload; w != nil {
		for i := range w.ImagePullSecrets {
			list = append(list, Reference{
				Kind: objects.KindSecret, Namespace: cr.Namespace, Name: w.ImagePullSecrets[i].Name, Optional: true,
				Path: fmt.Sprintf("spec.workload.imagePullSecrets[%d]", i),
			})
		}
	}
	return list
}

func secretReference(use *config.SecretUse, namespace string) *Reference {
	return &Reference{Kind: objects.KindSecret, Namespace: namespace, Name: use.Ref.Name, Keys: []string{use.Ref.Key}, Path: use.Path}
}

func podReference(ref *objects.PodReference, namespace string) *Reference {
	return &Reference{Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Keys: ref.Keys, Optional: ref.Optional, Path: ref.Path}
}
