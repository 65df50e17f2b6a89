// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// ServiceAccount returns the pods' ServiceAccount, without permissions and token, or nil if the user names another.
func ServiceAccount(p *Params) *corev1.ServiceAccount {
	if !OwnServiceAccount(&p.CR.Spec) {
		return nil
	}
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   objectMeta(p.CR, names.ServiceAccountName(p.CR.Name)),
		AutomountServiceAccountToken: new(false),
	}
}
