// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/golden"
)

// wholeSample is the sample whose golden file has all objects in full.
const wholeSample = "v1alpha2-simple"

// A golden file holds the objects of a sample as YAML, with the diff of config.yaml against its base. Samples other
// than wholeSample have only the differences from it.
//
// Proves: US-2.2, NFR-001, R54 (all formats agree, and the output is deterministic).
func TestRenderSamples(t *testing.T) {
	for _, sample := range glob(t, samplesDir+"/v1alpha2-*.yaml") {
		t.Run(stem(sample), func(t *testing.T) {
			shown := map[string]string{}
			for _, format := range []string{"config", "yaml", "json", "env", "access"} {
				r := run(t, "", "render", "-f", sample, "-o", format)
				if r.code != cli.ExitOK {
					t.Fatalf("%s: exit code %d:\n%s", format, r.code, r.err)
				}
				for range 2 {
					if again := run(t, "", "render", "-f", sample, "-o", format); again != r {
						t.Fatalf("%s: another run prints something else:\n%s", format, gocmp.Diff(r.out, again.out))
					}
				}
				shown[format] = r.out
			}
			text := withDifference(t, shown["yaml"], shown["config"])
			if stem(sample) != wholeSample {
				text = againstWhole(t, text)
			}
			expect.File(t, filepath.Join("testdata", "samples", stem(sample)+".yaml"), text)
			docs := trees(t, shown["yaml"])
			if diff := gocmp.Diff(asJSON(t, docs), any(list(t, shown["json"]))); diff != "" {
				t.Errorf("the objects (-yaml +json):\n%s", diff)
			}
			if diff := gocmp.Diff(configOf(docs), shown["config"]); diff != "" {
				t.Errorf("config.yaml (-yaml +config):\n%s", diff)
			}
			if diff := gocmp.Diff(environmentOf(t, shown["json"]), rowsOf(shown["env"])); diff != "" {
				t.Errorf("the environment (-yaml +env):\n%s", diff)
			}
		})
	}
}

// Every sample and the README use a published image. Before release line 1.1, a comment about the image suffices.
//
// Proves: R90, R93.
func TestSamplesNamePublishedImages(t *testing.T) {
	readme := regexp.MustCompile("(?s)```yaml\n(apiVersion: llamastack.io.*?)```").FindStringSubmatch(read(t, "../../README.md"))
	if readme == nil {
		t.Fatal("the README has no resource")
	}
	for _, file := range append(glob(t, samplesDir+"/v1alpha2-*.yaml"), samplesDir+"/override-config.yaml", write(t, readme[1])) {
		var image string
		for _, object := range trees(t, run(t, "", "render", "-f", file, "-o", "yaml").out) {
			if object["kind"] == "Deployment" {
				containers, _, err := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
				if err != nil || len(containers) == 0 {
					t.Fatalf("%s: containers %v, %v", file, containers, err)
				}
				image = fmt.Sprint(containers[0].(map[string]any)["image"])
			}
		}
		of := distributions.Release{}
		for _, d := range distributions.All() {
			for _, r := range d.Releases {
				if d.Image(r.Version) == image {
					of = r
				}
			}
		}
		switch {
		case of.Version == "":
			t.Errorf("%s: image %q is of no known distribution", file, image)
		case of.Published:
		case catalog.Compare(of.Line, "1.1") >= 0:
			t.Errorf("%s: image %s: %s", file, image, of.Source)
		case !regexp.MustCompile(`(?m)^#.*` + regexp.QuoteMeta(image)).MatchString(read(t, file)):
			t.Errorf("%s has no comment about its image %s: %s", file, image, of.Source)
		}
	}
}

func TestEverySampleGoldenIsRead(t *testing.T) {
	for _, file := range glob(t, "testdata/samples/*") {
		if filepath.Ext(file) == ".yaml" && len(glob(t, filepath.Join(samplesDir, filepath.Base(file)))) == 1 {
			continue
		}
		if file != filepath.Join("testdata", "samples", "v1alpha2-redis.env") {
			t.Errorf("%s is read by no test: remove it", file)
		}
	}
}

// Proves: NFR-001.
func TestRenderEnvironmentTable(t *testing.T) {
	expect.File(t, "testdata/samples/v1alpha2-redis.env", run(t, "", "render", "-f", samplesDir+"/v1alpha2-redis.yaml", "-o", "env").out)
}

var madeOf = regexp.MustCompile(`(?m)^# Server release line: (\S+)\n# Base configuration: (\S+)$`)

// withDifference replaces the config.yaml in the objects by its diff against the base.
func withDifference(t *testing.T, objects, config string) string {
	t.Helper()
	if config == "" {
		return objects
	}
	match := madeOf.FindStringSubmatch(config)
	if match == nil {
		t.Fatalf("the header does not say what the configuration was made of:\n%.300s", config)
	}
	base, ok := distributions.Base(match[2], match[1])
	if !ok {
		t.Fatalf("no base %s of release line %s", match[2], match[1])
	}
	difference, err := golden.Diff(base, []byte(config))
	framework.NoError(t, err)
	text, err := difference.Encode(fmt.Sprintf("What becomes of the base %s of release line %s.", match[2], match[1]))
	framework.NoError(t, err)
	if err := golden.Check(base, []byte(config), text); err != nil {
		t.Errorf("the difference loses something: %v\n%s", err, text)
	}
	block := regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSuffix(config, "\n"), "    ") + "\n"
	if strings.Count(objects, block) != 1 {
		t.Fatalf("config.yaml does not stand in the objects as it is printed alone:\n%s", objects)
	}
	return strings.Replace(objects, block, regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(string(text), "    $1"), 1)
}

// againstWhole returns the diff of the objects against those of wholeSample, renamed.
func againstWhole(t *testing.T, objects string) string {
	t.Helper()
	name := regexp.MustCompile(`(?m)^ {2}name: (\S+)-service$`)
	whole := read(t, filepath.Join("testdata", "samples", wholeSample+".yaml"))
	from, to := name.FindStringSubmatch(whole), name.FindStringSubmatch(objects)
	if from == nil || to == nil {
		t.Fatal("no Service has the name of the resource")
	}
	before, after := byKind(t, strings.ReplaceAll(whole, from[1], to[1])), byKind(t, objects)
	difference, err := golden.Diff(before, after)
	framework.NoError(t, err)
	text, err := difference.Encode("How the objects differ from those of " + wholeSample + ".yaml, if these had the name " + to[1] + ".")
	framework.NoError(t, err)
	if err := golden.Check(before, after, text); err != nil {
		t.Errorf("the difference loses something: %v\n%s", err, text)
	}
	return string(text)
}

// byKind returns YAML with the objects by kind, and the order of the kinds.
func byKind(t *testing.T, objects string) []byte {
	t.Helper()
	var order []string
	all := map[string]any{}
	for _, tree := range trees(t, objects) {
		kind := fmt.Sprint(tree["kind"])
		for all[kind] != nil {
			kind += ", another"
		}
		order = append(order, kind)
		all[kind] = tree
	}
	all["order"] = order
	text, err := yaml.Marshal(all)
	framework.NoError(t, err)
	return text
}

func configOf(docs []map[string]any) string {
	for _, doc := range docs {
		if data, ok := doc["data"].(map[string]any); ok && doc["kind"] == "ConfigMap" {
			if config, ok := data["config.yaml"].(string); ok {
				return config
			}
		}
	}
	return ""
}

// row is a row of the environment table: name, value, Secret, key.
type row [4]string

func environmentOf(t *testing.T, objects string) []row {
	t.Helper()
	var list struct{ Items []appsv1.Deployment }
	framework.NoError(t, json.Unmarshal([]byte(objects), &list))
	var rows []row
	for _, deployment := range list.Items {
		if deployment.Kind != "Deployment" {
			continue
		}
		for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
			r := row{variable.Name, cmp.Or(variable.Value, "-"), "-", "-"}
			if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
				r[1] = "(" + from.FieldRef.FieldPath + ")"
			} else if from != nil {
				r[2], r[3] = from.SecretKeyRef.Name, from.SecretKeyRef.Key
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func rowsOf(table string) []row {
	var rows []row
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) == 5 && words[0] != "RESOURCE" {
			rows = append(rows, row(words[1:]))
		}
	}
	return rows
}
