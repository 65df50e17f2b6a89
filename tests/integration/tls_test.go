// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// serveTLS makes the fake server present the certificate.
func (e *env) serveTLS(certificate tls.Certificate) {
	plain := e.Server
	e.Server = httptest.NewUnstartedServer(plain.Config.Handler)
	e.Server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	e.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	e.Server.StartTLS()
	e.T.Cleanup(e.Server.Close)
}

const withTLS = "distribution: {name: starter}\nnetworking: {tls: {enabled: true, secretName: llama-tls}}"

// Proves: FR-061, FR-062, US-5.3, R20, R39 (the operator waits for the Secret, reports errors in it before the rollout,
// and continues once it is fixed; Service, status and the operator's requests use HTTPS, with verification also for a
// Secret without a CA).
func TestTLSFromASecret(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	ca := framework.NewCA(t)
	hosts := []string{"s-service." + e.Name + ".svc"}
	data := ca.ServerSecret(hosts)
	e.serveTLS(ca.Certificate(data))
	op := e.StartOperator()
	e.Apply(framework.Manifest("s", withTLS))
	if got := e.WaitCondition("s", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.SecretNotFound)); !strings.Contains(got,
		"Secret not found: llama-tls (namespace "+e.Name+")") {
		t.Error(got)
	}
	wrong := ca.ServerSecret(hosts)
	wrong["tls.key"] = data["tls.key"]
	for _, step := range []struct {
		message string
		data    func() map[string][]byte
	}{
		{"a private key that does not match the certificate", func() map[string][]byte { return wrong }},
		{"its DNS names are llama.example", func() map[string][]byte { return ca.ServerSecret([]string{"llama.example"}) }},
		// Created when it is written, so that a slow machine sees it before its validity begins.
		{"is not valid before", func() map[string][]byte {
			late := ca.ServerSecret(hosts, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(20 * time.Second) })
			delete(late, "ca.crt") // otherwise the server's own certificate would be trusted
			return late
		}},
	} {
		e.PutTLSSecret(&suite.Canaries, "llama-tls", step.data())
		e.WaitCondition("s", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.InvalidSecret), step.message)
		if len(e.owned()) > 0 {
			t.Errorf("%s: there is something already: %v", step.message, e.owned())
		}
	}
	// There is no event when the validity of the certificate begins.
	e.WaitCondition("s", v1alpha2.ConditionSecretsResolved, metav1.ConditionTrue, "")
	delete(data, "ca.crt") // as with OpenShift's serving certificates: the operator trusts only this certificate
	e.PutTLSSecret(&suite.Canaries, "llama-tls", data)
	e.Eventually("the server is believed without a CA", func() error {
		cr := e.WaitReady("s")
		if v := cr.Status.Version.LlamaStackServerVersion; v != suite.ServerRelease || cr.Status.DistributionConfig == nil || len(cr.Status.DistributionConfig.Providers) == 0 {
			return fmt.Errorf("version %q, %+v", v, cr.Status.DistributionConfig)
		}
		return nil
	})
	cr := e.WaitReady("s")
	if got := cr.Status.ServiceURL; got != "https://"+hosts[0]+":8321" {
		t.Errorf("serviceURL %s", got)
	}
	var service corev1.Service
	framework.NoError(t, e.Get(&service, "s-service"))
	if p := service.Spec.Ports[0]; p.Name != "http" || p.AppProtocol == nil || *p.AppProtocol != "https" {
		t.Errorf("port %+v of the Service", p)
	}
	e.Quiet(op)
}

// Proves: FR-061, R39 (the operator does not trust a server with another certificate, so the status has no reported
// version).
func TestServerWithAnotherCertificateIsNotTrusted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	ca, other := framework.NewCA(t), framework.NewCA(t)
	hosts := []string{"s-service." + e.Name + ".svc"}
	e.serveTLS(other.Certificate(other.ServerSecret(hosts)))
	e.StartOperator()
	e.PutTLSSecret(&suite.Canaries, "llama-tls", ca.ServerSecret(hosts))
	e.Apply(framework.Manifest("s", withTLS))
	e.Eventually("the status reports the certificate", func() error {
		cr := e.CR("s")
		for _, c := range cr.Status.Conditions {
			if strings.Contains(c.Message, "the server's certificate is neither the one in its Secret") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", cr.Status.Conditions)
	})
	if v := e.CR("s").Status.Version; v.LlamaStackServerVersion != "" {
		t.Errorf("the status has version %s", v.LlamaStackServerVersion)
	}
}

// Proves: R105, R20 (certificates of a provider are waited for, mounted and restart the pods).
func TestCertificatesOfAProviderAreMounted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("mutual", `distribution: {name: starter}
providers:
  inference:
  - {id: a, provider: vllm, endpoint: "https://a:8000", tls: {caBundle: {configMapName: models-ca}, clientCertificate: {secretName: client}}}
  - {id: b, provider: vllm, endpoint: "https://b:8000", tls: {clientCertificate: {secretName: client}}}
resources: {models: [{name: m, provider: a}]}`))
	e.WaitCondition("mutual", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, "",
		"spec.providers.inference[0].tls.clientCertificate.secretName: Secret not found: client")
	e.WaitCondition("mutual", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, "",
		"spec.providers.inference[0].tls.caBundle.configMapName: ConfigMap not found: models-ca")
	e.CreateConfigMap("models-ca", map[string]string{"ca-bundle.crt": framework.CACertificate})
	e.PutTLSSecret(&suite.Canaries, "client", framework.NewCA(t).ServerSecret([]string{"client"}))
	e.WaitReady("mutual")
	pod := e.Deployment("mutual").Spec.Template
	at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "provider-tls" })
	if at < 0 || len(pod.Spec.Volumes[at].Projected.Sources) != 2 {
		t.Fatalf("volumes %+v", pod.Spec.Volumes)
	}
	generated := &corev1.ConfigMap{}
	framework.NoError(t, e.Get(generated, e.CR("mutual").Status.ConfigGeneration.ConfigMapName))
	config := generated.Data["config.yaml"]
	for _, file := range []string{"verify: /etc/llama-stack-provider-tls/ca/models-ca/ca-bundle.crt", "client_key: /etc/llama-stack-provider-tls/client/client/tls.key"} {
		if !strings.Contains(config, file) {
			t.Errorf("%s is missing in\n%s", file, config)
		}
	}
	before := pod.Annotations[names.AnnotationSecretsHash]
	e.PutTLSSecret(&suite.Canaries, "client", framework.NewCA(t).ServerSecret([]string{"client"}))
	framework.Eventually(t, framework.Patience, "the renewed certificate restarts the pods", func() error {
		if now := e.Deployment("mutual").Spec.Template.Annotations[names.AnnotationSecretsHash]; now == before {
			return errors.New("the hash is the same")
		}
		return nil
	})
}
