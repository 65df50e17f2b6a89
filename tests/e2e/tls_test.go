// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// tlsSecret and tlsBundle are the Secret and the ConfigMap in config/samples/v1alpha2-tls.yaml.
const (
	tlsSecret = "my-stack-tls"
	tlsBundle = "company-ca"
)

func (s stack) chatsAt(t *testing.T, by *http.Client, url string) {
	t.Helper()
	status, answer, err := tryCallBy(t, by, http.MethodPost, url+"/v1/chat/completions", map[string]any{
		"model": "vllm/" + sampleModel, "messages": []any{map[string]any{"role": "user", "content": question}},
	})
	if want := modelserverdouble.Answer(sampleModel, question); err != nil || status != http.StatusOK || !strings.Contains(string(answer), want) {
		t.Fatalf("chat completion: status %d, %v, %s", status, err, answer)
	}
}

// Proves: FR-061, FR-062, FR-063, US-5.3, R39, R40, R66, L-23 (the sample with TLS on a node with restricted pods: a
// completion over HTTPS; a new certificate causes one rollout, which loses no request).
func serverEncrypts(t *testing.T) {
	s := sampleStack(t)
	ca := framework.NewCA(t)
	host := s.name + "-service." + s.namespace + ".svc"
	first := ca.ServerSecret([]string{host})
	s.in(t).PutTLSSecret(&canaries, tlsSecret, first)
	s.in(t).Put(&corev1.ConfigMap{ObjectMeta: s.in(t).Meta(tlsBundle), Data: map[string]string{"ca.crt": string(ca.PEM)}})
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-tls.yaml"))
	cr := s.waitReady(t)
	if got := cr.Status.ServiceURL; got != "https://"+host+":8321" {
		t.Errorf("serviceURL %s", got)
	}
	trust := s.pod(t).Status.InitContainerStatuses
	if len(trust) != 1 || trust[0].State.Terminated == nil || trust[0].State.Terminated.ExitCode != 0 || trust[0].RestartCount != 0 {
		t.Errorf("the container that collects CA certificates: %+v", trust)
	}
	did(t, "config/samples/v1alpha2-tls.yaml is applied unchanged, and Ready; the operator verified the certificate; %s",
		strings.TrimSpace(s.in(t).Kubectl("logs", s.pod(t).Name, "-c", "trust")))

	by := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: ca.Trust(host)}}
	url := "https://" + strings.TrimPrefix(s.url(t), "http://")
	s.chatsAt(t, by, url)
	if status, answer, err := tryCall(t, http.MethodGet, s.url(t)+"/v1/health", nil); err == nil && status == http.StatusOK {
		t.Errorf("plain HTTP is served: %s", answer)
	}
	did(t, "a chat completion over HTTPS, verified by the CA; plain HTTP is not served")

	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":{"expose":true}}}`)
	proxy := s.reachedThroughIngress(t, ca)
	s.verifiedByGateway(t, ca, proxy)
	setEdge(t, edgeSetting)
	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":{"expose":null}}}`)
	did(t, "exposed, it is reached through an Ingress and through a Gateway, which verifies its certificate with a BackendTLSPolicy")

	revision, asked := s.in(t).Revision(s.name), startTrafficBy(t, by, url)
	second := ca.ServerSecret([]string{host})
	s.in(t).PutTLSSecret(&canaries, tlsSecret, second)
	s.waitRevisionAfter(t, revision)
	s.waitReady(t)
	checkOneRollout(t, s, revision)
	framework.Eventually(t, soon, "the server shows the new certificate", func() error {
		conn, err := (&tls.Dialer{Config: ca.Trust(host)}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		shown := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		if got := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Raw}); !bytes.Equal(got, second["tls.crt"]) {
			return fmt.Errorf("it shows the certificate with number %v", shown.SerialNumber)
		}
		return nil
	})
	o := asked.end()
	if o.lost > 0 || o.sent < 20 {
		t.Errorf("while the certificate changed: %s; the first: %v", o, o.first)
	}
	did(t, "another certificate rolls out once and is shown; %s", o)

	s.in(t).Kubectl("apply", "-f", samplePath())
	s.waitReady(t)
	did(t, "without networking.tls the server serves plain HTTP again")
}
