// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Proves: R11, R18 (a Service's name and port become a URL; a missing port is reported with the fix).
func TestOfServiceChoosesPortAndScheme(t *testing.T) {
	for name, c := range map[string]struct {
		spec, port, path, want string
	}{
		"its only port":       {"ports: [{port: 8000}]", "", "", "http://s.ai.svc:8000"},
		"by name":             {"ports: [{name: a, port: 1}, {name: b, port: 2}]", "b", "/mcp", "http://s.ai.svc:2/mcp"},
		"by number":           {"ports: [{name: a, port: 1}, {name: b, port: 2}]", "2", "", "http://s.ai.svc:2"},
		"for HTTP":            {"ports: [{name: metrics, port: 1}, {name: http, port: 2}]", "", "", "http://s.ai.svc:2"},
		"several":             {"ports: [{name: a, port: 1}, {name: b, port: 2}]", "", "", "has several ports: set port to one of them: a, b"},
		"no such port":        {"ports: [{name: a, port: 1}]", "c", "", `has no port "c": its ports are a`},
		"no port":             {"ports: [{port: 53, protocol: UDP}]", "", "", "has no TCP port: add one, or set endpoint"},
		"HTTPS by protocol":   {"ports: [{port: 8000, appProtocol: https}]", "", "", "https://s.ai.svc:8000"},
		"HTTP by protocol":    {"ports: [{name: https, port: 443, appProtocol: http}]", "", "", "http://s.ai.svc:443"},
		"HTTPS by name":       {"ports: [{name: https-api, port: 8000}]", "", "", "https://s.ai.svc:8000"},
		"HTTPS by number":     {"ports: [{port: 443}]", "", "", "https://s.ai.svc:443"},
		"headless":            {"clusterIP: None\nports: [{port: 80, targetPort: 8080}]", "", "", "http://s.ai.svc:8080"},
		"headless, the same":  {"clusterIP: None\nports: [{port: 80}]", "", "", "http://s.ai.svc:80"},
		"headless, by a name": {"clusterIP: None\nports: [{port: 80, targetPort: web}]", "", "", "is headless, and its port 80 targets a named port of the pods"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &corev1.Service{}
			s.Name, s.Namespace = "s", "ai"
			if err := yaml.UnmarshalStrict([]byte(c.spec), &s.Spec); err != nil {
				t.Fatal(err)
			}
			same(t, endpoint.OfService(s, &parse.EndpointReference{Port: c.port, URLPath: c.path}), c.want)
		})
	}
}

// Proves: R11, R7 (status addresses have an order, and a URL that reads the server's environment does not count).
func TestOfModelServerChoosesTheAddressInsideOfTheCluster(t *testing.T) {
	const outside = "has an address outside of the cluster in its status, without encryption: set endpoint if the server may send its key there"
	for name, c := range map[string]struct{ status, want string }{
		"gateway-internal first": {
			`{address: {url: "http://d.ns.svc"}, addresses: [{url: "http://c.ns.svc"}, {name: internal, url: "http://b.ns.svc"}, {name: gateway-internal, url: "http://a.ns.svc/ns/m"}]}`,
			"http://a.ns.svc/ns/m/v1",
		},
		"internal": {
			`{address: {url: "http://d.ns.svc"}, addresses: [{url: "http://c.ns.svc"}, {name: internal, url: "https://b:8443/v1"}]}`, "https://b:8443/v1",
		},
		"inside": {
			`{address: {url: "http://d"}, addresses: [{name: gateway-external, url: "http://e.com"}, {url: "http://c.ns.svc.cluster.local/"}]}`,
			"http://c.ns.svc.cluster.local/v1",
		},
		"single":                 {`{url: "https://public.example.com", address: {url: "http://m-predictor.ns.svc.cluster.local"}}`, "http://m-predictor.ns.svc.cluster.local/v1"},
		"public alone":           {`{url: "https://public.example.com", addresses: [{name: gateway-external, url: "http://e.com"}]}`, "has no address"},
		"none yet":               {`{}`, "has no address inside of the cluster in its status: the operator continues when it has one"},
		"other types":            {`{address: [x], addresses: {a: b}}`, "has no address"},
		"reads the environment":  {`{address: {url: "http://a/${env.LLSD_VLLM_API_KEY}"}}`, "not a plain URL: set endpoint"},
		"in the host":            {`{address: {url: "http://${env.LLSD_VLLM_API_KEY}.evil"}}`, "not a plain URL"},
		"user name and password": {`{address: {url: "http://u:p@a"}}`, "not a plain URL"},
		"another scheme":         {`{address: {url: "grpc://a"}}`, "not a plain URL"},
		"query":                  {`{address: {url: "http://a.ns.svc/v1?x=y#z"}}`, "http://a.ns.svc/v1"},
		"newline":                {`{address: {url: "http://a/\nb"}}`, "not a plain URL"},
		"encoded newline":        {`{address: {url: "http://a.ns.svc/%0ab"}}`, "http://a.ns.svc/%0ab/v1"},
		"a script":               {`{address: {url: "javascript:alert(1)"}}`, "not a plain URL"},
		"a file":                 {`{address: {url: "file:///etc/passwd"}}`, "not a plain URL"},
		"runs backwards":         {`{address: {url: "http://a\u202e"}}`, "not a plain URL"},
		"no host":                {`{address: {url: "http:///v1"}}`, "not a plain URL"},
		"link-local":             {`{address: {url: "http://[fe80::1]"}}`, outside},
		"metadata of a cloud":    {`{address: {url: "http://169.254.169.254/latest"}}`, outside},
		"a private address":      {`{addresses: [{name: gateway-internal, url: "http://10.0.0.1/ns/m"}]}`, outside},
		"another host":           {`{address: {url: "http://evil.example.com"}}`, outside},
		"another host, by TLS":   {`{address: {url: "https://other.example.com"}}`, "https://other.example.com/v1"},
		"one name":               {`{address: {url: "http://evil"}}`, outside},
		"looks like a Service":   {`{address: {url: "http://m.ns.svc.evil.example.com:8080/x"}}`, "http://m.ns.svc:8080/x/v1"},
		"of another domain, TLS": {`{address: {url: "https://m.ns.svc.corp.example.com"}}`, "https://m.ns.svc.corp.example.com/v1"},
		"in capitals, with dot":  {`{address: {url: "http://M.NS.SVC.Evil.example./"}}`, "http://m.ns.svc/v1"},
		"no name of a Service":   {`{address: {url: "http://a_b.ns.svc"}}`, outside},
		"without ns":             {`{address: {url: "http://ns.svc.evil.example.com"}}`, outside},
		"the next one":           {`{address: {url: "http://m.ns.svc"}, addresses: [{name: internal, url: "http://evil.example.com"}]}`, "http://m.ns.svc/v1"},
		"no object":              {`[1]`, "has no address"},
		"deep":                   {strings.Repeat(`[`, 33) + strings.Repeat(`]`, 33), "has a status with more than 32 levels of nesting"},
		"wide":                   {`[` + strings.Repeat(`0,`, 10_000) + `0]`, "has a status with more than 10000 values, at [9999], which is not read: set endpoint"},
		"large":                  {`{a: "` + strings.Repeat("x", 256<<10) + `"}`, "has a status with more than 262144 bytes"},
		"too long":               {`{address: {url: "http://a/` + strings.Repeat("x", 3000) + `"}}`, "not a plain URL"},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := yaml.YAMLToJSON([]byte(c.status))
			if err != nil {
				t.Fatal(err)
			}
			same(t, endpoint.OfModelServer(status), c.want)
		})
	}
}

// Proves: READY-FIRST (only a condition Ready that is not True counts, and a message quotes only plain reasons).
func TestModelServerThatIsNotReady(t *testing.T) {
	for conditions, want := range map[string]string{
		`[]`: "", `x`: "", `[[1]]`: "",
		`[{type: Ready, status: "True"}]`:                                          "",
		`[{type: RoutesReady, status: "False"}]`:                                   "",
		`[{type: Ready, status: "False"}]`:                                         "is not Ready",
		`[{type: A, status: "True"}, {type: Ready, status: Unknown, reason: New}]`: "is not Ready (New)",
		`[{type: Ready, status: "False", reason: "a b"}]`:                          "is not Ready",
		`[{type: Ready, status: 1}]`:                                               "is not Ready",
	} {
		status, err := yaml.YAMLToJSON([]byte(`{address: {url: "http://m.ns.svc"}, conditions: ` + conditions + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := endpoint.OfModelServer(status); got.NotReady != want || got.URL != "http://m.ns.svc/v1" {
			t.Errorf("%s: %+v, want %q", conditions, got, want)
		}
	}
}

// same compares the URL of an address, or a part of its problem.
func same(t *testing.T, got endpoint.Address, want string) {
	t.Helper()
	if why := got.Problem + ": " + got.Fix; got.URL != want && (got.URL != "" || !strings.Contains(why, want)) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// Proves: R7, R63 (an object of the maximal stored size is decoded only in the needed parts).
func TestModelServersAreReadInPart(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := endpoint.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	const status = `{"address":{"url":"http://a"}}`
	text := []byte(`{"apiVersion":"serving.kserve.io/v1beta1","kind":"InferenceService","metadata":{"name":"a"},"spec":{"env":[` +
		strings.Repeat(`{"a":{"b":{}}},`, 100_000) + `{}]},"status":` + status + `}`)
	decode := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode
	o, _, err := decode(text, nil, nil)
	read, ok := o.(*endpoint.InferenceService)
	if err != nil || !ok || string(read.Status) != status || read.Name != "a" {
		t.Fatalf("%T %+v, %v", o, o, err)
	}
	if allocations := testing.AllocsPerRun(1, func() { _, _, _ = decode(text, nil, nil) }); allocations > 1000 {
		t.Errorf("%.0f allocations", allocations)
	}
	if made := read.DeepCopyObject().(*endpoint.InferenceService); !reflect.DeepEqual(made, read) || &made.Status[0] == &read.Status[0] {
		t.Errorf("the copy is %+v", made)
	}
}
