// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// GroupVersionKind returns the API kind of an endpoint.
func GroupVersionKind(kind parse.EndpointKind) schema.GroupVersionKind {
	switch kind {
	case parse.KindInferenceService:
		return schema.GroupVersionKind{Group: "serving.kserve.io", Version: "v1beta1", Kind: string(kind)}
	case parse.KindLLMInferenceService:
		return schema.GroupVersionKind{Group: "serving.kserve.io", Version: "v1alpha1", Kind: string(kind)}
	case parse.KindService:
	}
	return corev1.SchemeGroupVersion.WithKind("Service")
}

// Address is the address of an object.
type Address struct {
	URL string
	// Problem is the reason for an empty URL, and Fix the advice.
	Problem, Fix string
	// NotReady says that a model server is not ready yet; empty if it is or does not report it.
	NotReady string
}

// apiPath is the path of the OpenAI API on model servers.
const apiPath = "/v1"

// OfService returns the address of a Service's port: the referenced one, else the only one, else the one for HTTP.
func OfService(s *corev1.Service, ref *parse.EndpointReference) Address {
	port, missing := servicePort(s, ref.Port)
	if port == nil {
		return missing
	}
	number := port.Port
	if s.Spec.ClusterIP == corev1.ClusterIPNone { // the name resolves to the pods, which have other ports
		switch {
		case port.TargetPort.Type == intstr.String:
			return Address{
				Problem: fmt.Sprintf("is headless, and its port %s targets a named port of the pods",
					portName(port)),
				Fix: "set endpoint with the number of that port, or give the Service a cluster IP",
			}
		case port.TargetPort.IntVal != 0:
			number = port.TargetPort.IntVal
		}
	}
	return Address{URL: fmt.Sprintf("%s://%s.%s.svc:%d%s", scheme(port), s.Name, s.Namespace, number, ref.URLPath)}
}

func servicePort(s *corev1.Service, requested string) (*corev1.ServicePort, Address) {
	var names []string
	var ports []*corev1.ServicePort
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			continue
		}
		if requested != "" && (port.Name == requested || strconv.Itoa(int(port.Port)) == requested) {
			return port, Address{}
		}
		names, ports = append(names, portName(port)), append(ports, port)
	}
	switch {
	case len(ports) == 0:
		return nil, Address{Problem: "has no TCP port", Fix: "add one, or set endpoint"}
	case requested != "":
		return nil, Address{Problem: fmt.Sprintf("has no port %q", requested), Fix: "its ports are " + limits.Names(names)}
	case len(ports) == 1:
		return ports[0], Address{}
	}
	for _, name := range []string{"http", "https"} {
		if at := slices.IndexFunc(ports, func(p *corev1.ServicePort) bool { return p.Name == name }); at >= 0 {
			return ports[at], Address{}
		}
	}
	return nil, Address{Problem: "has several ports", Fix: "set port to one of them: " + limits.Names(names)}
}

// portName returns the value that refers to a port: its name, else its number.
func portName(p *corev1.ServicePort) string {
	if p.Name != "" {
		return p.Name
	}
	return strconv.Itoa(int(p.Port))
}

// scheme returns https if the port's application protocol, name or number says so, else http.
func scheme(p *corev1.ServicePort) string {
	if protocol := ptr.Deref(p.AppProtocol, ""); protocol != "" {
		if strings.EqualFold(protocol, "https") {
			return "https"
		}
		return "http"
	}
	if p.Name == "https" || strings.HasPrefix(p.Name, "https-") || p.Name == "" && p.Port == 443 {
		return "https"
	}
	return "http"
}

// OfModelServer returns the address in a KServe status in JSON, and whether the model server is ready. The address is
// gateway-internal, else internal, else one in the cluster, else address.url, with the API's path.
func OfModelServer(status []byte) Address {
	tree, excess := statusTree(status)
	if excess != nil {
		return Address{Problem: fmt.Sprintf("has a status with %v, which is not read", excess), Fix: "set endpoint"}
	}
	address := addressOf(tree)
	address.NotReady = notReady(tree)
	return address
}

func addressOf(tree map[string]any) Address {
	single, list := addresses(tree)
	named := map[string]string{}
	inCluster := ""
	for _, item := range list {
		address, _ := item.(map[string]any)
		at, _ := address["url"].(string)
		if at == "" {
			continue
		}
		name, _ := address["name"].(string)
		if named[name] == "" {
			named[name] = at
		}
		if inCluster == "" && isServiceHost(at) {
			inCluster = at
		}
	}
	var first Address
	for _, at := range []string{named["gateway-internal"], named["internal"], inCluster, single} {
		if at == "" {
			continue
		}
		address := parseAddress(at)
		if address.URL != "" {
			return address
		}
		if first == (Address{}) {
			first = address
		}
	}
	if first != (Address{}) {
		return first
	}
	return Address{Problem: "has no address inside of the cluster in its status", Fix: "the operator continues when it " +
		"has one"}
}

// serviceHost matches a Service's DNS name, with any cluster domain.
var serviceHost = regexp.MustCompile(`(?i)^([a-z0-9-]+\.[a-z0-9-]+\.svc)(\..+)?$`)

func isServiceHost(at string) bool {
	u, err := url.Parse(at)
	return err == nil && serviceHost.MatchString(u.Hostname())
}

// clusterDomain is the usual domain of a cluster.
const clusterDomain = ".cluster.local"

// safeHost returns the host and port to which the server may send its key: any with TLS, else a Service, else "".
func safeHost(u *url.URL) string {
	if u.Scheme == "https" {
		return u.Host
	}
	service := serviceHost.FindStringSubmatch(u.Hostname())
	switch {
	case service == nil:
		return ""
	case service[2] == "" || service[2] == clusterDomain:
		return u.Host
	case u.Port() != "":
		return strings.ToLower(service[1]) + ":" + u.Port()
	}
	return strings.ToLower(service[1])
}

// maxURL is the longest address in bytes.
const maxURL = 2048

// plainURL matches addresses that the server does not interpret.
var plainURL = regexp.MustCompile(`^[A-Za-z0-9._:\[\]/~%-]+$`)

// parseAddress validates an address of a status; the server would replace references to its environment.
func parseAddress(at string) Address {
	u, err := url.Parse(at)
	if err != nil || len(at) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil ||
		!plainURL.MatchString(u.Host+u.EscapedPath()) {
		return Address{Problem: "has an address in its status that is not a plain URL", Fix: "set endpoint"}
	}
	host := safeHost(u)
	if host == "" {
		return Address{
			Problem: "has an address outside of the cluster in its status, without encryption", Fix: "set endpoint if the " +
				"server may send its key there",
		}
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if !strings.HasSuffix(path, apiPath) {
		path += apiPath
	}
	return Address{URL: u.Scheme + "://" + host + path}
}

// Placeholder returns the placeholder of an address for tools without a cluster.
func Placeholder(ref *parse.EndpointReference, namespace string) string {
	if ref.Kind != parse.KindService {
		return "http://" + ref.Name + "." + namespace + "." + strings.ToLower(string(ref.Kind)) + ".invalid" + apiPath
	}
	host := ref.Name + "." + namespace + ".svc"
	if number, err := strconv.Atoi(ref.Port); err == nil {
		host += ":" + strconv.Itoa(number)
	}
	return "http://" + host + ref.URLPath
}
