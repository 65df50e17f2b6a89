// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceAccount builds the identity of the server's pods. It has no permissions and no mounted token: the server
// calls no API of the cluster.
func ServiceAccount(p *Params) *corev1.ServiceAccount {
	if !OwnServiceAccount(&p.CR.Spec) {
		return nil
	}
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   stamp(p.CR, ServiceAccountName(p.CR.Name)),
		AutomountServiceAccountToken: new(false),
	}
}
