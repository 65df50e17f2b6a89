// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Service returns the Service of the server.
func Service(p *Params) *corev1.Service {
	// The port keeps its name with HTTPS, because clients and ingresses of release 0.9 refer to it.
	var appProtocol *string
	if p.Scheme == corev1.URISchemeHTTPS {
		appProtocol = new("https")
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: objectMeta(p.CR, names.ServiceName(p.CR.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: names.Selector(p.CR.Name),
			Ports: []corev1.ServicePort{{
				Name:        names.ServicePortName,
				Protocol:    corev1.ProtocolTCP,
				AppProtocol: appProtocol,
				Port:        Port(&p.CR.Spec),
				// Pods of release 0.9 have no named port, so a name would exclude them from the Service.
				TargetPort: intstr.FromInt32(Port(&p.CR.Spec)),
			}},
		},
	}
}

// ServerURL returns the URL of the Service's cluster IP, or "" and the reason, such as a foreign Service or selector.
func ServerURL(cr *v1alpha2.LlamaStackDistribution, service *corev1.Service, scheme corev1.URIScheme) (url,
	problem string) {
	address, err := netip.ParseAddr(service.Spec.ClusterIP)
	port := Port(&cr.Spec)
	switch {
	case !metav1.IsControlledBy(service, cr) || service.DeletionTimestamp != nil:
		return "", "the resource does not control its Service"
	case service.Spec.Type == corev1.ServiceTypeExternalName || err != nil:
		return "", "its Service has no address of its own"
	case !maps.Equal(service.Spec.Selector, names.Selector(cr.Name)) && !names.SelectsNewPods(service, cr.Name):
		return "", "its Service selects other pods"
	case !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == port &&
			p.Protocol == corev1.ProtocolTCP
	}):
		return "", "its Service does not have the server's port"
	}
	//nolint:gosec // the schema bounds ports
	return strings.ToLower(string(scheme)) + "://" + netip.AddrPortFrom(address, uint16(port)).String(),
		""
}
