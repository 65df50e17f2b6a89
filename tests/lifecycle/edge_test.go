// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// moduleDir returns the source folder of a Go module, in the version that the operator requires.
func moduleDir(t testing.TB, module string) string {
	t.Helper()
	return framework.Output(t, time.Minute, nil, "go", "-C", framework.Root(), "list", "-m", "-f", "{{.Dir}}", module)
}

// routeStatus, httpRouteStatus and ingressStatus are written by OpenShift's router, an implementation of the Gateway
// API and an ingress controller.
const (
	routeStatus = `{"status":{"ingress":[{"host":"s-route-ai.apps.example.com","routerName":"default",
		"conditions":[{"type":"Admitted","status":"True"}]}]}}`
	httpRouteStatus = `{"status":{"parents":[{"controllerName":"example.com/gateway","parentRef":{"name":"public","namespace":"gateways"},"conditions":[
		{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1},
		{"type":"ResolvedRefs","status":"True","reason":"ResolvedRefs","message":"","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}]}]}}`
	ingressStatus = `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`
)

const gateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: gateways}, spec: {gatewayClassName: example,
  listeners: [{name: https, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: public}]}}]}}`

// The API server has the real CRDs of OpenShift and of the Gateway API. There is no data plane: the test writes the
// status that it would write.
//
// Proves: FR-064, FR-065, US-5.1, US-5.2, R61, R62, L-19.
func TestEdgeFollowsTheSettingWithStatusWrittenByTheTest(t *testing.T) {
	t.Parallel()
	s := installed(t)
	s.Kubectl("apply", "-f", filepath.Join(moduleDir(t, "github.com/openshift/api"), "route", "v1", "zz_generated.crd-manifests", "routes.crd.yaml"))
	s.established("crd/routes.route.openshift.io")
	s.installGatewayAPI()
	for _, namespace := range []string{"gateways", "ai"} {
		s.Kubectl("create", "namespace", namespace)
	}
	framework.StartFakeKubelet(t, s.Client, "ai")
	s.Apply(gateway)
	p := s.start(buildManager(t))

	s.Apply(framework.Manifest("s", "distribution: {name: starter}\nnetworking: {expose: true, allowedFrom: {namespaces: [clients]}}"), "-n", "ai")
	s.waitEdge("route/s-route", "Route s-route: no router has admitted it")
	s.admit("route/s-route", routeStatus)
	s.waitURL("https://s-route-ai.apps.example.com")
	s.editRoute()

	s.edge(`{kind: HTTPRoute, domain: example.com, gateway: {name: public, namespace: gateways}}`)
	s.waitEdge("httproute/s-httproute", "HTTPRoute s-httproute: Gateway gateways/public has not admitted it")
	s.admit("httproute/s-httproute", httpRouteStatus)
	s.waitURL("https://s-ai.example.com:8443")
	if out := s.Kubectl("get", "networkpolicy", "s-network-policy", "-n", "ai", "-o", "yaml"); !strings.Contains(out, "kubernetes.io/metadata.name: gateways") {
		t.Errorf("the Gateway's namespace is not let in:\n%s", out)
	}
	s.editHTTPRoute()

	s.edge(`{kind: Ingress, domain: example.com, ingressClassName: nginx, tlsSecretName: "{name}-tls", annotations: {example.com/a: b}}`)
	s.waitEdge("ingress/s-ingress", "Ingress s-ingress has no address: no ingress controller of class nginx has admitted it")
	s.admit("ingress/s-ingress", ingressStatus)
	s.waitURL("https://s-ai.example.com")

	s.networking(`{"expose":{"hostname":"llama.example.com"}}`)
	s.waitURL("https://llama.example.com")

	s.Apply(framework.Manifest("t", "distribution: {name: starter}\nnetworking: {expose: {hostname: llama.example.com}}"), "-n", "ai")
	taken := "the older LlamaStackDistribution ai/s uses the host name llama.example.com, too"
	s.waitMessage("t", "ConfigGenerated", func(message string) bool { return strings.Contains(message, taken) })
	s.networking(`{"expose":{"hostname":"other.example.com"}}`)
	s.waitMessage("t", "ConfigGenerated", func(message string) bool { return message != "" && !strings.Contains(message, taken) })
	s.Kubectl("delete", "llsd", "t", "-n", "ai", "--cascade=foreground")

	s.edge(`{kind: None}`)
	s.waitEdge("", "")
	p.Terminate(t)
	s.nothingWasDenied()
}

// installGatewayAPI installs the CRDs of the Gateway API that a server needs. The others need a newer Kubernetes than the
// operator.
func (s *controlPlane) installGatewayAPI() {
	s.T.Helper()
	for _, kind := range []string{"gatewayclasses", "gateways", "httproutes"} {
		s.Kubectl("apply", "--server-side", "-f", filepath.Join(moduleDir(s.T, "sigs.k8s.io/gateway-api"), "config", "crd", "standard", "gateway.networking.k8s.io_"+kind+".yaml"))
	}
	s.established("crd/httproutes.gateway.networking.k8s.io", "crd/gateways.gateway.networking.k8s.io")
}

// editRoute edits an admitted Route and its inputs: a Route has no URL until the router admits its current form, and
// removed fields leave the object.
func (s *controlPlane) editRoute() {
	s.T.Helper()
	s.networking(`{"expose":{"hostname":"llama.example.com"}}`)
	s.waitEdge("route/s-route", "Route s-route: no router has admitted it")
	s.waitField("route/s-route", "{.spec.host}", "llama.example.com")
	s.waitURL("")
	s.admit("route/s-route", strings.ReplaceAll(routeStatus, "s-route-ai.apps.example.com", "llama.example.com"))
	s.waitURL("https://llama.example.com")

	const termination = "{.spec.tls.termination} {.spec.tls.destinationCACertificate}"
	ca := framework.NewCA(s.T)
	s.in("ai").PutTLSSecret(&suite.Canaries, "s-tls", ca.ServerSecret([]string{"s-service.ai.svc"}))
	s.networking(`{"tls":{"enabled":true,"secretName":"s-tls"}}`)
	s.waitField("route/s-route", termination, strings.TrimSpace("reencrypt "+string(ca.PEM)))
	// OpenShift's serving certificates have no CA in their Secret: the router verifies them by its own CA bundle.
	s.Kubectl("patch", "secret", "s-tls", "-n", "ai", "--type=merge", "-p", `{"data":{"ca.crt":null}}`)
	s.waitField("route/s-route", termination, "reencrypt")
	s.networking(`{"tls":null}`)
	s.waitField("route/s-route", termination, "edge")

	s.networking(`{"expose":false}`)
	s.waitEdge("", "")
	s.waitURL("")
	s.networking(`{"expose":true}`)
	s.waitEdge("route/s-route", "Route s-route: no router has admitted it")
	s.admit("route/s-route", routeStatus)
	s.waitURL("https://s-route-ai.apps.example.com")
}

func (s *controlPlane) editHTTPRoute() {
	s.T.Helper()
	s.networking(`{"expose":{"hostname":"llama.example.com"},"port":9000}`)
	s.waitEdge("httproute/s-httproute", "HTTPRoute s-httproute: Gateway gateways/public has not admitted it")
	s.waitField("httproute/s-httproute", "{.spec.hostnames} {.spec.rules[0].backendRefs[0].port}", `["llama.example.com"] 9000`)
	s.waitURL("")
	generation := s.Kubectl("get", "httproute", "s-httproute", "-n", "ai", "-o", "jsonpath={.metadata.generation}")
	s.admit("httproute/s-httproute", strings.ReplaceAll(httpRouteStatus, `"observedGeneration":1`, `"observedGeneration":`+strings.TrimSpace(generation)))
	s.waitURL("https://llama.example.com:8443")

	s.networking(`{"expose":false,"port":null}`)
	s.waitEdge("", "")
	s.waitURL("")
	s.networking(`{"expose":true}`)
}

func (s *controlPlane) networking(patch string) {
	s.T.Helper()
	s.Kubectl("patch", "llsd", "s", "-n", "ai", "--type=merge", "-p", `{"spec":{"networking":`+patch+`}}`)
}

// edgeKinds has the kinds that this test waits for, by their names in kubectl.
var edgeKinds = map[string]schema.GroupVersionKind{
	"llsd":      v1alpha2.GroupVersion.WithKind(v1alpha2.Kind),
	"route":     {Group: "route.openshift.io", Version: "v1", Kind: "Route"},
	"httproute": {Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
	"ingress":   {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
}

// value returns the output of "kubectl get -o jsonpath=PATH" without running kubectl, because waits call it often.
func (s *controlPlane) value(object, path string) (string, error) {
	kind, name, _ := strings.Cut(object, "/")
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(edgeKinds[kind])
	if err := s.Client.Get(s.T.Context(), client.ObjectKey{Namespace: "ai", Name: name}, u); err != nil {
		return "", err
	}
	template := jsonpath.New(object).AllowMissingKeys(true)
	if err := template.Parse(path); err != nil {
		return "", err
	}
	var text strings.Builder
	err := template.Execute(&text, u.Object)
	return strings.TrimSpace(text.String()), err
}

func (s *controlPlane) waitField(object, path, want string) {
	s.T.Helper()
	s.Eventually(object+" has "+path, func() error {
		got, err := s.value(object, path)
		if err == nil && got != want {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	})
}

func (s *controlPlane) edge(value string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: llama-stack-operator-config, namespace: %s}, data: {edge: %q}}",
		framework.OperatorNamespace, value))
}

// admit writes the status that a router, gateway or ingress controller would write.
func (s *controlPlane) admit(object, status string) {
	s.T.Helper()
	s.Kubectl("patch", object, "-n", "ai", "--subresource=status", "--type=merge", "-p", status)
}

// waitEdge waits until only this object exposes the server, and Ready reports what it waits for.
func (s *controlPlane) waitEdge(object, pending string) {
	s.T.Helper()
	s.Eventually("exposed by "+object, func() error {
		var names []string
		for _, kind := range []string{"route", "httproute", "ingress"} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(edgeKinds[kind])
			if err := s.Client.List(s.T.Context(), list, client.InNamespace("ai")); err != nil {
				return err
			}
			for i := range list.Items {
				names = append(names, kind+"/"+list.Items[i].GetName())
			}
		}
		if got := strings.Join(names, " "); got != object {
			return fmt.Errorf("exposed by %q", got)
		}
		ready, err := s.value("llsd/s", `{.status.conditions[?(@.type=="Ready")].message}`)
		if err == nil && !strings.Contains(ready, pending) {
			err = errors.New(ready)
		}
		return err
	})
}

// waitMessage waits until the message of a condition satisfies is.
func (s *controlPlane) waitMessage(name, condition string, is func(message string) bool) {
	s.T.Helper()
	s.Eventually(condition+" of "+name, func() error {
		got, err := s.value("llsd/"+name, `{.status.conditions[?(@.type=="`+condition+`")].message}`)
		if err == nil && !is(got) {
			err = errors.New(got)
		}
		return err
	})
}

func (s *controlPlane) waitURL(want string) {
	s.T.Helper()
	s.waitField("llsd/s", "{.status.routeURL}", want)
}

// nothingWasDenied fails the test if the API server denied requests of the operator.
func (s *controlPlane) nothingWasDenied() {
	s.T.Helper()
	made, err := s.Cluster.Requests()
	framework.NoError(s.T, err)
	for i := range made {
		if r := &made[i]; r.User == framework.OperatorUser && r.Denied() {
			s.T.Errorf("denied: %s %s", r.Verb, r.Path)
		}
	}
}
