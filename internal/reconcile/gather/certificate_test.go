// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
)

// Proves: FR-062, R7, R64 (the certificate's Secret is read live, only with TLS, and never for admission).
func TestCertificate(t *testing.T) {
	c := newCluster(t, newSecret("llama-tls", map[string]string{"tls.crt": "certificate", "tls.key": canary, "ca.crt": "CA"}))
	g := newGatherer(c, c)
	cr := resource()
	cr.Spec.Providers = nil
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{SecretName: new("llama-tls")}}
	find := func() *build.CertificateFact {
		t.Helper()
		got, problems := g.Gather(t.Context(), cr)
		if problems.HasErrors() || got.Inputs.Now.Before(time.Now().Add(-time.Minute)) {
			t.Fatalf("%s at %v", problems.Message(), got.Inputs.Now)
		}
		return got.Inputs.Certificate
	}
	if f := find(); f != nil || c.reads["Secret/llama-tls"] != 0 {
		t.Errorf("TLS is not enabled, and there is %+v", f)
	}
	cr.Spec.Networking.TLS.Enabled = new(true)
	if f := find(); f == nil || string(f.Certificate) != "certificate" || string(f.CA) != "CA" || string(f.Key.Reveal()) != canary || f.State != build.Found {
		t.Errorf("found %+v", f)
	}
	reads := c.reads["Secret/llama-tls"]
	in, _ := g.GatherForAdmission(t.Context(), cr)
	if in.Certificate == nil || in.Certificate.State != build.Unknown || c.reads["Secret/llama-tls"] != reads {
		t.Errorf("for admission %+v, with %d reads", in.Certificate, c.reads["Secret/llama-tls"]-reads)
	}
	for _, name := range []string{"other", "a/b"} {
		cr.Spec.Networking.TLS.SecretName = &name
		if f := find(); f == nil || f.State != build.Missing {
			t.Errorf("Secret %s: %+v", name, f)
		}
	}
	cr.Spec.Networking.TLS.SecretName = new("llama-tls")
	c.fails["Secret/llama-tls"] = errTimeout
	got, problems := g.Gather(t.Context(), cr)
	if got.Inputs.Certificate != nil || len(problems) != 1 || problems[0].Reason != problem.LookupFailed || problems[0].Path != build.PathCertificate ||
		problems[0].Condition != v1alpha2.ConditionSecretsResolved {
		t.Errorf("with an API server that fails: %+v, %+v", got.Inputs.Certificate, problems)
	}
}
