// SPDX-License-Identifier: Apache-2.0

package objects

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// Expose is what the spec reports about the way in from outside of the cluster; what is wrong there counts as nothing.
func Expose(spec *v1alpha2.LlamaStackDistributionSpec) parse.Expose {
	if spec.Networking == nil {
		return parse.Expose{}
	}
	expose, problems := parse.ExposeField(spec.Networking.Expose)
	if len(problems) > 0 {
		return parse.Expose{}
	}
	return expose
}

// Ingress builds the way in from outside of the cluster; nil where none is desired. Without a host name it takes the requests
// for every name that reaches the ingress controller.
func Ingress(p *Params) *networkingv1.Ingress {
	expose := Expose(&p.CR.Spec)
	if !expose.Enabled {
		return nil
	}
	return &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: stamp(p.CR, IngressName(p.CR.Name)),
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: expose.Hostname,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: ServiceName(p.CR.Name), Port: networkingv1.ServiceBackendPort{Name: ServicePortName},
					}},
				}},
			}},
		}}},
	}
}
