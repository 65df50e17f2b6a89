// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// short returns rules as "peers:ports"; "outside" are all addresses but private ones.
func short(rules []networkingv1.NetworkPolicyEgressRule) string {
	var list []string
	for _, rule := range rules {
		var peers, ports []string
		for _, peer := range rule.To {
			switch {
			case peer.IPBlock != nil && len(peer.IPBlock.Except) > 0:
				peers = append(peers, "outside")
			case peer.IPBlock != nil:
				peers = append(peers, peer.IPBlock.CIDR)
			default:
				peers = append(peers, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
			}
		}
		for _, port := range rule.Ports {
			ports = append(ports, strings.TrimPrefix(fmt.Sprintf("%s/%s", *port.Protocol, port.Port), "TCP/"))
		}
		list = append(list, strings.Join(peers, "+")+":"+strings.Join(ports, "+"))
	}
	return strings.Join(list, " ")
}

// Proves: R104.
func TestEgressIsDerivedFromTheSpec(t *testing.T) {
	const dns = ":UDP/53+53"
	const egress = "networking: {egress: {mode: Providers%s}%s}\n"
	provider := func(endpoint string) string {
		return "providers: {inference: {id: a, provider: vllm, endpoint: '" + endpoint + "'}}"
	}
	for name, c := range map[string]struct{ spec, more, proxy, want, warns string }{
		"nothing":                    {want: ""},
		"a Service":                  {spec: provider("http://vllm:8000"), want: " ai:8000"},
		"a Service without a port":   {spec: provider("http://vllm.models.svc"), want: " models:"},
		"a Service of the cluster":   {spec: provider("http://a.vllm.models.svc.cluster.local:80"), want: " models:80"},
		"an address":                 {spec: provider("http://192.0.2.1:8000"), want: " 192.0.2.1/32:8000"},
		"an IPv6 address":            {spec: provider("http://[2001:db8::1]"), want: " 2001:db8::1/128:80"},
		"the pod itself":             {spec: provider("http://localhost:8000"), want: ""},
		"a name outside":             {spec: provider("https://models.example.com"), want: " outside+outside:443", warns: "the ports of models.example.com are allowed to all addresses but those of private networks"},
		"a name outside, by a proxy": {spec: provider("https://models.example.com"), proxy: ", proxy: {httpsProxy: 'http://192.0.2.9:3128'}", want: " 192.0.2.9/32:3128"},
		"a Service beside a proxy":   {spec: provider("http://vllm:8000"), proxy: ", proxy: {httpProxy: 'http://192.0.2.9:3128'}", want: " ai:8000 192.0.2.9/32:3128"},
		"the service of a vendor":    {spec: "providers: {inference: {id: a, provider: openai, apiKey: {name: k, key: k}}}", want: " outside+outside:443", warns: "the service of spec.providers.inference"},
		"a provider in the server":   {spec: "providers: {vectorIo: {id: a, provider: faiss}}", want: ""},
		"a database":                 {spec: "storage: {sql: {type: postgres, host: db.data.svc, user: u, password: {name: k, key: k}}}", want: " data:5432"},
		"a database with a port":     {spec: "storage: {sql: {type: postgres, host: 192.0.2.1, port: 6000, user: u, password: {name: k, key: k}}}", want: " 192.0.2.1/32:6000"},
		"a connection string":        {spec: "storage: {sql: {type: postgres, connectionString: {name: k, key: k}}}", want: "", warns: "the operator does not know the addresses in spec.storage.sql.connectionString"},
		"Redis":                      {spec: "storage: {kv: {type: redis, endpoint: 'redis://redis.data.svc:6379'}}", want: " data:6379"},
		"the cluster's API server":   {spec: "auth: {provider: kubernetes}", want: " :443 :6443"},
		"an issuer":                  {spec: "auth: {provider: oauth2-token, settings: {issuer: 'http://keycloak.auth.svc:8080', audience: a, jwks: {uri: 'http://keys.auth.svc:8081'}}}", want: " auth:8080 auth:8081"},
		"a tool":                     {spec: "resources: {tools: [{name: 'mcp::a', endpoint: 'http://mcp.tools.svc:9000/mcp'}]}", want: " tools:9000"},
		"a variable":                 {spec: "workload: {overrides: {env: [{name: VLLM_URL, value: 'http://vllm.models.svc:8000/v1'}]}}", want: " models:8000"},
		"the same twice":             {spec: "providers: {inference: [{id: a, provider: vllm, endpoint: 'http://a:1'}, {id: b, provider: vllm, endpoint: 'http://b:1'}]}", want: " ai:1"},
		"a further rule":             {more: ", to: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 443, protocol: TCP}]}]", want: " 10.0.0.0/8:443"},
	} {
		in := inputsOf(t, "distribution: {name: starter}\n"+fmt.Sprintf(egress, c.more, c.proxy)+c.spec, "")
		refreshPods(in)
		want := dns + c.want
		if c.more != "" {
			want = strings.TrimPrefix(c.want, " ") + " " + dns
		}
		if diff := cmp.Diff(want, short(in.EgressRules())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		r := &report{}
		r.checkEgress(in)
		if got := r.List(); (len(got) > 0) != (c.warns != "") || !strings.Contains(got.Message(), c.warns) || got.HasErrors() {
			t.Errorf("%s: %s", name, got.Message())
		}
	}
	open := inputsOf(t, "distribution: {name: starter}\nnetworking: {egress: {mode: Open}}\n"+provider("http://vllm:8000"), "")
	if got := open.EgressRules(); got != nil {
		t.Errorf("open: %s", short(got))
	}
	refreshPods(open)
	open.CR.Spec.Networking.Egress.Mode = new(v1alpha2.EgressProviders)
	open.ClusterAssignsUserIDs = true
	if got := short(open.EgressRules()); got != ":UDP/53+53+UDP/5353+5353 ai:8000" {
		t.Errorf("OpenShift: %s", got)
	}
	unsaid := inputsOf(t, "distribution: {name: starter}\nnetworking: {egress: {to: [{}]}}", "")
	if _, faults := buildWith(t.Context(), unsaid); !strings.HasPrefix(faults.Message(), "spec.networking.egress.mode: Required value: set it to Providers") {
		t.Errorf("rules without a mode: %s", faults.Message())
	}
	wrong := inputsOf(t, "distribution: {name: starter}\n"+fmt.Sprintf(egress, ", to: [{from: []}, {ports: 1}]", ""), "")
	if _, faults := buildWith(t.Context(), wrong); !strings.HasPrefix(faults.Message(), "spec.networking.egress.to[0].from: ") ||
		!strings.Contains(faults.Message(), "spec.networking.egress.to[1]: ") || !faults.Has(problem.Terminal) {
		t.Errorf("wrong rules: %s", faults.Message())
	}
}
