// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// wayToTheAPIServer is a way that can be cut, and a kubeconfig of the operator that takes it.
func (s *serving) wayToTheAPIServer() (way *framework.Forwarder, open func(), kubeconfig string) {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(s.operatorKubeconfig())
	framework.NoError(s.t, err)
	way = framework.StartForwarder(s.t, "127.0.0.1:0")
	var address string
	for _, c := range config.Clusters {
		address = strings.TrimPrefix(c.Server, "https://")
		host, _, err := net.SplitHostPort(address)
		framework.NoError(s.t, err)
		c.Server, c.TLSServerName = "https://"+way.Address(), host
	}
	kubeconfig = filepath.Join(s.t.TempDir(), "kubeconfig")
	framework.NoError(s.t, clientcmd.WriteToFile(*config, kubeconfig))
	return way, func() { way.Add(address) }, kubeconfig
}

// alive fails where the process has ended.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the process ended: %w", p.err)
	default:
	}
	answer, err := http.Get("http://" + p.health + "/healthz")
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(err, errors.New(answer.Status))
	}
	return nil
}

// converts sends a review to the process itself, with the trust that the CRD gives the API server.
func (p *process) converts(trust *tls.Config) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	review := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"llamastack.io/v1alpha2","objects":[%s]}}`,
		spoke("asked", ""))
	answer, err := client.Post("https://"+p.webhook+"/convert", "application/json", strings.NewReader(review))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), `"status":"Success"`) {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}

// Proves: R71 (a process that starts without the API server waits for it; one that loses the API server, and with it the lease, goes on
// to convert, and reconciles again afterwards: the same process throughout).
func TestWebhooksOutliveTheAPIServer(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	s.install()
	way, open, kubeconfig := s.wayToTheAPIServer()
	p := s.runAs(buildManager(t), kubeconfig)
	framework.Eventually(t, time.Minute, "the process waits for the API server", func() error {
		if !strings.Contains(p.log.String(), "manager stopped and restarts when the API server is ready; the webhooks continue") {
			return errors.New(p.log.String())
		}
		return p.alive()
	})
	if err := p.ready(); err == nil {
		t.Error("it is ready without a certificate")
	}

	open()
	framework.Eventually(t, 2*time.Minute, "the replica is ready", p.ready)
	s.service.Add(p.webhook)
	s.apply(spoke("before", ""))
	framework.Eventually(t, 2*time.Minute, "it reconciles", s.reconciled("before"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.injected())
	trust := &tls.Config{RootCAs: roots, ServerName: webhookService + "." + operatorNamespace + ".svc"}

	way.Close()
	lost := strings.Count(p.log.String(), "leader election lost")
	framework.Eventually(t, 2*time.Minute, "the lease is lost, and the webhooks serve", func() error {
		if err := errors.Join(p.alive(), p.ready(), p.converts(trust)); err != nil {
			t.Errorf("while the API server is away: %v", err)
		}
		if strings.Count(p.log.String(), "leader election lost") == lost {
			return errors.New("it still has the lease")
		}
		return nil
	})

	open()
	s.apply(spoke("after", ""))
	framework.Eventually(t, 2*time.Minute, "it reconciles again", s.reconciled("after"))
	p.terminate(t)
}

// reconciled fails while nobody has reported on the object.
func (s *serving) reconciled(name string) func() error {
	return func() error {
		u, err := s.get("v1alpha2", name)
		if err == nil && field(u, "status.observedGeneration") == nil {
			err = errors.New("it has no status")
		}
		return err
	}
}

// Proves: R71 (metrics by HTTPS, for those only who may read them).
func TestMetricsNeedPermission(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	s := &serving{t: t, cluster: cluster}
	p := s.run(buildManager(t), "--watch-namespaces="+e.namespace, "--manage-certificates=false", "--leader-elect=false")
	binding := "metrics-" + e.namespace
	t.Cleanup(func() { _, _ = cluster.KubectlRun(context.Background(), "delete", "clusterrolebinding", binding) })
	s.kubectl("create", "serviceaccount", "reader", "-n", e.namespace)
	s.kubectl("create", "serviceaccount", "nobody", "-n", e.namespace)
	s.kubectl("create", "clusterrolebinding", binding, "--clusterrole=llama-stack-k8s-operator-metrics-reader", "--serviceaccount="+e.namespace+":reader")
	token := func(name string) string {
		return strings.TrimSpace(s.kubectl("create", "token", name, "-n", e.namespace))
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	for _, c := range []struct {
		who, token string
		want       int
	}{
		{"nobody known", "", http.StatusUnauthorized},
		{"a wrong token", "x", http.StatusUnauthorized},
		{"somebody without the role", token("nobody"), http.StatusForbidden},
		{"somebody with the role", token("reader"), http.StatusOK},
	} {
		framework.Eventually(t, time.Minute, c.who, func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.metrics+"/metrics", http.NoBody)
			framework.NoError(t, err)
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			answer, err := client.Do(request)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(answer.Body)
			if err := errors.Join(err, answer.Body.Close()); err != nil {
				return err
			}
			if answer.StatusCode != c.want {
				return fmt.Errorf("%s, want %d", answer.Status, c.want)
			}
			if c.want == http.StatusOK != strings.Contains(string(text), "controller_runtime_reconcile_total") {
				return fmt.Errorf("the answer is %.200s", text)
			}
			return nil
		})
	}
	if answer, err := http.Get("http://" + p.metrics + "/metrics"); err == nil {
		if answer.StatusCode == http.StatusOK {
			t.Error("metrics are served as plain HTTP")
		}
		_ = answer.Body.Close()
	}
}
