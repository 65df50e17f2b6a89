// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// ingressControllerDouble stands in for an ingress controller: it reads an Ingress with its class, Secret and Service as one does, has a real proxy,
// HAProxy, forward what the Ingress says, and reports so in the status of the Ingress. It listens on a socket in a directory of its own.
type ingressControllerDouble struct{ dir string }

const (
	// edgeDomain, edgeClass, edgeSecret and edgeNamespace are what the operator's settings say about exposed servers.
	edgeDomain    = "apps.example.com"
	edgeClass     = "haproxy"
	edgeSecret    = sampleName + "-edge"
	edgeNamespace = "forwarders"
	edgeSetting   = "{kind: Ingress, domain: " + edgeDomain + ", ingressClassName: " + edgeClass + `, tlsSecretName: "{name}-edge", namespaces: [` + edgeNamespace + "]}"

	edgeFrontend = `
defaults
  mode http
  timeout connect 30s
  timeout client 2m
  timeout server 2m
frontend edge
  bind unix@edge.sock ssl crt %[1]s/edge.pem strict-sni
  use_backend stack if { hdr(host) -i %[2]s } { path_beg %[3]s }
backend stack
  server one %[4]s`
	edgeVerify = " ssl verify required ca-file %[1]s/ca.pem sni str(%[2]s) verifyhost %[2]s"
)

// admitIngress starts the double for an Ingress. A server that encrypts is verified with the CA, which the administrator of an ingress controller gives it.
func admitIngress(t *testing.T, s stack, ca *fixture.CA) *ingressControllerDouble {
	t.Helper()
	ingress, service, secret := &networkingv1.Ingress{}, &corev1.Service{}, &corev1.Secret{}
	read := func(name string, into client.Object) {
		t.Helper()
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, into); err != nil {
			t.Fatal(err)
		}
	}
	read(s.name+"-ingress", ingress)
	if got := ptr.Deref(ingress.Spec.IngressClassName, ""); got != edgeClass || len(ingress.Spec.Rules) != 1 || len(ingress.Spec.TLS) != 1 {
		t.Fatalf("the Ingress has class %q, and its spec is %+v", got, ingress.Spec)
	}
	rule, encrypts := ingress.Spec.Rules[0], ingress.Spec.TLS[0]
	if !slices.Equal(encrypts.Hosts, []string{rule.Host}) || len(rule.HTTP.Paths) != 1 {
		t.Fatalf("the Ingress is for host %q, with TLS for %q", rule.Host, encrypts.Hosts)
	}
	path := rule.HTTP.Paths[0]
	read(encrypts.SecretName, secret)
	read(path.Backend.Service.Name, service)
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == path.Backend.Service.Port.Name })
	if i < 0 {
		t.Fatalf("the Service has no port %q", path.Backend.Service.Port.Name)
	}

	dir := t.TempDir()
	port := service.Spec.Ports[i]
	config := fmt.Sprintf(edgeFrontend, dir, rule.Host, path.Path, net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(port.Port)))
	if ptr.Deref(port.AppProtocol, "") == "https" {
		config += fmt.Sprintf(edgeVerify, dir, service.Name+"."+service.Namespace+".svc")
	}
	for name, content := range map[string][]byte{
		"edge.pem": slices.Concat(secret.Data["tls.crt"], secret.Data["tls.key"]), "ca.pem": ca.PEM, "haproxy.cfg": []byte(config + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	double := &ingressControllerDouble{dir}
	double.start(t)
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "edge." + edgeDomain}}
	if err := kube.Status().Update(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	return double
}

// start runs HAProxy until the test ends, and waits until it accepts connections.
func (d *ingressControllerDouble) start(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/haproxy")
	if err != nil {
		t.Fatal("HAProxy is not there, through which clients reach exposed servers: apt-get install haproxy")
	}
	ctx, stop := context.WithCancel(context.Background())
	var log bytes.Buffer
	proxy := exec.CommandContext(ctx, program, "-db", "-f", filepath.Join(d.dir, "haproxy.cfg"))
	proxy.Dir = d.dir // the path of a socket must be short
	proxy.Stdout, proxy.Stderr = &log, &log
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = proxy.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("the log of HAProxy:\n%s", &log)
		}
	})
	fixture.Eventually(t, soon, "HAProxy accepts connections", func() error {
		conn, err := d.dial(t.Context(), "", "")
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// dial connects to the proxy, whatever the address: it stands for the DNS record of the host.
func (d *ingressControllerDouble) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(d.dir, "edge.sock"))
}

// clientOf is a client outside of the cluster, which trusts the CA.
func (d *ingressControllerDouble) clientOf(ca *fixture.CA, host string) *http.Client {
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: d.dial, TLSClientConfig: ca.Trust(host),
	}}
}

// reachedThroughIngress makes sure that the server, which is exposed already, has a URL as soon as an ingress controller has admitted the Ingress, and
// not before, and that a chat through the URL reaches the model.
func (s stack) reachedThroughIngress(t *testing.T, ca *fixture.CA) {
	t.Helper()
	host := s.name + "-" + s.namespace + "." + edgeDomain
	s.putTLSSecret(t, edgeSecret, ca.ServerSecret([]string{host}))
	fixture.Eventually(t, soon, "the status says what the URL waits for", func() error {
		cr := s.get(t)
		if got := ptr.Deref(cr.Status.RouteURL, ""); got != "" {
			t.Fatalf("nobody has admitted the Ingress, and the URL is %s", got)
		}
		if text := conditions(cr); !strings.Contains(text, "no ingress controller of class "+edgeClass+" has admitted it") {
			return errors.New(text)
		}
		return nil
	})
	controller := admitIngress(t, s, ca)
	url := ""
	fixture.Eventually(t, soon, "the status has the URL", func() error {
		if url = ptr.Deref(s.get(t).Status.RouteURL, ""); url != "https://"+host {
			return fmt.Errorf("the URL is %q", url)
		}
		return nil
	})
	s.chatsAt(t, controller.clientOf(ca, host), url)
}
