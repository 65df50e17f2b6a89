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
)

// Service builds the Service of the server.
func Service(p *Params) *corev1.Service {
	// The name of the port stays what it is for HTTPS as well: clients and ingresses of release 0.9 refer to it.
	var appProtocol *string
	if p.Scheme == corev1.URISchemeHTTPS {
		appProtocol = new("https")
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: stamp(p.CR, ServiceName(p.CR.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: Selector(p.CR.Name),
			Ports: []corev1.ServicePort{{
				Name:        ServicePortName,
				Protocol:    corev1.ProtocolTCP,
				AppProtocol: appProtocol,
				Port:        Port(&p.CR.Spec),
				// A number: pods of release 0.9 have no named port, and a name would leave them out of the Service while they
				// serve.
				TargetPort: intstr.FromInt32(Port(&p.CR.Spec)),
			}},
		},
	}
}

// ServerURL is where the operator itself reaches the server: the Service's own address and port. It is empty, with the
// reason, where the Service does not lead to the resource's pods: the resource does not control it, it selects other
// pods, or it has no address of its own. A name would not do: anyone who changes the Service decides where that leads.
func ServerURL(cr *v1alpha2.LlamaStackDistribution, service *corev1.Service, scheme corev1.URIScheme) (url,
	why string) {
	address, err := netip.ParseAddr(service.Spec.ClusterIP)
	port := Port(&cr.Spec)
	switch {
	case !metav1.IsControlledBy(service, cr) || service.DeletionTimestamp != nil:
		return "", "the resource does not control its Service"
	case service.Spec.Type == corev1.ServiceTypeExternalName || err != nil:
		return "", "its Service has no address of its own"
	case !maps.Equal(service.Spec.Selector, Selector(cr.Name)) && !SelectsNewPods(service, cr.Name):
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
