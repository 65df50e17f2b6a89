// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// contour is an ingress controller that also implements the Gateway API, and its proxy, Envoy. Both run beside the
// node, as processes of this machine.
type contour struct {
	// listener is the port in the Gateway; Envoy listens on proxy, which is listener plus listenerOffset.
	listener, proxy int
}

const (
	// edgeDomain, edgeClass, edgeSuffix and edgeNamespace are the operator's settings for exposed servers.
	edgeDomain    = "apps.example.com"
	edgeClass     = "contour"
	edgeSuffix    = "-edge"
	edgeNamespace = "forwarders"
	edgeSetting   = "{kind: Ingress, domain: " + edgeDomain + ", ingressClassName: " + edgeClass + `, tlsSecretName: "{name}` + edgeSuffix + `", namespaces: [` + edgeNamespace + "]}"
	// gatewaySetting is the setting that names the Gateway instead of the class.
	gatewayNamespace = "gateways"
	gatewaySetting   = "{kind: HTTPRoute, domain: " + edgeDomain + ", gateway: {name: public, namespace: " + gatewayNamespace + "}}"

	listenerOffset = 8000

	gatewayManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, namespace: %[1]s}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: %[2]d, allowedRoutes: {namespaces: {from: All}}}
  - name: https
    protocol: HTTPS
    port: %[3]d
    tls: {certificateRefs: [{name: public}]}
    allowedRoutes: {namespaces: {from: All}}
`
	contourConfig = `
gateway: {gatewayRef: {name: public, namespace: %s}}
network: {admin-port: %d}
`
	backendPolicy = `
apiVersion: gateway.networking.k8s.io/v1alpha3
kind: BackendTLSPolicy
metadata: {name: %[1]s}
spec:
  targetRefs: [{group: "", kind: Service, name: %[1]s}]
  validation:
    caCertificateRefs: [{group: "", kind: ConfigMap, name: %[2]s}]
    hostname: %[3]s
`
)

// edgePrograms returns the folder that tests/e2e/contour.sh prints.
func edgePrograms() (string, error) {
	dir := os.Getenv("LLSD_CONTOUR")
	if dir == "" {
		return "", errors.New(`LLSD_CONTOUR names no ingress controller: run these tests by "make test-e2e"`)
	}
	return dir, nil
}

// installEdgeTypes installs the CRDs of the Gateway API and of Contour, before the operator discovers the cluster's
// APIs.
func installEdgeTypes(ctx context.Context) error {
	dir, err := edgePrograms()
	if err != nil {
		return err
	}
	for _, file := range []string{"contour-crds.yaml", "gateway-crds.yaml"} {
		if _, err := cluster.KubectlRun(ctx, "apply", "--server-side", "-f", filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	return nil
}

// startContour runs Contour and Envoy until the test ends, and waits until Contour has admitted the stack's Ingress.
// The CA signs the Gateway's certificate.
func (s stack) startContour(t *testing.T, ca *framework.CA) *contour {
	t.Helper()
	programs, err := edgePrograms()
	framework.NoError(t, err)
	const host = "127.0.0.1"
	port := func() int { return framework.FreePort(t, host) }
	plain, xds := port(), strconv.Itoa(port())
	c := &contour{proxy: port()}
	c.listener = c.proxy - listenerOffset
	namespace(t, gatewayNamespace)
	in := stack{namespace: gatewayNamespace}
	in.in(t).PutTLSSecret(&canaries, "public", ca.ServerSecret([]string{"*." + edgeDomain}))
	in.in(t).Apply(fmt.Sprintf(gatewayManifest, gatewayNamespace, plain-listenerOffset, c.listener))
	t.Cleanup(func() {
		_, _ = cluster.KubectlRun(context.Background(), "delete", "gatewayclass/contour", "gateway/public", "-n", gatewayNamespace)
	})

	dir := t.TempDir()
	config, bootstrap := filepath.Join(dir, "contour.yaml"), filepath.Join(dir, "envoy.json")
	framework.WriteFile(t, config, fmt.Appendf(nil, contourConfig, gatewayNamespace, port()))
	program := filepath.Join(programs, "contour")
	if out, err := exec.CommandContext(t.Context(), program, "bootstrap", bootstrap, "--xds-address", host, "--xds-port", xds,
		"--admin-address", "admin.sock").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	framework.StartCommand(t, dir, program, "serve", "--kubeconfig="+cluster.Kubeconfig, "--config-path="+config, "--insecure",
		"--disable-leader-election", "--disable-feature=tlsroutes", "--disable-feature=grpcroutes", "--disable-feature=tcproutes",
		"--xds-address="+host, "--xds-port="+xds, "--http-address="+host, "--http-port="+strconv.Itoa(port()), "--health-address="+host,
		"--health-port="+strconv.Itoa(port()), "--debug-http-address="+host, "--debug-http-port="+strconv.Itoa(port()),
		"--stats-address="+host, "--stats-port="+strconv.Itoa(port()), "--envoy-service-http-address="+host, "--envoy-service-https-address="+host,
		"--ingress-class-name="+edgeClass, "--ingress-status-address=edge."+edgeDomain)
	framework.StartCommand(t, dir, filepath.Join(programs, "envoy"), "--config-path", bootstrap, "--service-cluster", "edge", "--service-node", "edge",
		"--concurrency", "1", "--disable-hot-restart", "--log-level", "warning")
	s.admitted(t)
	return c
}

// clientOf returns a client outside the cluster that trusts the CA. It connects every address to the proxy, which
// replaces the DNS record of the host and the load balancer before the Gateway.
func (c *contour) clientOf(ca *framework.CA, host string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.proxy)))
	}
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial, TLSClientConfig: ca.Trust(host)}}
}

func setEdge(t *testing.T, setting string) {
	t.Helper()
	write := func(value string) error {
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = framework.OperatorNamespace, settings.ConfigMapName
		if err := kube.Get(context.Background(), client.ObjectKeyFromObject(cm), cm); err != nil {
			return err
		}
		cm.Data[settings.KeyEdge] = value
		return kube.Update(context.Background(), cm)
	}
	framework.NoError(t, write(setting))
	t.Cleanup(func() {
		if err := write(edgeSetting); err != nil {
			t.Error(err)
		}
	})
}

func (s stack) exposedHost() string { return s.name + "-" + s.namespace + "." + edgeDomain }

// reachedThroughIngress checks that the exposed server has a URL only once the ingress controller has admitted the
// Ingress, and that a chat completion through the URL reaches the model.
func (s stack) reachedThroughIngress(t *testing.T, ca *framework.CA) *contour {
	t.Helper()
	s.in(t).PutTLSSecret(&canaries, s.name+edgeSuffix, ca.ServerSecret([]string{s.exposedHost()}))
	s.waitsForEdge(t, "no ingress controller of class "+edgeClass+" has admitted it")
	c := s.startContour(t, ca)
	s.reachedAt(t, c.clientOf(ca, s.exposedHost()), "https://"+s.exposedHost())
	return c
}

// admitted waits until the ingress controller has admitted the Ingress. Contour drops status updates until its status
// writer has started and does not retry them, so each attempt changes the Ingress.
func (s stack) admitted(t *testing.T) {
	t.Helper()
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + "-ingress"}}
	changes := 0
	framework.Eventually(t, soon, "the ingress controller admits the Ingress", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress); err != nil {
			return err
		}
		if len(ingress.Status.LoadBalancer.Ingress) > 0 {
			return nil
		}
		before := ingress.DeepCopy()
		changes++
		metav1.SetMetaDataAnnotation(&ingress.ObjectMeta, "tests.llamastack.io/change", strconv.Itoa(changes))
		return errors.Join(fmt.Errorf("it has no address after %d changes", changes), kube.Patch(t.Context(), ingress, client.MergeFrom(before)))
	})
}

// reachedThroughGateway checks that a chat completion through the HTTPRoute of a Gateway reaches the model.
func (s stack) reachedThroughGateway(t *testing.T, ca *framework.CA, c *contour) {
	t.Helper()
	setEdge(t, gatewaySetting)
	s.reachedAt(t, c.clientOf(ca, s.exposedHost()), s.gatewayURL(c))
}

func (s stack) gatewayURL(c *contour) string {
	return fmt.Sprintf("https://%s:%d", s.exposedHost(), c.listener)
}

// verifiedByGateway checks that the Gateway verifies an encrypting server as its BackendTLSPolicy says, and forwards no
// request to a server whose certificate has another name.
func (s stack) verifiedByGateway(t *testing.T, ca *framework.CA, c *contour) {
	t.Helper()
	service := s.name + "-service"
	policy := func(host string) { s.in(t).Apply(fmt.Sprintf(backendPolicy, service, tlsBundle, host)) }
	right := service + "." + s.namespace + ".svc"
	policy(right)
	s.reachedThroughGateway(t, ca, c)
	by := c.clientOf(ca, s.exposedHost())
	policy("other.example.com")
	s.answersAt(t, by, s.gatewayURL(c), http.StatusServiceUnavailable)
	policy(right)
	s.answersAt(t, by, s.gatewayURL(c), http.StatusOK)
	s.in(t).Kubectl("delete", "backendtlspolicy", service)
}

// waitsForEdge waits until the status reports why there is no URL yet.
func (s stack) waitsForEdge(t *testing.T, text string) {
	t.Helper()
	framework.Eventually(t, soon, "the status says what the URL waits for", func() error {
		cr := s.in(t).CR(s.name)
		if got := ptr.Deref(cr.Status.RouteURL, ""); got != "" {
			t.Fatalf("it is not served, and the URL is %s", got)
		}
		if got := conditions(cr); !strings.Contains(got, text) {
			return errors.New(got)
		}
		return nil
	})
}

// reachedAt waits until the status has the URL, and sends a chat completion there.
func (s stack) reachedAt(t *testing.T, by *http.Client, url string) {
	t.Helper()
	s.hasURL(t, url)
	s.answersAt(t, by, url, http.StatusOK)
	s.chatsAt(t, by, url)
}

func (s stack) hasURL(t *testing.T, url string) {
	t.Helper()
	framework.Eventually(t, soon, "the status has the URL", func() error {
		if got := ptr.Deref(s.in(t).CR(s.name).Status.RouteURL, ""); got != url {
			return fmt.Errorf("the URL is %q, want %s: %s", got, url, conditions(s.in(t).CR(s.name)))
		}
		return nil
	})
}

// answersAt waits until the URL returns the status: Envoy gets an object some time after Contour has admitted it.
func (s stack) answersAt(t *testing.T, by *http.Client, url string, want int) {
	t.Helper()
	framework.Eventually(t, soon, fmt.Sprintf("%s answers %d", url, want), func() error {
		status, answer, err := tryCallBy(t, by, http.MethodGet, url+"/v1/health", nil)
		if err != nil || status != want {
			return fmt.Errorf("status %d, %v, %s", status, err, answer) //nolint:errorlint // may be nil
		}
		return nil
	})
}
