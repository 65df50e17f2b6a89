// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// certificate reads the Secret in spec.networking.tls.secretName.
func certificate(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, r *referenceReader) (*build.CertificateFact,
	*problem.Problem) {
	fact := build.CertificateOf(cr)
	if fact == nil {
		return nil, nil
	}
	key := types.NamespacedName{Namespace: cr.Namespace, Name: fact.Name}
	s, err := r.secret(ctx, key)
	switch {
	case err != nil:
		return nil, lookupFailed(v1alpha2.ConditionSecretsResolved, build.PathCertificate, "Secret "+key.String(), err)
	case s == nil:
		fact.State = build.Missing
		return fact, nil
	}
	fact.Certificate, fact.Key, fact.CA = s.Data[corev1.TLSCertKey], secret.Wrap(s.Data[corev1.TLSPrivateKeyKey]),
		s.Data[corev1.ServiceAccountRootCAKey]
	fact.Lookup = build.LookIn(s.Data, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	return fact, nil
}
