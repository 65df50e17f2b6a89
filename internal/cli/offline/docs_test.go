// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const (
	configurationPage = "../../../docs/configuration.md"
	migrationPage     = "../../../docs/migration-v1alpha1-to-v1alpha2.md"
)

// block is a fenced block of a page.
type block struct {
	line       int
	info, text string
}

func blocks(t *testing.T, file string) []block {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?ms)^```([^`\n]*)\n(.*?)\n```$")
	var found []block
	for _, m := range fence.FindAllSubmatchIndex(content, -1) {
		found = append(found, block{
			line: 2 + bytes.Count(content[:m[0]], []byte("\n")), info: string(content[m[2]:m[3]]), text: string(content[m[4]:m[5]]),
		})
	}
	return found
}

// newCluster is a cluster with the operator's settings as they are by themselves.
func newCluster(t testing.TB) *offline.Cluster {
	t.Helper()
	known, err := settings.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := offline.NewCluster(known)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// The page about configuration is executed. A block "yaml" is a resource that must render, without any finding; "yaml line=1.5" renders
// for that release line. A block "text findings" after it has the findings that it must have instead, each "severity: path"; a block
// "yaml config.yaml" has a part of what is generated.
func TestConfigurationPage(t *testing.T) {
	cluster := newCluster(t)
	all := blocks(t, configurationPage)
	resources := 0
	for i, b := range all {
		words := strings.Fields(b.info)
		if len(words) == 0 || words[0] != "yaml" || slices.Contains(words, "config.yaml") {
			continue
		}
		resources++
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			cluster.Replacement = offline.Replacement{}
			if _, name, given := strings.Cut(b.info, "line="); given {
				if _, known := catalog.Get(name); !known {
					t.Fatalf("no release line %q", name)
				}
				cluster.Replacement.Version = name
			}
			made := cluster.DryRun(t.Context(), readOne(t, b.text))
			var got, want []string
			for _, f := range made.Problems {
				got = append(got, offline.Word(f.Severity)+": "+f.Path)
			}
			for j := i + 1; j < len(all) && all[j].info == "text findings"; j++ {
				want = append(want, strings.Split(strings.TrimSpace(all[j].text), "\n")...)
			}
			for j := i + 1; j < len(all) && all[j].info == "yaml config.yaml"; j++ {
				checkPart(t, made, all[j])
			}
			if !slices.Equal(got, want) {
				t.Errorf("findings %v, want %q", made.Problems, want)
			}
		})
	}
	if resources < 10 {
		t.Errorf("only %d resources found", resources)
	}
}

// Proves: MIG-EX, US-7.1, US-7.2, US-7.3 (the resources on the page about migration can be used as they are; what reads as another one does the
// same, and what is written anew for v1alpha2 does the same but for what the page says).
func TestMigrationPage(t *testing.T) {
	cluster := newCluster(t)
	var resources []map[string]string
	for _, b := range blocks(t, migrationPage) {
		if b.info != "yaml" {
			continue
		}
		made := cluster.DryRun(t.Context(), readOne(t, b.text))
		for _, f := range made.Problems {
			// Two pods share a PVC, the settings name no domain, and anyone may call the server: the same for all, and no reason for a
			// migration to change it.
			known := strings.HasSuffix(f.Path, ".storage") || f.Reason == problem.HostnameNotUnique || f.Reason == problem.Unprotected
			if f.Severity != problem.Warning || !known {
				t.Errorf("line %d: %s", b.line, f)
			}
		}
		if made.Desired == nil {
			t.Fatalf("line %d: nothing is made", b.line)
		}
		resources = append(resources, asText(t, made.Desired.Objects))
	}
	if len(resources) != 4 {
		t.Fatalf("%d resources found", len(resources))
	}
	for _, pair := range [][2]int{{0, 1}, {2, 3}} {
		if diff := cmp.Diff(resources[pair[0]], resources[pair[1]]); diff != "" {
			t.Errorf("resource %d does something else than resource %d, which it reads as (- %[1]d, + %[2]d):\n%[3]s", pair[0], pair[1], diff)
		}
	}
	// The image runs its own configuration where no provider is declared.
	var kinds []string
	for kind, text := range resources[2] {
		if text != resources[0][kind] {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	if want := []string{"ConfigMap", "Deployment"}; !slices.Equal(kinds, want) || len(resources[2]) != len(resources[0])+1 {
		t.Errorf("written for v1alpha2, %v differ, want %v", kinds, want)
	}
}

// asText are the objects by kind, of each of which there is one.
func asText(t *testing.T, list []objects.Object) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, o := range list {
		content, err := objects.Content(o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		texts[o.GetObjectKind().GroupVersionKind().Kind] = string(text)
	}
	if len(texts) != len(list) {
		t.Fatalf("%d objects of %d kinds", len(list), len(texts))
	}
	return texts
}

func readOne(t *testing.T, text string) *manifest.Document {
	t.Helper()
	documents, errs := manifest.Read([]string{"-"}, false, strings.NewReader(text))
	if len(errs) > 0 || len(documents) != 1 || !offline.Recognizes(documents[0]) {
		t.Fatalf("%d documents, %v: want one resource", len(documents), errs)
	}
	return documents[0]
}

// checkPart checks that what a page shows is part of what is generated.
func checkPart(t *testing.T, made *offline.Resource, shown block) {
	t.Helper()
	if made.Desired == nil || made.Desired.Config == nil {
		t.Fatal("nothing is generated")
	}
	var part, whole any
	for text, into := range map[string]*any{shown.text: &part, string(made.Desired.Config.YAML): &whole} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, missing := range missingIn(whole, part, "config.yaml") {
		t.Errorf("line %d: %s", shown.line, missing)
	}
}

// missingIn reports what of part is not in whole. An item of a list may stand anywhere in the list of whole.
func missingIn(whole, part any, path string) (missing []string) {
	switch part := part.(type) {
	case map[string]any:
		there, _ := whole.(map[string]any)
		for key, value := range part {
			missing = append(missing, missingIn(there[key], value, path+"."+key)...)
		}
	case []any:
		there, _ := whole.([]any)
		for _, item := range part {
			if !slices.ContainsFunc(there, func(each any) bool { return len(missingIn(each, item, "")) == 0 }) {
				missing = append(missing, fmt.Sprintf("%s has no item with %v", path, item))
			}
		}
	default:
		if !reflect.DeepEqual(whole, part) {
			missing = append(missing, fmt.Sprintf("%s is %v, the page says %v", path, whole, part))
		}
	}
	return missing
}
