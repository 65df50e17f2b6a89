// SPDX-License-Identifier: Apache-2.0

package objects

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Ingress builds the way in from outside of the cluster; nil where none is desired. Without a host name it takes the requests
// for every name that reaches the ingress controller.
func Ingress(p *Params) *networkingv1.Ingress {
	if !p.Expose.Enabled {
		return nil
	}
	return &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: stamp(p.CR, IngressName(p.CR.Name)),
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: p.Expose.Hostname,
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
