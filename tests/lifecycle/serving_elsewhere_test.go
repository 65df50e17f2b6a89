// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// caElsewhere makes what cert-manager writes into a Secret: a certificate for the webhook's Service, here signed by
// itself.
func caElsewhere(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	framework.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: t.Name()},
		DNSNames:  []string{framework.WebhookHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	framework.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	framework.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{
		"tls.crt": text, "ca.crt": text, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

// putSecret writes the Secret as someone who makes certificates does.
func (s *controlPlane) putSecret(data map[string][]byte) {
	s.T.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: certificates.SecretName}, Type: corev1.SecretTypeTLS, Data: data,
	}
	err := s.Client.Create(s.T.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = s.Client.Update(s.T.Context(), secret)
	}
	framework.NoError(s.T, err)
}

// inject writes the CA bundle into the CRD and the webhook configuration, as someone who makes certificates does.
func (s *controlPlane) inject(caBundle []byte) {
	s.T.Helper()
	encoded := base64.StdEncoding.EncodeToString(caBundle)
	s.Kubectl("patch", framework.CRD, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":%q}}}}}`, encoded))
	s.injectValidation(caBundle)
}

func (s *controlPlane) injectValidation(caBundle []byte) {
	s.T.Helper()
	encoded := base64.StdEncoding.EncodeToString(caBundle)
	s.Kubectl("patch", "validatingwebhookconfiguration", certificates.ValidationName, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":%[1]q},{"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":%[1]q}]`, encoded))
}
