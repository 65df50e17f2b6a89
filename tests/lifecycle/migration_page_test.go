// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09/leftovers"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// readMigrationPage returns the resources and the commands of the page about migration.
func readMigrationPage(t *testing.T) (resources, commands []string) {
	t.Helper()
	for _, b := range framework.AllCodeBlocks(t, filepath.Join(framework.Root(), "docs", "migration-v1alpha1-to-v1alpha2.md")) {
		switch b.Info {
		case "yaml":
			resources = append(resources, b.Text)
		case "sh":
			commands = append(commands, b.Text)
		}
	}
	return resources, commands
}

type follower struct {
	*framework.Follower
	*controlPlane
}

func (s *controlPlane) follower() *follower {
	s.T.Helper()
	return &follower{framework.NewFollower(s.T, s.Cluster), s}
}

// Proves: US-7.1, US-7.2, US-7.3, MIG-EX, L-29 (following the page about migration works: the resource changes only by
// the user's edits, and replaced objects are removed).
func TestMigrationPage(t *testing.T) {
	t.Parallel()
	s := serveOne(t)
	s.awaitValidation()
	resources, commands := readMigrationPage(t)
	if len(resources) != 4 || len(commands) != 7 {
		t.Fatalf("%d resources and %d blocks of commands are found", len(resources), len(commands))
	}
	const old, converted, declared = 0, 1, 2
	inV1alpha1, clean, convert, apply, replace := commands[0], commands[1], commands[2], commands[3], commands[4]
	f := s.follower()

	t.Run("what stays of release 0.9", func(t *testing.T) {
		const prefix = "llama-stack-k8s-operator-"
		for _, role := range []string{"proxy-role", "llsd-editor-role", "llsd-viewer-role"} {
			s.Kubectl("create", "clusterrole", prefix+role, "--verb=get", "--resource=namespaces")
		}
		s.Kubectl("create", "clusterrolebinding", prefix+"proxy-rolebinding", "--clusterrole="+prefix+"proxy-role",
			"--serviceaccount="+framework.OperatorNamespace+":"+framework.OperatorName)
		s.Kubectl("-n", framework.OperatorNamespace, "create", "configmap", prefix+"manager-config")
		s.Kubectl("-n", framework.OperatorNamespace, "create", "poddisruptionbudget", prefix+"controller-manager-pdb", "--min-available=1", "--selector=a=b")
		operator := s.operatorClient()
		l := &leftovers.Leftovers{Live: operator, Client: operator, Namespace: framework.OperatorNamespace}
		removed, left, err := l.Once(t.Context())
		if err != nil || len(removed) != 1 || len(left) != 5 {
			t.Fatalf("removed %v, left %v, %v", removed, left, err)
		}
		f.Run(clean)
		if removed, left, err := l.Once(t.Context()); err != nil || len(removed)+len(left) > 0 {
			t.Errorf("after the page's commands: removed %v, left %v, %v", removed, left, err)
		}
	})

	t.Run("step by step", func(t *testing.T) {
		f.Write("my-llsd.yaml", resources[old])
		f.Run("kubectl apply -f my-llsd.yaml")
		if out := f.Run(inV1alpha1); !strings.Contains(out, "OPERATOR VERSION") {
			t.Errorf("%s prints:\n%s", inV1alpha1, out)
		}
		if out := f.Run("kubectl get llsd"); !strings.Contains(out, "PROVIDERS") {
			t.Errorf("kubectl get llsd does not show v1alpha2:\n%s", out)
		}
		before := s.version("v1alpha2", "my-llsd")

		f.Run(convert)
		after := s.version("v1alpha2", "my-llsd")
		if after.GetGeneration() != before.GetGeneration() || after.GetUID() != before.GetUID() {
			t.Errorf("converting changed generation %d to %d", before.GetGeneration(), after.GetGeneration())
		}
		f.Write("shown.yaml", resources[converted])
		f.Run("kubectl diff -f shown.yaml") // exits with 1 if there is a difference

		f.Write("my-llsd-v1alpha2.yaml", resources[declared])
		for _, commands := range []string{apply, replace} {
			f.Run(commands)
			s.wantManifest(t, "my-llsd", resources[declared])
			if u := s.version("v1alpha2", "my-llsd"); u.GetUID() != before.GetUID() {
				t.Errorf("uid %s was %s", u.GetUID(), before.GetUID())
			}
		}
		f.Run("kubectl delete llsd my-llsd")
	})

	t.Run("whether v1alpha1 can go", func(t *testing.T) {
		requests, stored := commands[5], commands[6]
		if out := f.Run(requests); !strings.Contains(out, `version="v1alpha1"`) {
			t.Errorf("v1alpha1 was in use, and is not counted:\n%s", out)
		}
		if out := f.Run(stored); out != `["v1alpha2"]` {
			t.Errorf("stored are %s", out)
		}
	})

	t.Run("a kept value goes with the annotation", func(*testing.T) {
		f.Run("kubectl apply -f my-llsd.yaml")
		s.wantFields("v1alpha1", "my-llsd", map[string]any{"spec.server.containerSpec.name": "main"})
		f.Run("kubectl annotate llsd my-llsd llamastack.io/conversion-")
		s.wantFields("v1alpha1", "my-llsd", map[string]any{"spec.server.containerSpec.name": "llama-stack"}) // the default
		f.Run("kubectl delete llsd my-llsd")
	})

	t.Run("a converted manifest says what applies", func(t *testing.T) {
		manifests, err := filepath.Glob(filepath.Join(framework.Root(), "api", "v1alpha1", "testdata", "conversion", "*", "before.yaml"))
		if err != nil || len(manifests) != 5 {
			t.Fatalf("%d examples, %v", len(manifests), err)
		}
		for _, file := range append(manifests, filepath.Join(framework.Root(), "tests", "integration", "testdata", "v1alpha1-full.yaml")) {
			f.Run("kubectl apply -f " + file)
			// kubectl diff fails if there is a difference.
			if out := f.Run("kubectl llamastack convert -f " + file + " --to v1alpha2 2>/dev/null | kubectl diff -f -"); out != "" {
				t.Errorf("%s:\n%s", file, out)
			}
			f.Run("kubectl delete -f " + file)
		}
	})
}

// wantManifest checks that the object has exactly the manifest's fields.
func (s *controlPlane) wantManifest(t *testing.T, name, manifest string) {
	t.Helper()
	var want map[string]any
	framework.NoError(t, yaml.Unmarshal([]byte(manifest), &want))
	got := s.version("v1alpha2", name)
	if diff := cmp.Diff(framework.Tree(t, want["spec"]), framework.Tree(t, got.Object["spec"])); diff != "" {
		t.Errorf("(-manifest +object):\n%s", diff)
	}
	if text, there := got.GetAnnotations()[v1alpha2.ConversionAnnotation]; there {
		t.Errorf("the object still counts as one of v1alpha1: %s", text)
	}
}
