// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func spec(version, name, text string, want ...string) input {
	return input{name: name, want: want, send: func(t *testing.T, w *world) (string, error) {
		id := identifier(name)
		return w.send(t, version, namespace, id, resource(version, id, text))
	}}
}

// identifier returns a resource name for the name of an input.
func identifier(name string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim("h-"+id[:min(len(id), 50)], "-")
}

// bound has the rejections of 25,000 members and of many levels in an open field. The policy comes first, knows the
// fields of a provider and of an item, and rejects them by name at any depth.
type bound struct{ wide, deep string }

var (
	byPolicy  = bound{"at most 100 fields", "ValidatingAdmissionPolicy"}
	byWebhook = bound{"20000 values", "64 levels"}
)

// around is the number of levels around the settings of a provider: the object, its spec, the providers and the
// provider.
const around = 4

// openFields are the fields of a v1alpha2 spec that take any JSON, in place of #.
var openFields = []struct {
	name, text string
	by         bound
}{
	{"providers.inference settings", `"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000","settings":#}}`, byWebhook},
	{"providers.safety settings", `"providers":{"safety":{"provider":"llama-guard","settings":#}}`, byWebhook},
	{"providers.vectorIo settings", `"providers":{"vectorIo":{"provider":"faiss","settings":#}}`, byWebhook},
	{"providers.toolRuntime settings", `"providers":{"toolRuntime":{"provider":"rag-runtime","settings":#}}`, byWebhook},
	{"providers.telemetry settings", `"providers":{"telemetry":{"provider":"meta-reference","settings":#}}`, byWebhook},
	{"providers.inference itself", `"providers":{"inference":#}`, byPolicy},
	{"model metadata", `"resources":{"models":[{"name":"m","metadata":#}]}`, byWebhook},
	{"models item", `"resources":{"models":[#]}`, byPolicy},
	{"tools item", `"resources":{"tools":[#]}`, byPolicy},
	{"shields item", `"resources":{"shields":[#]}`, byPolicy},
	{"externalProviders", `"externalProviders":#`, byWebhook},
	{"auth settings", `"auth":{"provider":"custom","settings":#}`, byWebhook},
	{"auth rule", `"auth":{"accessPolicy":[#]}`, byWebhook},
	{"auth route rule", `"auth":{"routePolicy":[#]}`, byWebhook},
	{"auth secretRefs", `"auth":{"provider":"api-key","secretRefs":#}`, byWebhook},
	{"auth tenancy", `"auth":{"tenancy":#}`, byWebhook},
	{"networking.expose", `"networking":{"expose":#}`, bound{byPolicy.wide, byWebhook.deep}},
}

// storeWithoutWebhooks stores resources while no operator and no webhook runs, and returns inputs that wait for the
// verdict of the operator that starts later.
func (w *world) storeWithoutWebhooks(t *testing.T) []input {
	t.Helper()
	kubectl := w.in(t, metav1.NamespaceDefault).Kubectl
	kubectl("delete", "validatingwebhookconfiguration", certificates.ValidationName)
	defer kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	var stored []input
	put := func(name, text, want string) {
		id := identifier("stored " + name)
		framework.Eventually(t, 5*time.Minute, name, func() error { // the API server itself takes seconds for some
			denied, err := w.store(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter+","+text))
			if denied != "" && !strings.Contains(denied, "already exists") {
				err = errors.Join(err, errors.New(denied))
			}
			return err
		})
		stored = append(stored, input{name: name, want: []string{want}, send: func(t *testing.T, w *world) (string, error) {
			return w.verdict(t.Context(), namespace, id)
		}})
	}
	put("1000 levels by 30000 leaves", `"providers":{"inference":`+vllm(nest(1000, list(30000, "0")))+`}`, "64 levels")
	for _, levels := range storedLevels {
		put(strconv.Itoa(levels)+" levels", `"providers":{"inference":`+vllm(nest(levels-around, "0"))+`}`, "64 levels")
	}
	return append(stored, readInV1alpha1()...)
}

// storedLevels are the depths of stored objects. Deeper ones, which only the webhooks prevent, exceed the limit of all
// clients for lists, and partly that of the API server, because of the managed fields.
var storedLevels = []int{9_980, 9_990, 9_993}

// readInV1alpha1 are requests for the stored objects, which the operator must convert.
func readInV1alpha1() []input {
	request := func(name, query string, complain func(answer []byte) error) input {
		return input{name: name, want: []string{"200"}, send: func(t *testing.T, w *world) (string, error) {
			code, answer, err := w.ask(t.Context(), http.MethodGet, strings.TrimSuffix(resourcePath("v1alpha1", namespace, ""), "/")+query, nil)
			if err != nil || code != http.StatusOK {
				return denial(code, answer), err
			}
			return fmt.Sprintf("%d, %d KiB", code, len(answer)>>10), complain(answer)
		}}
	}
	all := []input{
		request("a list of them in v1alpha1", "", func(answer []byte) error { return everyDeepOne(answer, `"kind":"LlamaStackDistribution"`) }),
		request("a watch of them in v1alpha1", "?watch=true&resourceVersion=0&timeoutSeconds=5", func(answer []byte) error {
			if bytes.Contains(answer, []byte(`{"type":"ERROR"`)) {
				return fmt.Errorf("the watch failed: %.2000s", answer)
			}
			return everyDeepOne(answer, `{"type":"ADDED"`)
		}),
	}
	for _, levels := range storedLevels {
		name := strconv.Itoa(levels) + " levels"
		all = append(all, request(name+" in v1alpha1", "/"+identifier("stored "+name), func([]byte) error { return nil }))
	}
	return all
}

// everyDeepOne returns an error if a deep object, or an object's prefix mark, is missing in the answer.
func everyDeepOne(answer []byte, mark string) error {
	for _, levels := range storedLevels {
		if name := identifier("stored " + strconv.Itoa(levels) + " levels"); !bytes.Contains(answer, []byte(`"name":"`+name+`"`)) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if n := bytes.Count(answer, []byte(mark)); n < 4 {
		return fmt.Errorf("%d objects", n)
	}
	return nil
}

func nestingInputs() (all []input) {
	for _, field := range openFields {
		put := func(json string) string { return starter + "," + strings.Replace(field.text, "#", json, 1) }
		all = append(all,
			spec("v1alpha2", field.name+" 1000 levels by 30000 leaves", put(nest(1000, list(30000, "0"))), field.by.deep),
			spec("v1alpha2", field.name+" 100 levels", put(nest(100, "0")), field.by.deep),
			spec("v1alpha2", field.name+" 25000 members", put(object(25000, `"k#":0`)), field.by.wide),
		)
	}
	return all
}

// deepest are depths of whole objects around the API server's limit of 10,000 levels, of which a list needs two. The
// API server computes their managed fields for seconds.
var deepest = []int{9_994, 9_999, 10_000}

// depthInputs are objects of the maximum depth. None is stored: in one namespace the operator's webhook rejects them,
// in the other the policy for operators without webhooks.
func depthInputs() (all []input) {
	in := func(namespace, name, settings, want string) {
		name += " in " + namespace
		all = append(all, input{name: name, want: []string{want + "|exceeded max depth"}, send: func(t *testing.T, w *world) (denied string, err error) {
			id := identifier(name)
			err = framework.Poll(t.Context(), 5*time.Minute, func() (err error) {
				denied, err = w.store(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter+`,"providers":{"inference":`+vllm(settings)+`}`))
				if strings.HasPrefix(denied, gaveUp) { // a timeout does not show which check rejects it
					err = errors.New(denied)
				}
				return err
			})
			return denied, err
		}})
	}
	for _, by := range []struct{ namespace, refuses string }{{namespace, byWebhook.deep}, {guarded, "may nest at most 12 levels"}} {
		for _, levels := range deepest {
			in(by.namespace, strconv.Itoa(levels)+" levels", nest(levels-around, "0"), by.refuses)
		}
		in(by.namespace, "deep in what is wide", "{"+items(100, `"k#":0`)+`,"x":`+nest(9_989, "0")+"}", by.refuses)
	}
	return all
}

// volume is one of many. The API server stores some 45,000 of them, and takes 5 s for 40,000.
const volume = `{"name":"v#","emptyDir":{}}`

// Alternative results: on a busy machine, the API server takes longer for the largest resources than the request
// timeout.
const (
	gaveUp         = "denied 504"
	orSlow         = "|" + gaveUp
	acceptedOrSlow = accepted + orSlow
	tooManyItems   = "at most 1000 items" + orSlow
	tooManyOrSlow  = "100000 values" + orSlow
	byPolicyOrSlow = "ValidatingAdmissionPolicy|at most 100 items|at most 20000 values in total" + orSlow
)

func countInputs() []input {
	inference := func(n int, provider string) string { return `"providers":{"inference":` + list(n, provider) + `}` }
	return []input{
		spec("v1alpha2", "9000 models", starter+`,"resources":{"models":`+list(9000, `"a-model-with-a-rather-long-name-#"`)+`}`, "at most 1000 items"),
		spec("v1alpha2", "2000 model objects", starter+`,"resources":{"models":`+list(2000, `{"name":"m#","provider":"nobody#"}`)+`}`, "at most 1000 items"),
		spec("v1alpha2", "5000 times the same model", starter+`,"resources":{"models":`+list(5000, `"m"`)+`}`, "at most 1000 items"),
		spec("v1alpha2", "5000 tools", starter+`,"resources":{"tools":`+list(5000, `"mcp::#"`)+`}`, "at most 1000 items"),
		spec("v1alpha2", "5000 shields", starter+`,"resources":{"shields":`+list(5000, `"s#"`)+`}`, "at most 1000 items"),
		spec("v1alpha2", "5000 providers", starter+`,`+inference(5000, `{"id":"p#","provider":"vllm","endpoint":"http://a"}`), byPolicyOrSlow),
		spec("v1alpha2", "5000 providers of one id", starter+`,`+inference(5000, `{"id":"p","provider":"vllm","endpoint":"http://a"}`), byPolicyOrSlow),
		spec("v1alpha2", "5000 unknown providers", starter+`,`+inference(5000, `{"id":"p#","provider":"nobody#"}`), byPolicyOrSlow),
		spec("v1alpha2", "79 KB of disabled", starter+`,"disabled":`+list(6000, `"inferense#"`), "at most 50 items"),
		spec("v1alpha2", "10000 environment variables", starter+`,"workload":{"overrides":{"env":`+list(10000, `{"name":"N#","value":"v"}`)+`}}`, "at most 200 items"),
		spec("v1alpha2", "10000 times the same variable", starter+`,"workload":{"overrides":{"env":`+list(10000, `{"name":"N","value":"v"}`)+`}}`, "at most 200 items"),
		spec("v1alpha2", "5000 secretRefs", starter+`,"providers":{"inference":{"provider":"vllm","endpoint":"http://a","secretRefs":`+
			object(5000, `"f#":{"name":"s#","key":"k"}`)+`}}`, byPolicyOrSlow),
		spec("v1alpha2", "5000 unknown fields of a provider", starter+`,"providers":{"inference":{"provider":"vllm","endpoint":"http://a",`+items(5000, `"f#":0`)+`}}`, byPolicyOrSlow),
		spec("v1alpha2", "5000 volumes", starter+`,"workload":{"overrides":{"volumes":`+list(5000, volume)+`}}`, tooManyItems),
		spec("v1alpha2", "40000 volumes", starter+`,"workload":{"overrides":{"volumes":`+list(40000, volume)+`}}`, tooManyItems),
		spec("v1alpha2", "90000 volumes", starter+`,"workload":{"overrides":{"volumes":`+list(90000, volume)+`}}`, tooManyItems),
		spec("v1alpha2", "100000 volumes", starter+`,"workload":{"overrides":{"volumes":`+list(100000, volume)+`}}`, "Request entity too large"),
		spec("v1alpha2", "40000 volume mounts", starter+`,"workload":{"overrides":{"volumes":[`+volume+`],"volumeMounts":`+list(40000, `{"name":"v#","mountPath":"/#"}`)+`}}`, tooManyItems),
		spec("v1alpha2", "5000 namespaces allowed", starter+`,"networking":{"allowedFrom":{"namespaces":`+list(5000, `"n#"`)+`}}`, tooManyItems),
	}
}

func textInputs() []input {
	long := strings.Repeat("a", 1_000_000)
	setting := func(json string) string { return starter + `,"providers":{"inference":` + vllm(`{"x":`+json+`}`) + `}` }
	return []input{
		spec("v1alpha2", "1 MB of text in a setting", setting(`"`+long+`"`), "larger than 1000000 bytes"),
		spec("v1alpha2", "key of 1 MB", setting(`{"`+long+`":0}`), "larger than 1000000 bytes"),
		spec("v1alpha2", "provider id of 1 MB", starter+`,"providers":{"inference":[{"id":"`+long+`","provider":"vllm","endpoint":"http://a"}]}`, "spec.providers.inference[0].id"),
		spec("v1alpha2", "provider type of 1 MB", starter+`,"providers":{"inference":{"provider":"`+long+`"}}`, "spec.providers.inference.id"),
		spec("v1alpha2", "endpoint of 1 MB", starter+`,"providers":{"inference":{"provider":"vllm","endpoint":"http://`+long+`"}}`, "larger than 1000000 bytes"),
		spec("v1alpha2", "distribution name of 1 MB", `"distribution":{"name":"`+long+`"}`, "spec.distribution.name: Unsupported value"),
		spec("v1alpha2", "image of 1 MB", `"distribution":{"image":"`+long+`"}`, "spec.distribution.image: Too long"),
		spec("v1alpha2", "model name of 1 MB", starter+`,"resources":{"models":["`+long+`"]}`, "spec.resources.models[0]"),
		spec("v1alpha2", "value of a variable of 1 MB", starter+`,"workload":{"overrides":{"env":[{"name":"A","value":"`+long+`"}]}}`, acceptedOrSlow),
		spec("v1alpha2", "invalid UTF-8", setting("\"\xff\xfe\xc0\x80\""), accepted),
		spec("v1alpha2", "lone surrogate", setting(`"\ud83d"`), accepted),
		spec("v1alpha2", "NUL and control characters", setting(`"\u0000\u0001\u001b[2J\u007f\u0085"`), accepted),
		spec("v1alpha2", "text that runs backwards", starter+`,"resources":{"models":["\u202egnp.exe\u2066\u200b\ufeff"]}`, "spec.resources.models[0]"),
		spec("v1alpha2", "provider id with line breaks", starter+`,"providers":{"inference":[{"id":"a\nb\u2028c","provider":"vllm","endpoint":"http://a"}]}`, "spec.providers.inference"),
		spec("v1alpha2", "integer of 10000 digits", setting(strings.Repeat("9", 10_000)), "cannot unmarshal number"),
		spec("v1alpha2", "number beyond a float", setting("1e400"), "cannot unmarshal number"),
		spec("v1alpha2", "200000 references to the environment", setting(`"`+strings.Repeat("${env.A}", 120_000)+`"`), accepted),
		spec("v1alpha2", "nested references to the environment", setting(`"`+strings.Repeat("${env.A:=", 100_000)+`"`), accepted),
		spec("v1alpha2", "duplicate keys", setting(`{"a":0,"a":{"b":1},"a":[2]}`), accepted),
		spec("v1alpha2", "YAML in text", setting(`"!!python/object/apply:os.system [x]\n&a [*a]\n---\n..."`), accepted),
	}
}

func spokeInputs() []input {
	server := func(more string) string {
		return `"replicas":1,"server":{"distribution":{"name":"starter"},` + more + `}`
	}
	annotated := func(name, annotation string) input {
		return input{name: name, want: []string{accepted}, send: func(t *testing.T, w *world) (string, error) {
			id := identifier(name)
			return w.send(t, "v1alpha2", namespace, id, fmt.Appendf(nil,
				`{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":%q,"annotations":{"llamastack.io/conversion":%q}},"spec":{%s}}`,
				id, annotation, starter))
		}}
	}
	return []input{
		spec("v1alpha1", "10000 variables", server(`"containerSpec":{"env":`+list(10000, `{"name":"N#","value":"v"}`)+`}`), acceptedOrSlow),
		spec("v1alpha1", "distribution of 1 MB", `"replicas":1,"server":{"distribution":{"name":"`+strings.Repeat("a", 1_000_000)+`"}}`, "spec.distribution.name: Unsupported value"),
		spec("v1alpha1", "5000 volumes", server(`"podOverrides":{"volumes":`+list(5000, volume)+`}`), tooManyItems),
		spec("v1alpha1", "40000 volumes", server(`"podOverrides":{"volumes":`+list(40000, volume)+`}`), tooManyOrSlow),
		annotated("annotation of 9000 levels", nest(9000, "0")),
		annotated("annotation of 60000 members", object(20000, `"k#":0`)),
		annotated("annotation that is no JSON", strings.Repeat("[", 250_000)),
		// Above some depth, the record cannot be decoded.
		deepRecord(9_880, "64 levels"), deepRecord(9_990, accepted+"|64 levels"),
		foreignConfigMap("configuration of another namespace", `"userConfig":{"configMapName":"#","configMapNamespace":"`+bystanders+`"}`),
		foreignConfigMap("CA bundle of another namespace", `"tlsConfig":{"caBundle":{"configMapName":"#","configMapNamespace":"`+bystanders+`"}}`),
	}
}

// deepRecord is a v1alpha1 resource whose annotation has a deep value for a v1alpha2 field.
func deepRecord(levels int, want string) input {
	name := fmt.Sprintf("annotation with a field of %d levels", levels)
	return input{name: name, want: []string{want}, send: func(t *testing.T, w *world) (string, error) {
		id := identifier(name)
		record := `{"version":1,"kept":{"spec.providers":{"was":{"inference":` + nest(levels, "0") + `}}}}`
		return w.send(t, "v1alpha1", namespace, id, fmt.Appendf(nil,
			`{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":%q,"annotations":{"llamastack.io/conversion":%q}},"spec":{%s}}`,
			id, record, `"replicas":1,"server":{"distribution":{"name":"starter"}}`))
	}}
}

// foreignConfigMap is a resource that refers to a ConfigMap, named #, whose owner has not allowed that. The content
// must not get into the resource's namespace, and the answer must not reveal whether the ConfigMap exists.
func foreignConfigMap(name, reference string) input {
	return input{name: name, want: []string{"does not exist, or does not allow namespace " + namespace}, send: func(t *testing.T, w *world) (string, error) {
		const content = "version: 2 # of the platform team"
		id := identifier(name)
		w.configMap(t, bystanders, id, map[string]string{"config.yaml": content, "ca-bundle.crt": content})
		spec := `"replicas":1,"server":{"distribution":{"name":"starter"},` + strings.ReplaceAll(reference, "#", id) + `}`
		said, err := w.send(t, "v1alpha1", namespace, id, resource("v1alpha1", id, spec))
		if err == nil {
			err = w.noneHolds(t.Context(), id, content)
		}
		return said, err
	}}
}
