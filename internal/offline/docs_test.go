// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	migrationPage = "../../docs/migration-v1alpha1-to-v1alpha2.md"
	externalPage  = "../../docs/external-providers.md"
)

func newCluster(t testing.TB) *offline.Cluster {
	t.Helper()
	known, err := settings.Parse(nil)
	framework.NoError(t, err)
	return offline.NewCluster(known)
}

// The pages are executed. A block "yaml" must render without findings; "yaml line=1.5" renders for that release line. A
// "text findings" block after it lists its expected findings as "severity: path", and a "yaml config.yaml" block shows
// a part of its configuration.
func TestConfigurationPages(t *testing.T) {
	for page, want := range map[string]int{
		"configuration.md": 7, "configuration-providers.md": 7, "configuration-resources.md": 8, "configuration-storage.md": 4,
	} {
		t.Run(page, func(t *testing.T) {
			if got := executePage(t, "../../docs/"+page); got != want {
				t.Errorf("%d resources found, want %d", got, want)
			}
		})
	}
}

func executePage(t *testing.T, page string) (resources int) {
	t.Helper()
	cluster := newCluster(t)
	all := framework.CodeBlocks(t, page)
	for i, b := range all {
		words := strings.Fields(b.Info)
		if len(words) == 0 || words[0] != "yaml" || slices.Contains(words, "config.yaml") {
			continue
		}
		resources++
		t.Run(fmt.Sprintf("line %d", b.Line), func(t *testing.T) {
			cluster.Replacement = offline.Replacement{}
			if _, name, given := strings.Cut(b.Info, "line="); given {
				if _, known := catalog.Get(name); !known {
					t.Fatalf("no release line %q", name)
				}
				cluster.Replacement.Version = name
			}
			made := cluster.DryRun(t.Context(), readOne(t, b.Text))
			var got, want []string
			for _, f := range made.Problems {
				got = append(got, offline.SeverityName(f.Severity)+": "+f.Path)
			}
			for j := i + 1; j < len(all) && all[j].Info == "text findings"; j++ {
				want = append(want, strings.Split(strings.TrimSpace(all[j].Text), "\n")...)
			}
			for j := i + 1; j < len(all) && all[j].Info == "yaml config.yaml"; j++ {
				checkPart(t, made, all[j])
			}
			if !slices.Equal(got, want) {
				t.Errorf("findings %v, want %q", made.Problems, want)
			}
		})
	}
	return resources
}

// Each YAML block must be usable unchanged: a resource renders without an error, and settings parse. The map warned
// lists the expected warnings by page and line.
//
// Proves: FR-061, FR-064, FR-065, R47, R72.
func TestBlocksOfPagesCanBeUsed(t *testing.T) {
	cluster := newCluster(t)
	warned := map[string]string{
		"networking.md 4": "warning: spec.networking.expose, warning: spec.networking.expose", // the resource has neither a host name nor authentication
		"networking.md 5": "warning: spec.networking.expose",                                  // no authentication
	}
	for page, want := range map[string]struct{ resources, settings int }{
		"networking.md": {resources: 8}, "workload.md": {}, "operator-settings.md": {settings: 12}, "auth.md": {resources: 7},
		"monitoring.md": {resources: 2},
	} {
		got := want
		got.resources, got.settings = 0, 0
		for _, b := range framework.CodeBlocks(t, "../../docs/"+page) {
			if b.Info != "yaml" {
				continue
			}
			var tree corev1.ConfigMap
			if err := yaml.Unmarshal([]byte(b.Text), &tree); err != nil {
				t.Fatalf("%s, line %d: %v", page, b.Line, err)
			}
			switch tree.Kind {
			case "LlamaStackDistribution":
				got.resources++
				made := cluster.DryRun(t.Context(), readOne(t, b.Text))
				var found []string
				for _, f := range made.Problems {
					found = append(found, offline.SeverityName(f.Severity)+": "+f.Path)
				}
				if text := strings.Join(found, ", "); text != warned[fmt.Sprint(page, " ", got.resources)] || made.Desired == nil {
					t.Errorf("%s, line %d: %s", page, b.Line, made.Problems.Message())
				}
			case "", "ConfigMap":
				got.settings++
				data, own := tree.Data, []*settings.Registered{}
				if _, registers := tree.Labels[settings.LabelDistribution]; registers {
					data, own = nil, []*settings.Registered{settings.ParseRegistration(&tree)}
				}
				s, err := settings.Parse(data, own...)
				if err != nil || len(s.Problems()) > 0 || len(tree.Data) == 0 {
					t.Errorf("%s, line %d: %v, %v", page, b.Line, err, s)
				}
				for key := range data {
					if !slices.Contains(settings.Keys(), key) {
						t.Errorf("%s, line %d: there is no key %s", page, b.Line, key)
					}
				}
			default:
				t.Errorf("%s, line %d: an object of kind %s", page, b.Line, tree.Kind)
			}
		}
		if got != want {
			t.Errorf("%s has %+v, want %+v", page, got, want)
		}
	}
}

// releaseLines matches the release lines of a section of docs/providers.md and captures the newest one, which is last.
var releaseLines = regexp.MustCompile(`^Release lines?: (?:\d[\d., to]*[ ,])?(\d+\.\d+)\.`)

// Each example renders for the newest release line of its section.
//
// Proves: FR-005, NFR-004.
func TestExamplesOfProvidersPage(t *testing.T) {
	const page = "../../docs/providers.md"
	text := framework.ReadFile(t, page)
	lines := strings.Split(string(text), "\n")
	cluster := newCluster(t)
	examples := framework.CodeBlocks(t, page)
	for _, b := range examples {
		var named []string
		for i := b.Line - 2; i >= 0 && named == nil; i-- {
			named = releaseLines.FindStringSubmatch(lines[i])
		}
		if named == nil {
			t.Fatalf("providers.md, line %d: no sentence above it names release lines", b.Line)
		}
		cluster.Replacement = offline.Replacement{Version: named[1]}
		spec := "distribution: {name: starter}\n" + b.Text
		resource := "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s}\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ")
		made := cluster.DryRun(t.Context(), readOne(t, resource))
		if made.Desired == nil {
			t.Errorf("line %d, release line %s: %s\n%s", b.Line, cluster.Replacement.Version, made.Problems.Message(), b.Text)
		}
	}
	if len(examples) < 60 {
		t.Errorf("only %d examples are found", len(examples))
	}
}

// The page is executed: the file of the image parses, and equals the description of the entry without a registry. The
// entry that relies on the registry is valid once it has the description.
//
// Proves: FR-090, R46.
func TestExternalProvidersPage(t *testing.T) {
	var resources []map[string]any
	var file *parse.ProviderPackage
	for _, b := range framework.CodeBlocks(t, externalPage) {
		if b.Info != "yaml" || strings.Contains(b.Text, "overrideConfig") { // package plugin tests it
			continue
		}
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(b.Text), &tree); err != nil {
			t.Fatalf("line %d: %v", b.Line, err)
		}
		if tree["kind"] != parse.PackageKind {
			resources = append(resources, tree)
			continue
		}
		var err error
		if file, err = serverconfig.ReadPackage([]byte(b.Text)); err != nil {
			t.Fatalf("line %d: %v", b.Line, err)
		}
	}
	if len(resources) != 2 || file == nil {
		t.Fatalf("%d resources, file %v", len(resources), file)
	}
	cluster := newCluster(t)
	check := func(tree map[string]any, want string) *offline.Resource {
		t.Helper()
		text, err := yaml.Marshal(tree)
		framework.NoError(t, err)
		made := cluster.DryRun(t.Context(), readOne(t, string(text)))
		if got := made.Problems.Message(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
		return made
	}
	entry := func(tree map[string]any) map[string]any {
		list, _, _ := unstructured.NestedSlice(tree, "spec", "externalProviders", "inference")
		return list[0].(map[string]any)
	}
	asked, told := resources[0], resources[1]
	check(asked, "spec.externalProviders.inference[0].image: Required value: the registry is not read here")
	check(told, "")
	whole := entry(asked)
	whole["package"] = entry(told)["package"]
	framework.NoError(t, unstructured.SetNestedSlice(asked, []any{whole}, "spec", "externalProviders", "inference"))
	made := check(asked, "")
	if made.Desired == nil {
		t.Fatal("nothing is made")
	}
	for _, part := range []string{"module: " + file.PackageName, "provider_type: " + file.ProviderType, "base_url: http://backend.example.svc:9000", "api_token: ${env.LLSD_TINY_API_KEY"} {
		if !strings.Contains(string(made.Desired.Config.YAML), part) {
			t.Errorf("the configuration has no %q", part)
		}
	}
}

// Proves: MIG-EX, US-7.1, US-7.2, US-7.3 (both versions of a resource are valid, with the documented differences).
func TestMigrationPage(t *testing.T) {
	cluster := newCluster(t)
	var resources []map[string]string
	for _, b := range framework.CodeBlocks(t, migrationPage) {
		if b.Info != "yaml" {
			continue
		}
		made := cluster.DryRun(t.Context(), readOne(t, b.Text))
		for _, f := range made.Problems {
			// All resources have these warnings: a shared PVC, no domain in the settings, and no authentication.
			known := strings.HasSuffix(f.Path, ".storage") || f.Reason == problem.HostnameNotUnique || f.Reason == problem.Unprotected
			if f.Severity != problem.Warning || !known {
				t.Errorf("line %d: %s", b.Line, f)
			}
		}
		if made.Desired == nil {
			t.Fatalf("line %d: nothing is made", b.Line)
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
	// Without providers, the image runs its own configuration.
	var kinds []string
	for kind, text := range resources[2] {
		if text != resources[0][kind] {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	if want := []string{"ConfigMap", "Deployment"}; !slices.Equal(kinds, want) || len(resources[2]) != len(resources[0]) {
		t.Errorf("written for v1alpha2, %v differ, want %v", kinds, want)
	}
}

// asText returns the objects by kind. Each kind occurs once.
func asText(t *testing.T, list []objects.Object) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, o := range list {
		content, err := objects.Content(o)
		framework.NoError(t, err)
		text, err := yaml.Marshal(content)
		framework.NoError(t, err)
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

func checkPart(t *testing.T, made *offline.Resource, shown framework.CodeBlock) {
	t.Helper()
	if made.Desired == nil || made.Desired.Config == nil {
		t.Fatal("nothing is generated")
	}
	var part, whole any
	for text, into := range map[string]*any{shown.Text: &part, string(made.Desired.Config.YAML): &whole} {
		framework.NoError(t, yaml.Unmarshal([]byte(text), into))
	}
	for _, missing := range missingIn(whole, part, "config.yaml") {
		t.Errorf("line %d: %s", shown.Line, missing)
	}
}

// missingIn returns the parts that whole lacks. List items may have any position in whole.
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
