// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R64 (with the CA of the API server's client certificate, only the API server can call validation; conversion,
// for which API servers present no certificate, stays open).
func TestOnlyTheAPIServerMayCallValidation(t *testing.T) {
	t.Parallel()
	s := installed(t)
	p := s.start(buildManager(t), "--validation-client-ca-file="+filepath.Join(s.Cluster.Dir, "pki", "ca.crt"))
	s.Eventually("the API server gets the webhook's verdict", func() error {
		out, _ := s.Cluster.KubectlInput(t.Context(), framework.Manifest("probe", "distribution: {name: startr}"), "apply", "--dry-run=server", "-f", "-")
		if !strings.Contains(out, `did you mean "starter"`) {
			return errors.New(out)
		}
		return nil
	})
	trust := trusting(s.injected())
	if err := converts(p, trust); err != nil {
		t.Errorf("conversion: %v", err)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}, Timeout: time.Minute}
	code, text, err := framework.Send(t.Context(), web, http.MethodPost, "https://"+p.Webhook+"/validate", "{}")
	if err != nil || code != http.StatusForbidden || !strings.Contains(string(text), "client certificate") {
		t.Errorf("who has no certificate gets %d %q, %v", code, text, err)
	}
}
