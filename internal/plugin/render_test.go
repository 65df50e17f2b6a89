// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// inCluster builds the objects that the operator builds in namespace default, with real Secrets.
func inCluster(t *testing.T, file, operatorSettings string) *build.Desired {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	framework.NoError(t, yaml.UnmarshalStrict([]byte(read(t, file)), cr))
	cr.Namespace, cr.UID = "default", "0e5ae6a6-0e7c-4dd2-b5a4-5b9e7a6a1c11"
	known, err := settings.Parse(operatorData(t, operatorSettings))
	framework.NoError(t, err)
	in := build.NewInputs(cr)
	in.OperatorImage = version.Image() // a released operator runs the image of its release
	in.HashKey, in.Build = secret.New([]byte(strings.Repeat("k", 32))), "1.2.3+abc"
	in.OperatorNamespace = settings.DefaultNamespace
	in.Edge, in.EdgeAPIs = known.Edge, objects.EdgeAPIs{HTTPRoute: known.Edge.Gateway != nil}
	distribution, f := known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(in, ""))
	if f != nil {
		t.Fatal(f)
	}
	in.Distribution = distribution
	uses, findings := serverconfig.SecretUses(in.Spec)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for _, use := range uses {
		value := "sk-" + use.EnvName
		if strings.HasSuffix(use.Path, ".connectionString") {
			value = "postgresql://user:password@db:5432/stack?sslmode=require"
		}
		in.Secrets = append(in.Secrets, build.SecretFact{Use: use, Value: secret.New([]byte(value))})
	}
	for _, ref := range objects.PodReferences(cr) {
		build.AddPodReference(in, ref, build.Lookup{}, map[string][]byte{"key": []byte("value")})
	}
	if in.CABundle = in.NamedCABundle(); in.CABundle != nil {
		in.CABundle.State = build.Unknown
	}
	in.CABundles = in.AllCABundles()
	for i := range in.CABundles {
		in.CABundles[i].State = build.Unknown
	}
	if in.Certificate = build.CertificateOf(cr); in.Certificate != nil {
		data := framework.NewCA(t).ServerSecret([]string{names.ServiceHost(cr.Name, cr.Namespace)})
		in.Now, in.Certificate.Lookup = time.Now(), build.LookIn(data, "tls.crt", "tls.key")
		in.Certificate.Certificate, in.Certificate.Key = data["tls.crt"], secret.New(data["tls.key"])
	}
	d, problems := build.Build(t.Context(), in)
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	return d
}

func operatorData(t *testing.T, file string) map[string]string {
	t.Helper()
	if file == "" {
		return nil
	}
	var manifest struct{ Data map[string]string }
	framework.NoError(t, yaml.Unmarshal([]byte(read(t, file)), &manifest))
	return manifest.Data
}

// Proves: FR-075, R54, R17 (the ConfigMap has the same bytes, and objects differ only in values that need the
// operator's key, its build or the API server).
func TestRenderMatchesAppliedObjects(t *testing.T) {
	cases := map[string]string{"testdata/good/in-house.yaml": "testdata/settings.yaml", "testdata/good/overrides.yaml": ""}
	for _, sample := range glob(t, samplesDir+"/v1alpha2-*.yaml") {
		cases[sample] = ""
	}
	cases[samplesDir+"/v1alpha2-canary.yaml"] = "testdata/settings-gateway.yaml"
	for file, operatorSettings := range cases {
		t.Run(stem(file), func(t *testing.T) {
			want := inCluster(t, file, operatorSettings)
			args := []string{"render", "-f", file}
			if operatorSettings != "" {
				args = append(args, "--settings", operatorSettings)
			}
			var wantConfig string
			if want.Config != nil {
				wantConfig = string(want.Config.YAML)
			}
			if diff := cmp.Diff(wantConfig, run(t, "", args...).out); diff != "" {
				t.Errorf("config.yaml (-operator +render):\n%s", diff)
			}
			got := list(t, run(t, "", append(args, "-o", "json")...).out)
			if len(got) != len(want.Objects) {
				t.Fatalf("%d objects, want %d", len(got), len(want.Objects))
			}
			for i, o := range want.Objects {
				content, err := objects.Content(o)
				framework.NoError(t, err)
				diff := differences(asJSON(t, content), got[i], "")
				if len(o.GetOwnerReferences()) > 0 && !slices.ContainsFunc(diff, onlyInCluster) {
					t.Errorf("%s: nothing reads <on-cluster>, not even the owner's uid", o.GetName())
				}
				for _, path := range diff {
					if !onlyInCluster(path) {
						t.Errorf("%s: %s differs", o.GetName(), path)
					}
				}
			}
		})
	}
}

// onlyInCluster reports whether the value at the path is known only in the cluster.
func onlyInCluster(path string) bool {
	for _, end := range []string{
		"/uid", "/" + names.AnnotationInputHash, "/" + names.AnnotationSecretsHash, "/" + names.AnnotationBuild, "/" + names.AnnotationCertificateHash,
		"/" + names.AnnotationConfigMapsHash,
		"/metadata/name", "/secretKeyRef/name", // of the derived Secret, whose name is a keyed hash
	} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return strings.Contains(path, "/data/") // of the derived Secret
}

// differences returns the paths at which two trees differ. A differing value of got must be secret.OnCluster.
func differences(want, got any, path string) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return []string{path}
		}
		var paths []string
		for key := range w {
			paths = append(paths, differences(w[key], g[key], path+"/"+key)...)
		}
		return paths
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{path}
		}
		var paths []string
		for i := range w {
			paths = append(paths, differences(w[i], g[i], path)...)
		}
		return paths
	}
	switch got {
	case want:
		return nil
	case secret.OnCluster, base64.StdEncoding.EncodeToString([]byte(secret.OnCluster)):
		return []string{path}
	}
	if text, ok := got.(string); ok && strings.HasSuffix(text, "-env-"+secret.OnCluster) {
		return []string{path}
	}
	return []string{path + ": neither equal nor " + secret.OnCluster}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	framework.NoError(t, err)
	var out any
	framework.NoError(t, json.Unmarshal(text, &out))
	return out
}

func list(t *testing.T, text string) []any {
	t.Helper()
	var l struct {
		APIVersion, Kind string
		Items            []any
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil || l.Kind != "List" || l.APIVersion != "v1" {
		t.Fatalf("not a List (%v): %s", err, text)
	}
	return l.Items
}

// Proves: R54 (the output has no hash that is made without the operator's key).
func TestRenderHasNoUnkeyedHash(t *testing.T) {
	out := mustRun(t, "", "render", "-f", samplesDir+"/v1alpha2-simple.yaml", "-o", "yaml")
	for _, annotation := range []string{names.AnnotationInputHash, names.AnnotationSecretsHash, names.AnnotationBuild} {
		if !strings.Contains(out, annotation+": <on-cluster>\n") {
			t.Errorf("%s does not read <on-cluster>:\n%s", annotation, out)
		}
	}
	// The content of a ConfigMap in the cluster is unknown too.
	r := run(t, "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n"+
		"spec: {distribution: {name: starter}, overrideConfig: {configMapName: mine}}", "render", "-f", "-", "-o", "yaml")
	if !strings.Contains(r.out, names.AnnotationConfigHash+": <on-cluster>\n") {
		t.Errorf("%s does not read <on-cluster>:\n%s%s", names.AnnotationConfigHash, r.out, r.err)
	}
}

// A feature that the operator's settings forbid is an error of validate and of render.
func TestForbiddenIsAnErrorOffline(t *testing.T) {
	file := write(t, "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s}\n"+
		"spec:\n  distribution: {name: starter}\n  networking: {expose: true}\n")
	forbid := write(t, "forbid: '[ingressWithoutHostname]'\n")
	if r := run(t, "", "validate", file); r.code != 0 {
		t.Fatalf("without the setting: %s%s", r.out, r.err)
	}
	for _, args := range [][]string{{"validate", file, "--settings", forbid}, {"render", "-f", file, "--settings", forbid}} {
		r := run(t, "", args...)
		if all := r.out + r.err; r.code == 0 || !strings.Contains(all, "spec.networking.expose: Forbidden: ") || strings.Contains(all, "kind: Ingress") {
			t.Errorf("%v: exit code %d:\n%s", args, r.code, all)
		}
	}
}

// Proves: R47 (settings may be a ConfigMap manifest, its data, or standard input), R14.
func TestRenderWithSettings(t *testing.T) {
	const file = "testdata/good/in-house.yaml"
	want := mustRun(t, "", "render", "-f", file, "--settings", "testdata/settings.yaml")
	if !strings.Contains(want, "distro_name: in-house\n") || !strings.Contains(want, "base_url: http://a:8000/v1\n") {
		t.Errorf("not made from the registered base:\n%s", want)
	}
	for name, got := range map[string]string{
		"data alone":     mustRun(t, "", "render", "-f", file, "--settings", "testdata/settings-data.yaml"),
		"standard input": mustRun(t, read(t, "testdata/settings.yaml"), "render", "-f", file, "--settings", "-"),
		"among others":   mustRun(t, "kind: Namespace\n---\n"+read(t, "testdata/settings.yaml"), "render", "-f", file, "--settings", "-"),
		"--base":         mustRun(t, "", "render", "-f", file, "--base", "testdata/base.yaml", "--server-version", "0.7.1"),
		"the release":    mustRun(t, "", "render", "-f", file, "--settings", "testdata/settings.yaml", "--server-version", "0.7.1"),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-manifest +got):\n%s", name, diff)
		}
	}
	if env := mustRun(t, "", "render", "-f", file, "-o", "yaml", "--base", "testdata/base.yaml", "--server-version", "0.7"); !strings.Contains(env, "image: <on-cluster>\n") {
		t.Errorf("the image of a name that only the cluster knows is not <on-cluster>:\n%s", env)
	}
}

// Proves: R14, R28 (the flags describe an unknown image; naming the resolved release changes nothing).
func TestRenderFlagsDescribeUnknownImage(t *testing.T) {
	out := mustRun(t, "", "render", "-f", "testdata/bad/unknown-image.yaml", "--base", "testdata/base.yaml", "--server-version", "0.7.1")
	if !strings.Contains(out, "# Base configuration: registry.example.com/own:nightly\n") || !strings.Contains(out, "base_url: http://a:8000/v1\n") {
		t.Errorf("not made from the given base:\n%s", out)
	}
	for _, sample := range []string{"v1alpha2-simple.yaml", "v1alpha2-multi-provider.yaml"} {
		file := filepath.Join(samplesDir, sample)
		if diff := cmp.Diff(mustRun(t, "", "render", "-f", file), mustRun(t, "", "render", "-f", file, "--server-version", catalog.Newest())); diff != "" {
			t.Errorf("%s: naming the release that it has anyway changes the configuration:\n%s", sample, diff)
		}
	}
}

// Proves: FR-075 (render reads lists, skips other kinds, and keeps the namespaces of resources).
func TestRenderSeveralDocuments(t *testing.T) {
	const file = "testdata/good/several.yaml"
	r := run(t, "", "render", "-f", file)
	if r.code != cli.ExitOK {
		t.Fatalf("exit code %d:\n%s", r.code, r.err)
	}
	documents := strings.Split(r.out, "---\n")
	if len(documents) != 2 || !strings.Contains(documents[0], "LlamaStackDistribution ai/first:") ||
		!strings.Contains(documents[1], "LlamaStackDistribution default/second:") {
		t.Errorf("want the configurations of ai/first and default/second:\n%s", r.out)
	}
	const notes = file + ":2: note: skipped Secret creds: not a LlamaStackDistribution\n" +
		file + ":21: note: skipped ConfigMap other: not a LlamaStackDistribution\n"
	if diff := cmp.Diff(notes, r.err); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
	if got := run(t, read(t, file), "render", "-f", "-"); got.out != r.out || got.code != cli.ExitOK {
		t.Errorf("standard input gives something else than the file (exit code %d):\n%s", got.code, cmp.Diff(r.out, got.out))
	}
	in := run(t, "", "render", "-f", file, "-o", "env")
	if !strings.Contains(in.out, "first") || !strings.Contains(in.out, "second") {
		t.Errorf("the environment does not tell whose it is:\n%s", in.out)
	}
	if got := run(t, "", "render", "-f", file, "-n", "other"); got.code != cli.ExitFailure || got.out != "" ||
		!strings.Contains(got.err, `first: metadata.namespace: Invalid value: "ai": does not match --namespace other`) {
		t.Errorf("two namespaces at once: exit code %d, %s", got.code, got.err)
	}
}

// Proves: FR-075 (the output of kubectl get renders as its manifest; --namespace applies if the file has no namespace).
func TestRenderFromTheCluster(t *testing.T) {
	sample := read(t, samplesDir+"/v1alpha2-simple.yaml")
	running := strings.Replace(sample, "  name: my-stack\n", `  name: my-stack
  namespace: ai
  uid: 0e5ae6a6-0e7c-4dd2-b5a4-5b9e7a6a1c11
  resourceVersion: "12"
  generation: 3
  creationTimestamp: "2026-01-02T03:04:05Z"
  managedFields: [{manager: kubectl, operation: Apply, apiVersion: llamastack.io/v1alpha2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]
`, 1) + "status:\n  phase: Ready\n"
	want := mustRun(t, sample, "render", "-f", "-", "-n", "ai")
	if diff := cmp.Diff(want, mustRun(t, running, "render", "-f", "-")); diff != "" {
		t.Errorf("(-manifest +running):\n%s", diff)
	}
	if out := mustRun(t, running, "render", "-f", "-", "-o", "yaml"); !strings.Contains(out, "uid: 0e5ae6a6-0e7c-4dd2-b5a4-5b9e7a6a1c11\n") {
		t.Errorf("the owner's uid is lost:\n%s", out)
	}
}

// Proves: FR-075 (warnings do not prevent rendering).
func TestRenderWarns(t *testing.T) {
	r := run(t, "", "render", "-f", "testdata/good/warning.yaml")
	if r.code != cli.ExitOK || r.out == "" {
		t.Errorf("exit code %d, %d bytes of configuration", r.code, len(r.out))
	}
	expect.File(t, "testdata/good/warning.want", r.err)
}

func BenchmarkRender(b *testing.B) {
	for b.Loop() {
		args := []string{"render", "-f", samplesDir + "/v1alpha2-simple.yaml"}
		if code := plugin.Run(b.Context(), args, cli.Streams{Out: io.Discard, Err: io.Discard}); code != cli.ExitOK {
			b.Fatal(code)
		}
	}
}

// Proves: R14, FR-027a, FR-027b (the labels of an image provide the release and the base).
func TestRenderWithImageLabels(t *testing.T) {
	base := "version: 2\napis: [inference]\nproviders: {inference: []}\nstorage: {backends: {}, stores: {}}\n"
	labels := `{"com.ogx.distribution.version": "1.4.0", "com.ogx.distribution.default-config": "run.yaml", "com.ogx.config.run.yaml": "` +
		base64.StdEncoding.EncodeToString([]byte(base)) + `"}`
	byImage := strings.ReplaceAll(read(t, samplesDir+"/v1alpha2-simple.yaml"), "name: starter", "image: registry.example/mine@sha256:0a1b")
	for name, json := range map[string]string{"labels": labels, "the configuration of an image": `{"config": {"Labels": ` + labels + `}}`} {
		got := mustRun(t, "", "render", "-f", write(t, byImage), "--image-labels", write(t, json))
		for _, want := range []string{
			"# Server release line: 1.4\n# Base configuration: registry.example/mine@sha256:0a1b\n", "\napis:\n- inference\nproviders:\n  inference:\n  - provider_id: vllm\n",
			"\n  insecure: true\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s:\n%s\nwant %q in it", name, got, want)
			}
		}
	}
	// --server-version overrides the label. Labels from standard input serve a name that only the cluster knows.
	got := mustRun(t, labels, "render", "-f", write(t, strings.ReplaceAll(byImage, "image: registry.example/mine@sha256:0a1b", "name: mine")),
		"--image-labels", "-", "--server-version", "0.7.3")
	if !strings.Contains(got, "# Server release line: 0.7\n# Base configuration: <on-cluster>\n") {
		t.Errorf("with --server-version:\n%s", got)
	}
	if r := run(t, "", "render", "-f", write(t, byImage), "--image-labels", write(t, "{}")); r.code != cli.ExitFailure || !strings.Contains(r.err, "missing config labels") {
		t.Errorf("without labels: %+v", r)
	}
}

// Proves: R14 (labels that the operator would not read are ignored, with a note).
func TestRenderUsesLabelsAsTheOperatorDoes(t *testing.T) {
	labels := write(t, `{"com.ogx.distribution.version": "1.4.0", "io.llamastack.config.base64": "`+
		base64.StdEncoding.EncodeToString([]byte("version: 2\napis: [inference]\nproviders: {inference: []}\n"))+`"}`)
	sample := read(t, samplesDir+"/v1alpha2-simple.yaml")
	byImage := write(t, strings.ReplaceAll(sample, "name: starter", "image: registry.example/mine:1.3.0"))
	const note = "the operator does not read the labels of this image"
	for name, c := range map[string]struct {
		file, settings string
		used           bool
	}{
		"a built-in name":        {write(t, sample), "{}", false},
		"a registered base":      {byImage, `{distributions: "mine: {image: 'registry.example/mine:1.3.0', config: 'providers: {}'}"}`, false},
		"labels are not read":    {byImage, "{registries: 'readLabels: false'}", false},
		"an image of one's own":  {byImage, "{}", true},
		"another release of one": {write(t, strings.ReplaceAll(sample, "name: starter", "image: ogxai/distribution-starter:0.7.3")), "{}", true},
	} {
		r := run(t, "", "render", "-f", c.file, "--settings", write(t, c.settings), "--image-labels", labels)
		if used := strings.Contains(r.out, "# Server release line: 1.4\n"); used != c.used || strings.Contains(r.err, note) == c.used {
			t.Errorf("%s: labels used: %t, want %t\n%s%s", name, used, c.used, r.out, r.err)
		}
	}
}

// Proves: US-7.1, R45, R53, R65 (ConfigMaps in the files are used; the content of others is <on-cluster>).
func TestRenderReadsConfigMaps(t *testing.T) {
	const resource = `
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: mine, namespace: ai}
spec:
  server:
    distribution: {name: starter}
    userConfig: {configMapName: own, configMapNamespace: shared}
    tlsConfig: {caBundle: {configMapName: trusted, configMapNamespace: shared, configMapKeys: [second]}}
---
`
	const configMaps = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: shared, annotations: {llamastack.io/allow-from: ai}}, data: {config.yaml: "version: 2\n# own\n"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: trusted, namespace: shared, annotations: {llamastack.io/allow-from: "x, ai"}}
data:
  first: "-----BEGIN CERTIFICATE-----\nMIIBfzCCASWgAwIBAgIUP0JzrEHsf2KUXEcQs4oCxV34kyowCgYIKoZIzj0EAwIw\nFDESMBAGA1UEAwwJdGVzdC1jYS0yMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5\nMDgzNTA2WjAUMRIwEAYDVQQDDAl0ZXN0LWNhLTIwWTATBgcqhkjOPQIBBggqhkjO\nPQMBBwNCAAQoGMvEWCTItUjMZ4Plou9OCSl4hoN26lV91FwB3fDKF7vhMbwV8J/M\nuqhaWH1DvlE2cjP53bCQjWLEJzgHU6CTo1MwUTAdBgNVHQ4EFgQUq62OZF+aL774\nzlIlExGhRN1TQsMwHwYDVR0jBBgwFoAUq62OZF+aL774zlIlExGhRN1TQsMwDwYD\nVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAh3k3CR4JhmgR36TFvNXp\n5r/+qNMbYRihUmnHri3OrAwCIHxJKUhXKmOQ/wLXT3VGg+5fXRJ8InI1FoU+kun2\nMISh\n-----END CERTIFICATE-----"
  second: "-----BEGIN CERTIFICATE-----\nMIIBfzCCASWgAwIBAgIUCKnz7MkJBdGqggBdeftBNEIvA3AwCgYIKoZIzj0EAwIw\nFDESMBAGA1UEAwwJdGVzdC1jYS0xMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5\nMDgzNTA2WjAUMRIwEAYDVQQDDAl0ZXN0LWNhLTEwWTATBgcqhkjOPQIBBggqhkjO\nPQMBBwNCAASDdrXDuLILdadVZPgMiGq+JS4hEMWNGC0GiN2iLwIoVswSssSTu++N\nbCVR6r5/2eyMv8EW9/goAHJOE0cSuPtqo1MwUTAdBgNVHQ4EFgQUa0Ht88OX57dg\nTStBkvny2MfdsTowHwYDVR0jBBgwFoAUa0Ht88OX57dgTStBkvny2MfdsTowDwYD\nVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA8UYsUGYlSXZNHEomVDzl\nWBzSAlWUparJGmOV/8y9i5ACIEAd5tWwU57dj4ojlZrEoAgF7HECJWb9XBndpggf\nllWu\n-----END CERTIFICATE-----"
`
	given := run(t, resource+configMaps, "render", "-f", "-", "-o", "yaml")
	for _, want := range []string{"# own", "FDESMBAGA1UEAwwJdGVzdC1jYS0xMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5"} {
		if !strings.Contains(given.out, want) {
			t.Errorf("exit code %d, %s: nothing with %q", given.code, given.err, want)
		}
	}
	if strings.Contains(given.out, "FDESMBAGA1UEAwwJdGVzdC1jYS0yMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5") {
		t.Error("an unreferenced key is trusted")
	}
	refused := run(t, resource+strings.ReplaceAll(configMaps, "allow-from", "other"), "render", "-f", "-", "-o", "yaml")
	if want := "ConfigMap trusted in namespace shared does not exist, or does not allow namespace ai to use it"; refused.code == 0 || !strings.Contains(refused.err, want) {
		t.Errorf("without consent: exit code %d, %s", refused.code, refused.err)
	}
	unknown := run(t, resource, "render", "-f", "-", "-o", "yaml")
	for _, want := range []string{"ca-bundle.crt: <on-cluster>\n", "config.yaml: <on-cluster>\n"} {
		if !strings.Contains(unknown.out, want) {
			t.Errorf("exit code %d, %s: nothing with %q", unknown.code, unknown.err, want)
		}
	}
	const want = `has no key "second": add it; its keys are first, third`
	if r := run(t, resource+strings.ReplaceAll(configMaps, "second", "third"), "render", "-f", "-"); r.code != cli.ExitFailure || !strings.Contains(r.err, want) {
		t.Errorf("without the key: exit code %d, %s", r.code, r.err)
	}
}

// Proves: R72 (references in podDefaults count for the pods, as in the cluster).
func TestRenderCountsReferencesOfPodDefaults(t *testing.T) {
	operatorSettings := filepath.Join(t.TempDir(), "settings.yaml")
	framework.WriteFile(t, operatorSettings, "podDefaults: |\n  overrides: {envFrom: [{secretRef: {name: team-keys}}]}\n")
	const stack = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\nspec: {distribution: {name: starter}}\n"
	hash := names.AnnotationSecretsHash + ": <on-cluster>\n"
	if out := mustRun(t, stack, "render", "-f", "-", "-o", "yaml"); strings.Contains(out, hash) {
		t.Errorf("without settings, the pods depend on a Secret:\n%s", out)
	}
	if out := mustRun(t, stack, "render", "-f", "-", "-o", "yaml", "--settings", operatorSettings); !strings.Contains(out, hash) {
		t.Errorf("%q is missing:\n%s", hash, out)
	}
}
