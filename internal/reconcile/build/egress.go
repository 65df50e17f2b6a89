// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

const pathEgress = "spec.networking.egress"

// privateNetworks are not allowed for names outside the cluster: the networks of pods, nodes and the site, and those of
// one link, such as the metadata service of a cloud.
var privateNetworks = [][]string{
	{"0.0.0.0/0", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"},
	{"::/0", "fc00::/7", "fe80::/10"},
}

// egress are the rules of a NetworkPolicy for what the server connects to.
type egress struct {
	rules []networkingv1.NetworkPolicyEgressRule
	// outside are the names outside the cluster, and unknown the fields with an address that the operator does not know.
	outside, unknown []string
	problems         problem.List
}

// EgressRules returns the rules for what the server connects to; none if egress is not restricted.
func (in *Inputs) EgressRules() []networkingv1.NetworkPolicyEgressRule { return in.egress().rules }

func (in *Inputs) egress() *egress {
	e := &egress{}
	n := in.CR.Spec.Networking
	if n == nil || !isRestricted(n.Egress) {
		return e
	}
	for i := range n.Egress.To { // first, so that the index of a rule is that in the NetworkPolicy
		rule, found := validation.Decode[networkingv1.NetworkPolicyEgressRule](n.Egress.To[i].Raw,
			field.NewPath("spec", "networking", "egress", "to").Index(i))
		e.rules, e.problems = append(e.rules, rule), append(e.problems, found...)
	}
	if in.ClusterAssignsUserIDs { // the pods of OpenShift's DNS listen on another port than its Service
		e.allowDNS(53, 5353)
	} else {
		e.allowDNS(53)
	}
	list := in.connections()
	for _, u := range list {
		e.allow(in, u)
	}
	e.allowVendors(in, list)
	e.addUnknown(in)
	slices.Sort(e.outside)
	e.outside = slices.Compact(e.outside)
	return e
}

func isRestricted(spec *v1alpha2.EgressSpec) bool {
	return spec != nil && ptr.Deref(spec.Mode, v1alpha2.EgressOpen) == v1alpha2.EgressProviders
}

// connections returns the addresses in the spec, those in variables, and the proxy.
func (in *Inputs) connections() []use {
	list := in.uses()
	for _, proxy := range []*string{in.proxy().HTTPProxy, in.proxy().HTTPSProxy} {
		if ptr.Deref(proxy, "") != "" {
			list = append(list, use{*proxy, pathProxy})
		}
	}
	for i, v := range in.userVariables() {
		if strings.Contains(v.Value, "://") && !strings.Contains(v.Value, "$(") {
			list = append(list, use{v.Value, fmt.Sprintf("%s.env[%d]", objects.PathOverrides, i)})
		}
	}
	return list
}

// allowVendors allows HTTPS for providers without an address: they use that of their vendor, or download models.
func (e *egress) allowVendors(in *Inputs, list []use) {
	line := in.distribution().Line
	if line == nil || in.proxyFor("https") != "" {
		return
	}
	for _, group := range in.Spec.Providers {
		for i := range group.Providers {
			p := &group.Providers[i]
			full := line.FullType(group.API.Name, p.Type)
			isKnown := func(u use) bool { return strings.HasPrefix(u.path, p.Path+".") }
			if p.Endpoint == "" && p.EndpointFrom == nil && !slices.ContainsFunc(list, isKnown) &&
				(strings.HasPrefix(full, "remote::") ||
					full == "inline::sentence-transformers" && !objects.HasModelCache(&in.CR.Spec)) {
				e.allowOutside("the service of "+p.Path, "443")
			}
		}
	}
}

// allowOutside allows a port of all addresses but private ones, for a name outside the cluster.
func (e *egress) allowOutside(name, port string) {
	var peers []networkingv1.NetworkPolicyPeer
	for _, network := range privateNetworks {
		peers = append(peers, networkingv1.NetworkPolicyPeer{
			IPBlock: &networkingv1.IPBlock{CIDR: network[0], Except: network[1:]},
		})
	}
	e.addTo(port, peers...)
	e.outside = append(e.outside, name)
}

// addUnknown adds the fields with addresses in Secrets, variables and the user's configuration.
func (e *egress) addUnknown(in *Inputs) {
	backends := storage.Backends(in.CR.Spec.Storage)
	for i := range backends {
		if backends[i].ConnectionString != nil {
			e.unknown = append(e.unknown, backends[i].Path+".connectionString")
		}
		if document.HasReference(ptr.Deref(backends[i].Endpoint, "")) {
			e.unknown = append(e.unknown, backends[i].Path+".endpoint")
		}
	}
	for _, group := range in.Spec.Providers {
		for i := range group.Providers {
			if p := &group.Providers[i]; document.HasReference(p.Endpoint) {
				e.unknown = append(e.unknown, p.EndpointPath())
			}
		}
	}
	if in.CR.Spec.OverrideConfig != nil {
		e.unknown = append(e.unknown, "spec.overrideConfig")
	}
}

// allow adds the rule for an address.
func (e *egress) allow(in *Inputs, u use) {
	host, port := u.host(), u.port()
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "" || isLocal(host):
	case err == nil:
		e.addTo(port, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{
			CIDR: netip.PrefixFrom(ip.Unmap().WithZone(""), ip.Unmap().BitLen()).String(),
		}})
	case isAPIServer(host):
		// The policy sees the address and port of a node.
		e.addTo("443")
		e.addTo("6443")
	case isInCluster(host):
		_, explicit := u.explicitPort()
		if !explicit {
			port = "" // the port of a Service is rarely that of its pods where it is the default of the scheme
		}
		e.addTo(port, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespaceOfService(host, in.CR.Namespace)},
		}})
	case in.isProxied(u, host):
	default:
		e.allowOutside(host, cmp.Or(port, "443"))
	}
}

// isProxied reports whether a proxy connects to the host in place of the server.
func (in *Inputs) isProxied(u use, host string) bool {
	scheme, _, _ := strings.Cut(u.address, "://")
	return (scheme == "http" || scheme == "https") && u.path != pathProxy && in.proxyFor(scheme) != "" &&
		!strings.HasPrefix(in.proxyFor(scheme), u.path) && !isExcepted(host, in.noProxy())
}

func isAPIServer(host string) bool {
	return slices.Contains([]string{
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, host)
}

// namespaceOfService returns the namespace in the name of a Service.
func namespaceOfService(host, own string) string {
	host = strings.TrimSuffix(strings.TrimSuffix(host, ".cluster.local"), ".svc")
	if at := strings.LastIndex(host, "."); at >= 0 {
		return host[at+1:]
	}
	return own
}

// allowDNS allows name resolution on the ports of the pods that do it.
func (e *egress) allowDNS(numbers ...int32) {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports,
			networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolUDP), Port: new(intstr.FromInt32(number))},
			networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(number))})
	}
	e.add(networkingv1.NetworkPolicyEgressRule{Ports: ports})
}

// addTo adds a rule for a TCP port, or for all ports; no peers mean all.
func (e *egress) addTo(port string, peers ...networkingv1.NetworkPolicyPeer) {
	rule := networkingv1.NetworkPolicyEgressRule{To: peers}
	if number, err := strconv.ParseUint(port, 10, 16); err == nil {
		rule.Ports = []networkingv1.NetworkPolicyPort{{
			Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(int32(number))),
		}}
	}
	e.add(rule)
}

func (e *egress) add(rule networkingv1.NetworkPolicyEgressRule) {
	if !slices.ContainsFunc(e.rules, func(known networkingv1.NetworkPolicyEgressRule) bool {
		return equality.Semantic.DeepEqual(known, rule)
	}) {
		e.rules = append(e.rules, rule)
	}
}

// checkEgress reports invalid rules, and what a NetworkPolicy cannot say.
func (r *report) checkEgress(in *Inputs) {
	e := in.egress()
	r.AddAll(e.problems)
	if n := in.CR.Spec.Networking; n != nil && n.Egress != nil && len(n.Egress.To) > 0 && !isRestricted(n.Egress) {
		r.Add(problem.Problem{
			Reason: problem.MissingField, Path: pathEgress + ".mode", Type: field.ErrorTypeRequired,
			Fix: "set it to Providers, or remove " + pathEgress + ".to, which has no effect without it",
		})
	}
	if len(e.outside) > 0 {
		r.warn(problem.Unprotected, pathEgress, "a NetworkPolicy has no host names: the ports of "+limits.Names(e.outside)+
			" are allowed to all addresses but those of private networks", "if one of them is a Service, write its name as "+
			"<name>.<namespace>.svc; if it has a private address, add that to "+pathEgress+".to")
	}
	if len(e.unknown) > 0 {
		r.warn(problem.MissingField, pathEgress+".to", "the operator does not know the addresses in "+limits.Names(e.unknown)+
			", and the server reaches them only if a rule allows it", "add a rule for each; ignore this if there is one")
	}
}

// defaultPorts are the ports of addresses that have none, by scheme.
var defaultPorts = map[string]string{
	"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "redis": "6379", "rediss": "6379",
}

// port returns the port of an address; empty if it is not known.
func (u use) port() string {
	if port, explicit := u.explicitPort(); explicit {
		return port
	}
	scheme, _, _ := strings.Cut(u.address, "://")
	return defaultPorts[scheme]
}

func (u use) explicitPort() (string, bool) {
	address := u.address
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Port() == "" {
		return "", false
	}
	return parsed.Port(), true
}

// databaseAddress returns the address of a database by its parts.
func databaseAddress(host string, port *int32) string {
	if host == "" {
		return ""
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(ptr.Deref(port, defaultDatabasePort))))
}

const defaultDatabasePort = 5432
