// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// converts sends a ConversionReview to the process, with the CA bundle of the CRD.
func converts(p *framework.Process, trust *tls.Config) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	review := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"llamastack.io/v1alpha2","objects":[%s]}}`,
		spoke("asked", ""))
	code, text, err := framework.Send(context.Background(), client, http.MethodPost, "https://"+p.Webhook+"/convert", review)
	if err == nil && (code != http.StatusOK || !strings.Contains(string(text), `"status":"Success"`)) {
		err = fmt.Errorf("%d: %s", code, text)
	}
	return err
}

// Proves: R71 (a process that starts without the API server waits for it; one that loses the API server and its lease
// continues to convert, and reconciles again afterwards without a restart).
func TestWebhooksOutliveTheAPIServer(t *testing.T) {
	t.Parallel()
	s := installed(t)
	way := framework.StartForwarder(t, "127.0.0.1:0")
	kubeconfig, apiServer := framework.KubeconfigVia(t, s.operatorKubeconfig(), way.Address(), nil)
	p := s.runAs(buildManager(t), kubeconfig)
	s.Eventually("the process waits for the API server", func() error {
		if !strings.Contains(p.Text(), "manager stopped and restarts when the API server is ready; the webhooks continue") {
			return errors.New(p.Text())
		}
		return p.Live()
	})
	if err := p.Ready(); err == nil {
		t.Error("it is ready without a certificate")
	}

	way.Add(apiServer)
	s.Eventually("the replica is ready", p.Ready)
	s.service.Add(p.Webhook)
	s.Apply(spoke("before", ""))
	s.Eventually("it reconciles", s.reconciled("v1alpha2", "before"))
	trust := trusting(s.injected())

	way.Close()
	lost := strings.Count(p.Text(), "leader election lost")
	s.Eventually("the lease is lost, and the webhooks serve", func() error {
		if err := errors.Join(p.Live(), p.Ready(), converts(p, trust)); err != nil {
			t.Errorf("while the API server is away: %v", err)
		}
		if strings.Count(p.Text(), "leader election lost") == lost {
			return errors.New("it still has the lease")
		}
		return nil
	})

	way.Add(apiServer)
	s.Apply(spoke("after", ""))
	s.Eventually("it reconciles again", s.reconciled("v1alpha2", "after"))
	p.Terminate(t)
}

// reconciled returns a function that checks whether the custom resource has a status.
func (s *controlPlane) reconciled(version, name string) func() error {
	return func() error {
		u, err := s.tryVersion(version, name)
		if err == nil && field(u, "status.observedGeneration") == nil {
			err = errors.New("it has no status")
		}
		return err
	}
}

// Proves: R71 (HTTPS metrics, only for clients with permission).
func TestMetricsNeedPermission(t *testing.T) {
	t.Parallel()
	e := suite.NewEnv(t)
	s := &controlPlane{Namespace: framework.Namespace{T: t, Cluster: suite.Cluster, Name: metav1.NamespaceDefault}}
	p := s.run(buildManager(t), "--watch-namespaces="+e.Name, "--manage-certificates=false", "--leader-elect=false")
	binding := "metrics-" + e.Name
	t.Cleanup(func() { _, _ = suite.Cluster.KubectlRun(context.Background(), "delete", "clusterrolebinding", binding) })
	s.Kubectl("create", "serviceaccount", "reader", "-n", e.Name)
	s.Kubectl("create", "serviceaccount", "nobody", "-n", e.Name)
	s.Kubectl("create", "clusterrolebinding", binding, "--clusterrole=llama-stack-k8s-operator-metrics-reader", "--serviceaccount="+e.Name+":reader")
	token := func(name string) string {
		return strings.TrimSpace(s.Kubectl("create", "token", name, "-n", e.Name))
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	for _, c := range []struct {
		who, token string
		want       int
	}{
		{"no token", "", http.StatusUnauthorized},
		{"a wrong token", "x", http.StatusUnauthorized},
		{"a user without the role", token("nobody"), http.StatusForbidden},
		{"a user with the role", token("reader"), http.StatusOK},
	} {
		e.Eventually(c.who, func() error {
			var header []string
			if c.token != "" {
				header = []string{"Authorization", "Bearer " + c.token}
			}
			status, text, err := framework.Send(t.Context(), client, http.MethodGet, "https://"+p.Metrics+"/metrics", "", header...)
			if err == nil && (status != c.want || status == http.StatusOK != strings.Contains(string(text), "controller_runtime_reconcile_total")) {
				err = fmt.Errorf("status %d, want %d; the answer is %.200s", status, c.want, text)
			}
			return err
		})
	}
	if framework.Probe("http://"+p.Metrics+"/metrics") == nil {
		t.Error("metrics are served as plain HTTP")
	}
}
