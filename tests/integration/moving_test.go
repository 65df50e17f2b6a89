// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const conversionAnnotation = v1alpha2.ConversionAnnotation

// guide returns the manifests of the page about migration: an object of v1alpha1, and the same rewritten for v1alpha2.
func guide(t *testing.T) (before, after string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "migration-v1alpha1-to-v1alpha2.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)\n```$").FindAllSubmatch(page, -1)
	if len(blocks) != 4 {
		t.Fatalf("%d manifests on the page", len(blocks))
	}
	return string(blocks[0][1]), string(blocks[2][1])
}

// converted is what the plugin makes of a manifest for v1alpha2.
func converted(t *testing.T, manifest string) string {
	t.Helper()
	var out, problems bytes.Buffer
	streams := command.Streams{In: strings.NewReader(manifest), Out: &out, Err: &problems}
	if code := cli.Run(t.Context(), []string{"convert", "-f", "-", "--to", "v1alpha2"}, streams); code != command.OK {
		t.Fatal(problems.String())
	}
	return out.String()
}

// named gives the manifest's object another name.
func named(manifest, name string) string {
	return strings.Replace(manifest, "name: my-llsd\n", "name: "+name+"\n", 1)
}

// wantManifest compares the object with what the manifest says, no more and no less.
func (s *serving) wantManifest(t *testing.T, name, manifest string) {
	t.Helper()
	var want map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &want); err != nil {
		t.Fatal(err)
	}
	got := s.mustGet("v1alpha2", name)
	if diff := cmp.Diff(normal(t, want["spec"]), normal(t, got.Object["spec"])); diff != "" {
		t.Errorf("(-manifest +object):\n%s", diff)
	}
	if text, there := got.GetAnnotations()[conversionAnnotation]; there {
		t.Errorf("the object still counts as one of v1alpha1: %s", text)
	}
}

// Proves: US-7.1, US-7.2, MIG-EX, L-25 (the ways that the page about migration shows end with an object that is what the last manifest says,
// with the tools that people use; and the shortcut that it warns of does not).
func TestMovingAnObject(t *testing.T) {
	t.Parallel()
	s := serveOne(t)
	s.awaitValidation()
	before, after := guide(t)

	for tool, args := range map[string][]string{"client": nil, "server": {"--server-side"}} {
		t.Run("apply by the "+tool, func(t *testing.T) {
			name := "by-" + tool
			s.apply(named(before, name), args...)
			created := s.mustGet("v1alpha2", name)
			s.apply(converted(t, named(before, name)), args...)
			same := s.mustGet("v1alpha2", name)
			if diff := cmp.Diff(created.Object["spec"], same.Object["spec"]); diff != "" || same.GetGeneration() != created.GetGeneration() {
				t.Errorf("the converted manifest changes the object (-before +after):\n%s", diff)
			}
			s.apply(named(after, name), args...)
			s.wantManifest(t, name, after)
		})
	}

	t.Run("replace", func(t *testing.T) {
		s.apply(named(before, "replaced"))
		s.replace(t, named(after, "replaced"))
		s.wantManifest(t, "replaced", after)
		less := strings.Replace(named(after, "replaced"), "    expose: true\n", "", 1)
		s.apply(less) // it goes on from what was replaced
		s.wantManifest(t, "replaced", less)
	})

	// The way that the page warns of, and the way out of it.
	t.Run("without the first step", func(t *testing.T) {
		s.apply(named(before, "short"))
		s.apply(named(after, "short"))
		object := s.mustGet("v1alpha2", "short")
		if field(object, "spec.workload.overrides.env") == nil || field(object, "spec.providers") == nil {
			t.Errorf("the variables do not stay beside the providers: %v", object.Object["spec"])
		}
		s.replace(t, named(after, "short"))
		s.wantManifest(t, "short", after)
	})
	t.Run("without the first step, by the server", func(t *testing.T) {
		s.apply(named(before, "unasked"), "--server-side")
		s.apply(named(after, "unasked"), "--server-side")
		object := s.mustGet("v1alpha2", "unasked")
		if field(object, "spec.workload.overrides.env") != nil || object.GetAnnotations()[conversionAnnotation] == "" {
			t.Errorf("the variables stay, or the annotation does not: %v", object.Object)
		}
	})

	t.Run("from a userConfig", func(t *testing.T) {
		const name = "configured"
		moved := hub(name, `,"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}},"workload":{"replicas":1}`)
		overridden := spoke(name, `,"userConfig":{"configMapName":"mine"}`)
		s.apply(overridden)
		out, err := s.cluster.KubectlInput(t.Context(), moved, "apply", "-f", "-")
		if err == nil || !strings.Contains(out, "overrideConfig excludes providers") {
			t.Errorf("without the first step: %v %s", err, out)
		}
		s.apply(converted(t, overridden))
		s.apply(moved)
		s.wantManifest(t, name, moved)
	})
}

// replace replaces an object by its manifest, as the page says.
func (s *serving) replace(t *testing.T, manifest string) {
	t.Helper()
	if out, err := s.cluster.KubectlInput(t.Context(), manifest, "replace", "--save-config", "-f", "-"); err != nil {
		t.Fatal(out)
	}
}
