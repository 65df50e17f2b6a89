// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
				// A number: pods of release 0.9 have no named port, and a name would leave them out of the Service while they serve.
				TargetPort: intstr.FromInt32(Port(&p.CR.Spec)),
			}},
		},
	}
}
