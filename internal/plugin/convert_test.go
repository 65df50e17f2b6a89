// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: MIG-EX, MIG-ANN, R22, R53 (all documents are converted without loss; warnings have line numbers).
func TestConvert(t *testing.T) {
	const dir = "testdata/convert/"
	for from, to := range map[string]string{"v1alpha1": "v1alpha2", "v1alpha2": "v1alpha1"} {
		t.Run(from, func(t *testing.T) {
			r := run(t, "", "convert", "-f", dir+from+".yaml", "--to", to)
			if r.code != cli.ExitOK {
				t.Errorf("exit code %d", r.code)
			}
			expect.File(t, dir+from+".to-"+to, r.out)
			expect.File(t, dir+from+".warnings", r.err)

			back := run(t, r.out, "convert", "-f", "-", "--to", from)
			if from == "v1alpha1" {
				if diff := cmp.Diff(trees(t, read(t, dir+from+".yaml")), trees(t, back.out)); diff != "" {
					t.Errorf("after the way there and back (-before +after):\n%s", diff)
				}
			}
			same := run(t, "", "convert", "-f", dir+from+".yaml", "--to", from)
			if diff := cmp.Diff(trees(t, read(t, dir+from+".yaml")), trees(t, same.out)); diff != "" || same.err != "" {
				t.Errorf("converted to its own version, with %q (-before +after):\n%s", same.err, diff)
			}
		})
	}
}

// Proves: MIG-EX (the output equals the webhook's conversion).
func TestConvertExamplesOfTheMigrationGuide(t *testing.T) {
	for _, file := range glob(t, "../../api/v1alpha1/testdata/conversion/*/before.yaml") {
		r := run(t, "", "convert", "-f", file, "--to", "v1alpha2")
		want := read(t, strings.TrimSuffix(file, "before.yaml")+"converted.yaml")
		if diff := cmp.Diff(want, r.out); diff != "" || r.code != cli.ExitOK {
			t.Errorf("%s: exit code %d, %s (-want +got):\n%s", file, r.code, r.err, diff)
		}
	}
}

// Proves: FR-083, US-7.1 (validate checks the v1alpha1 resource, and render renders its v1alpha2 form).
func TestV1alpha1IsRendered(t *testing.T) {
	const file = "testdata/good/v1alpha1.yaml"
	if r := run(t, "", "validate", file); r.code != cli.ExitOK || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.out, "each pod has its own state") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
	converted := run(t, "", "convert", "-f", file, "--to", "v1alpha2").out
	for _, format := range []string{"yaml", "config", "env"} {
		got := run(t, "", "render", "-f", file, "-o", format)
		want := run(t, converted, "render", "-f", "-", "-o", format)
		if diff := cmp.Diff(want.out, got.out); diff != "" || got.code != cli.ExitOK {
			t.Errorf("%s: exit code %d, %s (-of the converted +got):\n%s", format, got.code, got.err, diff)
		}
	}
}

// Proves: MIG-EX, FR-075 (input that the API server rejects is an error, with empty output).
func TestConvertRefuses(t *testing.T) {
	for _, file := range []string{"v1alpha1-schema", "unknown-field", "v9", "no-version"} {
		file := "testdata/bad/" + file + ".yaml"
		checked := run(t, "", "validate", file)
		for _, to := range []string{"v1alpha1", "v1alpha2"} {
			r := run(t, "", "convert", "-f", file, "-f", samplesDir+"/v1alpha2-simple.yaml", "--to", to)
			if r.code != cli.ExitFailure || r.out != "" || !strings.HasPrefix(r.err, checked.out) {
				t.Errorf("%s: exit code %d, output %q, errors (-validate +convert):\n%s", file, r.code, r.out, cmp.Diff(checked.out, r.err))
			}
		}
	}
	for _, args := range [][]string{{}, {"-f", "x"}, {"-f", "x", "--to", "v2"}, {"-f", "x", "--to", "v1alpha1", "-o", "xml"}, {"-f", "-", "-f", "-", "--to", "v1alpha1"}} {
		if r := run(t, "", append([]string{"convert"}, args...)...); r.code != cli.ExitUsage {
			t.Errorf("convert %v: exit code %d: %s", args, r.code, r.err)
		}
	}
	if r := run(t, "kind: ConfigMap\n", "convert", "-f", "-", "--to", "v1alpha1"); r.code != cli.ExitFailure || r.out != "" {
		t.Errorf("nothing to convert: exit code %d, %q", r.code, r.out)
	}
}

// Proves: MIG-EX, MIG-ANN, R22, R53 (an inadmissible value converts in both directions, with a warning).
func TestConvertKeepsInadmissibleValues(t *testing.T) {
	const file = "testdata/convert/refused.yaml"
	warnings := ""
	for _, document := range strings.SplitAfter(read(t, file), "---\n") {
		own, other := "v1alpha1", "v1alpha2"
		if strings.Contains(document, own+"\nkind") == false {
			own, other = other, own
		}
		there := run(t, document, "convert", "-f", "-", "--to", other)
		back := run(t, there.out, "convert", "-f", "-", "--to", own)
		if diff := cmp.Diff(trees(t, strings.TrimSuffix(document, "---\n")), trees(t, back.out)); diff != "" || there.code != cli.ExitOK || back.code != cli.ExitOK {
			t.Errorf("exit codes %d and %d, %s%s after the way there and back (-before +after):\n%s", there.code, back.code, there.err, back.err, diff)
		}
		warnings += there.err + back.err
	}
	expect.File(t, strings.TrimSuffix(file, "yaml")+"warnings", warnings)
}

// Proves: R41, US-7.2 (the warning appears only while the feature flag is off).
func TestConvertWarnsOfNetworkPolicies(t *testing.T) {
	const old = "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: a}\n" +
		"spec: {server: {distribution: {name: starter}}, network: {allowedFrom: {namespaces: [b]}}}\n"
	file := write(t, old)
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--settings", write(t, "featureFlags: 'enableNetworkPolicy: {enabled: true}'\n")}, false}} {
		r := run(t, "", append([]string{"convert", "-f", file, "--to", "v1alpha2"}, c.args...)...)
		got := strings.Contains(r.err, "spec.network.allowedFrom: has no effect: ") &&
			strings.Contains(r.err, "write the field in v1alpha2 (kubectl apply --server-side) (in v1alpha2: spec.networking.allowedFrom)")
		if got != c.want || r.code != cli.ExitOK || (r.err == "") == c.want {
			t.Errorf("%v: exit code %d:\n%s", c.args, r.code, r.err)
		}
	}
}

// Proves: MIG-EX (one document becomes an object, several become a List).
func TestConvertAsJSON(t *testing.T) {
	one := run(t, "", "convert", "-f", "testdata/convert/v1alpha2.yaml", "--to", "v1alpha1", "-o", "json")
	if diff := cmp.Diff(trees(t, read(t, "testdata/convert/v1alpha2.to-v1alpha1")), trees(t, one.out)); diff != "" || !strings.HasPrefix(one.out, "{") {
		t.Errorf("one document (-yaml +json):\n%s", diff)
	}
	several := run(t, "", "convert", "-f", "testdata/convert/v1alpha1.yaml", "--to", "v1alpha2", "-o", "json")
	if list := trees(t, several.out); list[0]["kind"] != "List" || len(list[0]["items"].([]any)) != 3 {
		t.Errorf("several documents:\n%s", several.out)
	}
}

func trees(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for part := range strings.SplitSeq(text, "---\n") {
		var tree map[string]any
		framework.NoError(t, yaml.Unmarshal([]byte(part), &tree))
		list = append(list, tree)
	}
	return list
}

const (
	ogxVersion = "ogx.io/v1beta1"
	ownVersion = "llamastack.io/v1alpha2"
)

// Proves: R22, R98, FR-075 (what both kinds can say is converted in both directions, with exit status 0).
func TestConvertToOGXServerAndBack(t *testing.T) {
	for _, sample := range []string{"multi-provider", "simple", "redis", "postgres", "allowed-from", "openai"} {
		there := run(t, "", "convert", "-f", samplesDir+"/v1alpha2-"+sample+".yaml", "--to", ogxVersion)
		if there.code != cli.ExitOK || strings.Contains(there.err, "is lost") || !strings.Contains(there.out, "\n  resources:\n    models:\n") {
			t.Errorf("%s: exit code %d: %s\n%s", sample, there.code, there.err, there.out)
		}
		back := run(t, there.out, "convert", "-f", "-", "--to", ownVersion)
		if back.code != cli.ExitOK || strings.Contains(back.err, "is lost") {
			t.Errorf("%s: exit code %d: %s", sample, back.code, back.err)
		}
		if checked := run(t, back.out, "validate", "-f", "-"); checked.code != cli.ExitOK {
			t.Errorf("%s: after the way there and back:\n%s", sample, checked.out)
		}
	}
	r := run(t, "apiVersion: ogx.io/v1beta1\nkind: OGXServer\nmetadata: {name: a}\nspec: {distribution: {name: starter}, network: {port: 80}}\n",
		"convert", "-f", "-", "--to", ownVersion)
	if r.code != cli.ExitOK || !strings.Contains(r.err, "spec.networking.port: the API server would reject the converted resource: ") &&
		!strings.Contains(r.err, "spec.networking.port") {
		t.Errorf("a refused result: exit code %d: %s", r.code, r.err)
	}
	there := run(t, "", "convert", "-f", samplesDir+"/v1alpha2-simple.yaml", "--to", ogxVersion)
	back := run(t, there.out, "convert", "-f", "-", "--to", ownVersion)
	older := run(t, strings.Replace(there.out, ogxVersion, "ogx.io/v1alpha1", 1), "convert", "-f", "-", "--to", ownVersion)
	if older.code != cli.ExitOK || older.out != back.out {
		t.Errorf("from ogx.io/v1alpha1: exit code %d: %s\n%s", older.code, older.err, cmp.Diff(back.out, older.out))
	}
}

// Proves: R98 (a loss is an error with the path, the type of the value and the way to keep it, and nothing is printed).
func TestConvertAcceptsNoLossByItself(t *testing.T) {
	const ours = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\nspec:\n  distribution: {name: starter}\n  auth: {provider: kubernetes}\n"
	const theirs = "apiVersion: ogx.io/v1beta1\nkind: OGXServer\nmetadata: {name: a, namespace: b}\nspec:\n  distribution: {name: starter}\n" +
		"  praxisMode: {enabled: true}\n  storage:\n    backends: {one: {type: kv_postgres, host: a, user: u, password: {name: a, key: b}, caCertPath: /ca}}\n"
	const plain = "---\napiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: c}\nspec: {distribution: {name: starter}}\n"
	for _, c := range []struct {
		text, to, made string
		lost           []string
	}{
		{ours, ogxVersion, "kind: OGXServer", []string{"6: %s: a: spec.auth: is lost (object): an OGXServer has no authentication settings: configure server.auth "}},
		{theirs, ownVersion, "kind: LlamaStackDistribution", []string{
			"6: %s: a: spec.praxisMode: is lost (object): a LlamaStackDistribution has no Praxis mode: set spec.auth with provider: upstream-header, ",
			"8: %s: a: spec.storage.backends.one.caCertPath: is lost (string): a LlamaStackDistribution has no such field of a backend: ",
		}},
	} {
		file := write(t, c.text+plain)
		for _, format := range []string{"yaml", "json"} {
			refused := run(t, "", "convert", "-f", file, "--to", c.to, "-o", format)
			accepted := run(t, "", "convert", "-f", file, "--to", c.to, "-o", format, "--accept-loss")
			for _, lost := range c.lost {
				if !strings.Contains(refused.err, file+":"+fmt.Sprintf(lost, "error")) || !strings.Contains(accepted.err, file+":"+fmt.Sprintf(lost, "warning")) {
					t.Errorf("want %s, got\n%s\n%s", lost, refused.err, accepted.err)
				}
			}
			if refused.code != cli.ExitFailure || refused.out != "" || !strings.Contains(refused.err, "with --accept-loss") {
				t.Errorf("exit code %d: %s\n%s", refused.code, refused.err, refused.out)
			}
			if accepted.code != cli.ExitOK || !strings.Contains(strings.ReplaceAll(accepted.out, "\"", ""), c.made) || strings.Contains(accepted.err, "error") {
				t.Errorf("accepted: exit code %d: %s\n%s", accepted.code, accepted.err, accepted.out)
			}
		}
	}
	const invalid = "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: a}\nspec: {server: {distribution: {}}}\n"
	r := run(t, invalid, "convert", "-f", "-", "--to", ogxVersion, "--accept-loss")
	if r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, "a: spec: the API server would refuse the converted resource: needs the field distribution") ||
		strings.Contains(r.err, "--accept-loss") {
		t.Errorf("an invalid resource: exit code %d: %s\n%s", r.code, r.err, r.out)
	}
	if help := run(t, "", "convert", "--help"); !strings.Contains(help.out, "--accept-loss") || !strings.Contains(help.out, "exit status 1") {
		t.Errorf("the help does not name the flag:\n%s", help.out)
	}
}

// Proves: R22, R98, FR-075 (lost fields are reported with their line in the user's version, and listed in JSON).
func TestConvertOldVersionToOGXServer(t *testing.T) {
	file := write(t, "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: a}\nspec:\n  server:\n    distribution: {name: starter}\n"+
		"    containerSpec: {port: 9000, name: own}\n    tlsConfig: {caBundle: {configMapName: ca, configMapKeys: [x.pem, y.pem]}}\n"+
		"    userConfig: {configMapName: cm, configMapNamespace: other}\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: ca}\n")
	r := run(t, "", "convert", "-f", file, "--to", ogxVersion, "-o", "json", "--accept-loss")
	made := trees(t, r.out)[0]
	items, lost := made["items"].([]any), made["notConverted"].([]any)
	if r.code != cli.ExitOK || len(items) != 2 || items[1].(map[string]any)["kind"] != "ConfigMap" {
		t.Errorf("exit code %d: %s\nitems %v", r.code, r.err, items)
	}
	// A LlamaStackDistribution of v1alpha2 trusts one key, but an OGXServer each.
	spec := items[0].(map[string]any)["spec"].(map[string]any)
	if diff := cmp.Diff(trees(t, "{trust: {caCertificates: [{name: ca, key: x.pem}, {name: ca, key: y.pem}]}}")[0], spec["tls"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var paths []string
	for _, l := range lost {
		l := l.(map[string]any)
		paths = append(paths, fmt.Sprint(l["path"], " ", l["line"], " ", l["valueType"]))
	}
	if want := []string{"spec.server.containerSpec.name 7 string", "spec.server.userConfig 9 object"}; !slices.Equal(paths, want) ||
		strings.Contains(r.err+r.out, "annotation") {
		t.Errorf("lost: %v, want %v:\n%s%s", paths, want, r.err, r.out)
	}
}

// Proves: R41, R98 (a warning that allowedFrom starts to have an effect appears only where it had none).
func TestConvertToOGXServerWarnsOfNetworkPolicies(t *testing.T) {
	const old = "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: a}\n" +
		"spec: {server: {distribution: {name: starter}}, network: {exposeRoute: true, allowedFrom: {namespaces: [%s]}}}\n"
	const current = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n" +
		"spec: {distribution: {name: starter}, networking: {expose: true, allowedFrom: {namespaces: [b]}}}\n"
	flag := write(t, "featureFlags: 'enableNetworkPolicy: {enabled: true}'\n")
	for _, c := range []struct {
		text string
		args []string
		want bool
	}{
		{fmt.Sprintf(old, "b"), nil, true}, {fmt.Sprintf(old, "b"), []string{"--settings", flag}, false},
		{fmt.Sprintf(old, "b, '*'"), nil, false}, {fmt.Sprintf(old, ""), nil, false},
		{current, nil, false}, {current, []string{"--settings", flag}, false},
	} {
		r := run(t, c.text, append([]string{"convert", "-f", "-", "--to", ogxVersion}, c.args...)...)
		if got := strings.Contains(r.err, "spec.network.allowedFrom: has no effect here, as in release 0.9, but the operator of OGXServer enforces it: "); got != c.want || r.code != cli.ExitOK || strings.Contains(r.err, "has no effect") != c.want {
			t.Errorf("%s%v: exit code %d:\n%s", c.text, c.args, r.code, r.err)
		}
	}
	const egress = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a, namespace: own}\n" +
		"spec: {distribution: {name: starter}, providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}, networking: {egress: {mode: Providers}}}\n"
	if r := run(t, egress, "convert", "-f", "-", "--to", ogxVersion); !strings.Contains(r.out, "kubernetes.io/metadata.name: own") || r.code != cli.ExitOK {
		t.Errorf("the operator's egress rules are not written out:\n%s%s", r.out, r.err)
	}
	restricted := run(t, fmt.Sprintf(old, ""), "convert", "-f", "-", "--to", ogxVersion, "--settings", flag)
	if open := run(t, fmt.Sprintf(old, ""), "convert", "-f", "-", "--to", ogxVersion); !strings.Contains(restricted.out, "policy:\n      enabled: true\n") ||
		!strings.Contains(open.out, "policy:\n      enabled: false\n") {
		t.Errorf("the policy does not follow the feature flag:\n%s%s", restricted.out, open.out)
	}
}
