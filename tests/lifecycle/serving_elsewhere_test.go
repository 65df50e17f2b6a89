// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// caElsewhere returns the data of a Secret as cert-manager writes it for the webhooks' Service.
func caElsewhere(t *testing.T) map[string][]byte {
	t.Helper()
	return framework.NewCA(t).ServerSecret([]string{framework.WebhookHost})
}

// inject writes the CA bundle into the CRD and the webhook configuration, as a certificate manager does.
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
