// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Reasons why the manifests of an example differ.
const (
	whyDeclared = "what the variable said, config.yaml says"
	whyUnread   = "the distribution reads no such variable: it has never done anything"
	whySuffix   = "the server takes the variable as it is, an endpoint is completed by the path that the provider's API is at"
	whyModel    = "an unused variable registers no model; spec.resources does"
	whyLegacy   = "release 0.9 gives every server these variables, for a command or an image of the user's own; the images of llama-stack read none of them"
	whyMetrics  = "servers of v1alpha2 serve metrics by default, with one worker"
	whyKey      = "the distribution reads VLLM_API_TOKEN: the key of the guide's VLLM_API_KEY reaches the model server in v1alpha2 only"
)

// difference is a leaf that differs: its value in v1alpha1 and in v1alpha2 (empty if absent), and the reason.
type difference struct{ before, after, why string }

type differencesOf map[string]difference

func (d differencesOf) and(more differencesOf) differencesOf {
	sum := maps.Clone(d)
	maps.Copy(sum, more)
	return sum
}

// networkPolicies is a settings file that enables NetworkPolicies for v1alpha1 resources. They are off by default.
const networkPolicies = "testdata/migration/settings.yaml"

const (
	pod       = "Deployment/my-llsd/spec/template/"
	container = pod + "spec/containers[llama-stack]/"
	inference = "config.yaml/providers/inference"
	models    = "config.yaml/registered_resources/models"
	policy    = "NetworkPolicy/my-llsd-network-policy/spec/ingress"
)

// always returns what differs in every example with this port and number of workers.
func always(port, workers string) differencesOf {
	list := differencesOf{
		container + "env[LLS_PORT]/value":           {port, "", whyLegacy},
		container + "env[LLS_WORKERS]/value":        {workers, "", whyLegacy},
		container + "env[LLAMA_STACK_CONFIG]/value": {"/etc/llama-stack/config.yaml", "", whyLegacy},
	}
	if workers != "1" {
		return list
	}
	return list.and(differencesOf{
		container + "env[OGX_METRICS_ENDPOINT_ENABLED]/value": {"", "true", whyMetrics},
		container + "env[OGX_METRICS_HOST]/value":             {"", "0.0.0.0", whyMetrics},
		container + "env[OGX_METRICS_PORT]/value":             {"", "9464", whyMetrics},
		container + "ports[metrics]/containerPort":            {"", "9464", whyMetrics},
		container + "ports[metrics]/protocol":                 {"", "TCP", whyMetrics},
	})
}

func model(id, provider string) differencesOf {
	return differencesOf{
		models + "[" + id + "]/provider_id": {"", provider, whyModel},
		models + "[" + id + "]/model_type":  {"", "llm", whyModel},
	}
}

func ollamaAt(url string) differencesOf {
	return model("llama3.2:1b", "ollama").and(differencesOf{
		container + "env[OLLAMA_INFERENCE_MODEL]/value": {"llama3.2:1b", "", whyUnread},
		container + "env[OLLAMA_URL]/value":             {url, "", whyDeclared},
		inference + "[ollama]/config/base_url":          {url, url + "/v1", whySuffix},
	})
}

// Proves: MIG-EX, US-7.1 (both manifests give the same objects and configuration, except for the listed differences).
func TestExamplesOfTheMigrationGuideBehaveTheSame(t *testing.T) {
	const vllm, keyOf = "http://vllm-service.vllm-ns.svc:8000/v1", "/valueFrom/secretKeyRef/"
	for name, test := range map[string]struct {
		settings string
		// port and workers are the values of the example; empty means the defaults.
		port, workers string
		// has lists leaves that both manifests must have.
		has map[string]string
		// differ lists all leaves that differ.
		differ differencesOf
	}{
		"ollama": {differ: ollamaAt("http://ollama-server-service.ollama-dist.svc.cluster.local:11434")},
		"vllm-with-api-key": {
			has: map[string]string{inference + "[vllm]/config/base_url": vllm},
			differ: model("meta-llama/Llama-3.2-1B", "vllm").and(differencesOf{
				container + "env[INFERENCE_MODEL]/value":              {"meta-llama/Llama-3.2-1B", "", whyUnread},
				container + "env[VLLM_URL]/value":                     {vllm, "", whyDeclared},
				container + "env[VLLM_API_KEY]" + keyOf + "name":      {"vllm-secret", "", whyUnread},
				container + "env[VLLM_API_KEY]" + keyOf + "key":       {"api-key", "", whyUnread},
				container + "env[LLSD_VLLM_API_KEY]" + keyOf + "name": {"", "vllm-secret", whyKey},
				container + "env[LLSD_VLLM_API_KEY]" + keyOf + "key":  {"", "api-key", whyKey},
				inference + "[vllm]/config/api_token":                 {"fake", "Secret vllm-secret/api-key", whyKey},
			}),
		},
		"override-config": {has: map[string]string{
			inference + "[mine]/config/base_url": "http://vllm:8000/v1",
			"config.yaml/server/port":            "8321",
		}},
		"network-policy-and-tls": {settings: networkPolicies, port: "9000", has: map[string]string{
			"ConfigMap/my-llsd-ca-bundle-*/data/ca-bundle.crt":                               framework.CACertificate,
			container + "ports[http]/containerPort":                                          "9000",
			policy + "[0]/from[2]/namespaceSelector/matchLabels/kubernetes.io/metadata.name": "monitoring",
		}, differ: differencesOf{
			policy + "[1]/from[0]/namespaceSelector/matchLabels/metrics": {"", "enabled", whyMetrics},
			policy + "[1]/ports[0]/port":                                 {"", "9464", whyMetrics},
			policy + "[1]/ports[0]/protocol":                             {"", "TCP", whyMetrics},
		}},
		"full-featured": {
			workers: "4",
			has: map[string]string{
				"HorizontalPodAutoscaler/my-llsd-hpa/spec/maxReplicas":              "10",
				"PodDisruptionBudget/my-llsd-pdb/spec/minAvailable":                 "1",
				"PersistentVolumeClaim/my-llsd-pvc/spec/resources/requests/storage": "20Gi",
				pod + "spec/serviceAccountName":                                     "custom-sa",
			},
			differ: ollamaAt("http://ollama.default.svc:11434"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := rendered(t, name, "before", test.settings), rendered(t, name, "after", test.settings)
			want := map[string][2]string{}
			for path, d := range always(cmp.Or(test.port, "8321"), cmp.Or(test.workers, "1")).and(test.differ) {
				want[path] = [2]string{d.before, d.after}
				if variable := variableIn.FindStringSubmatch(path); d.why == whyUnread && strings.Contains(before.config, "{env."+variable[1]) {
					t.Errorf("the distribution does read %s", variable[1])
				}
			}
			if diff := gocmp.Diff(want, different(before, after)); diff != "" {
				t.Errorf("v1alpha1 and v1alpha2 differ, each leaf [v1alpha1 v1alpha2] (-listed +found):\n%s", diff)
			}
			for path, value := range test.has {
				if got := [2]string{before.leaves[path], after.leaves[path]}; got != [2]string{value, value} {
					t.Errorf("%s is %q, want %s in both", path, got, value)
				}
			}
		})
	}
}

// Proves: MIG-EX, R41 (without the feature flag, only the NetworkPolicy is missing, with a warning).
func TestNetworkPolicyOfTheMigrationGuide(t *testing.T) {
	const name = "network-policy-and-tls"
	before, after := rendered(t, name, "before", ""), rendered(t, name, "after", "")
	differences := different(before, after)
	for path := range differences {
		if _, listed := always("", "1")[path]; !listed && !strings.HasPrefix(path, "NetworkPolicy/") {
			t.Errorf("%s differs: %q", path, differences[path])
		}
	}
	if len(differences) == 0 || !strings.Contains(before.warnings, "spec.network.allowedFrom: has no effect: it was written in v1alpha1") {
		t.Errorf("%d differences, v1alpha1 is told %s", len(differences), before.warnings)
	}
}

// different returns the leaves that differ, with their values in v1alpha1 and v1alpha2.
func different(before, after *tree) map[string][2]string {
	all := maps.Clone(before.leaves)
	maps.Copy(all, after.leaves)
	found := map[string][2]string{}
	for path := range all {
		if pair := [2]string{before.leaves[path], after.leaves[path]}; pair[0] != pair[1] {
			found[path] = pair
		}
	}
	return found
}

var variableIn = regexp.MustCompile(`env\[(.*?)\]`)

// tree holds the rendered result of a manifest.
type tree struct {
	leaves map[string]string
	// config is the text of config.yaml; warnings is the standard error of render.
	config, warnings string
}

// rendered renders one part of an example: its objects, and the configuration as the server reads it.
func rendered(t *testing.T, example, part, settings string) *tree {
	t.Helper()
	args := []string{
		"render", "-o", "json", "--settings", settings, "-f", "testdata/migration/config-maps.yaml",
		"-f", "../../api/v1alpha1/testdata/conversion/" + example + "/" + part + ".yaml",
	}
	r := run(t, "", args...)
	if r.code != cli.ExitOK {
		t.Fatalf("exit code %d:\n%s", r.code, r.err)
	}
	made := &tree{leaves: map[string]string{}, warnings: r.err}
	for _, item := range list(t, r.out) {
		o := item.(map[string]any)
		kind, name := o["kind"].(string), o["metadata"].(map[string]any)["name"].(string)
		if text, ok := configIn(o); ok {
			if made.config != "" {
				t.Fatal("two ConfigMaps with a configuration")
			}
			made.config = text
			continue
		}
		made.add(kind+"/"+contentHash.ReplaceAllString(name, "${1}*"), o)
	}
	if len(made.leaves) < 50 {
		t.Fatalf("only %d leaves in:\n%s", len(made.leaves), r.out)
	}
	made.addConfig(t)
	return made
}

func configIn(o map[string]any) (text string, ok bool) {
	data, _ := o["data"].(map[string]any)
	text, ok = data[names.ConfigKey].(string)
	return text, ok
}

// contentHash matches object names and values that are hashes of content.
var contentHash = regexp.MustCompile(`^(my-llsd-(?:config|ca-bundle)-)[0-9a-f]{10}$|^[0-9a-f]{64}$`)

// add adds the leaves of a value. It omits entries with an empty id, as the server does.
func (t *tree) add(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, each := range value {
			t.add(path+"/"+key, each)
		}
		if len(value) == 0 {
			t.leaves[path] = "{}"
		}
	case []any:
		for i, each := range value {
			if key, rest := keyed(i, each); key != "" {
				t.add(path+"["+key+"]", rest)
			}
		}
		if len(value) == 0 {
			t.leaves[path] = "[]"
		}
	default:
		t.leaves[path] = contentHash.ReplaceAllString(fmt.Sprint(value), "${1}*")
	}
}

// keyed returns the key of a list item, and the other fields of the item.
func keyed(i int, item any) (key string, rest any) {
	fields, ok := item.(map[string]any)
	if !ok {
		return strconv.Itoa(i), item
	}
	for _, field := range []string{"model_id", "shield_id", "provider_id", "name"} {
		if id, ok := fields[field]; ok {
			text, _ := id.(string)
			without := maps.Clone(fields)
			delete(without, field)
			return text, without
		}
	}
	return strconv.Itoa(i), item
}

// addConfig adds the effective configuration. If none is generated, it adds the one of the image.
func (t *tree) addConfig(tt *testing.T) {
	tt.Helper()
	if t.config == "" {
		t.config = imagesOwn(tt, t.leaves[container+"image"])
	}
	var parsed any
	if err := yaml.Unmarshal([]byte(placeholder.ReplaceAllStringFunc(t.config, t.resolve)), &parsed); err != nil {
		tt.Fatal(err)
	}
	t.add("config.yaml", parsed)
}

// imagesOwn returns the configuration in an image, which equals the embedded base (see tests/server).
func imagesOwn(t *testing.T, image string) string {
	t.Helper()
	for _, d := range distributions.All() {
		for _, r := range d.Releases {
			if content, ok := distributions.Base(d.Base, r.Line); ok && d.Image(r.Version) == image && d.ImageHasConfig {
				return string(content)
			}
		}
	}
	t.Fatalf("the release of %s is unknown", image)
	return ""
}

var placeholder = regexp.MustCompile(`\$\{env\.([A-Z0-9_]+)(?::([=+])([^}]*))?\}`)

// resolve returns the value that the server substitutes for a placeholder.
func (t *tree) resolve(text string) string {
	m := placeholder.FindStringSubmatch(text)
	v := container + "env[" + m[1] + "]/"
	value := t.leaves[v+"value"]
	if from := v + "valueFrom/secretKeyRef/"; t.leaves[from+"key"] != "" {
		value = "Secret " + t.leaves[from+"name"] + "/" + t.leaves[from+"key"]
	}
	switch {
	case m[2] == "=" && value == "":
		return m[3]
	case m[2] == "+" && value != "":
		return m[3]
	case m[2] == "+":
		return ""
	}
	return value
}
