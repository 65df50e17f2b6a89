// SPDX-License-Identifier: Apache-2.0

package objects

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Ingress returns the Ingress, or nil if it is not desired. Without a host name it takes requests for every name.
func Ingress(p *Params) *networkingv1.Ingress {
	if !p.Expose.Enabled || (p.Edge.Kind != "" && p.Edge.Kind != settings.EdgeIngress) {
		return nil
	}
	host := Hostname(p.CR, p.Expose, &p.Edge)
	ingress := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: edgeObjectMeta(p, names.IngressName(p.CR.Name)),
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: names.ServiceName(p.CR.Name), Port: networkingv1.ServiceBackendPort{Name: names.ServicePortName},
					}},
				}},
			}},
		}}},
	}
	if p.Edge.IngressClassName != "" {
		ingress.Spec.IngressClassName = new(p.Edge.IngressClassName)
	}
	if p.Edge.TLSSecretName != "" {
		ingress.Spec.TLS = []networkingv1.IngressTLS{{Hosts: nonEmpty(host), SecretName: p.Edge.SecretName(p.CR.Name)}}
	}
	return ingress
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
