// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// Proves: R52, R57, FR-075 (what release 0.9 admitted is admitted in v1alpha1, with warnings, where v1alpha2 refuses it).
func TestV1alpha1IsNeverRefused(t *testing.T) {
	s := serveOne(t)
	s.awaitValidation()
	long := strings.Repeat("a", 60)
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"unknown distribution": {strings.Replace(spoke("old", ""), "starter", "startr", 1), []string{
			`Warning: in terms of v1alpha2: spec.distribution.name: no distribution "startr" is known; did you mean "starter"?`, "old created",
		}},
		"a name that is too long": {spoke(long, ""), []string{"Warning: in terms of v1alpha2: metadata.name: Invalid value: a Service is named after it", long + " created"}},
		"an unknown distribution in v1alpha2": {strings.Replace(hub("new", ""), "starter", "startr", 1), []string{
			`The LlamaStackDistribution "new" is invalid: spec.distribution.name: Invalid value: no distribution "startr" is known`,
		}},
		"a name that is too long in v1alpha2": {hub(long+"b", ""), []string{denied(long+"b") + "metadata.name: "}},
	} {
		out, err := s.cluster.KubectlInput(t.Context(), c.manifest, "apply", "-f", "-")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %v: got\n%swant %s", name, err, out, want)
			}
		}
	}
	// What is stored in spite of its errors can be labeled in both versions, and edited in the one that admitted it.
	s.kubectl("label", "llsd", "old", long, "a=b")
	s.kubectl("label", v1alpha1Kind, "old", long, "c=d")
	s.kubectl("patch", v1alpha1Kind, "old", "--type=merge", "-p", `{"spec":{"replicas":2}}`)
	s.kubectl("patch", "llsd", "old", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
}

// awaitValidation waits until the API server asks the webhook.
func (s *serving) awaitValidation() {
	s.t.Helper()
	fixture.Eventually(s.t, 30*time.Second, "the API server asks the webhook", func() error {
		out, _ := s.cluster.KubectlInput(s.t.Context(), strings.Replace(hub("probe", ""), "starter", "nowhere", 1), "apply", "--dry-run=server", "-f", "-")
		if !strings.Contains(out, "no distribution") {
			return errors.New(out)
		}
		return nil
	})
}

// Proves: L-29 (in neither version is a spec defaulted into or rewritten: after an apply nothing differs from the manifest).
func TestNoDiffInEitherVersion(t *testing.T) {
	s := serveOne(t)
	s.awaitValidation()
	for _, pattern := range []string{"config/samples/v1*.yaml", "api/v1alpha1/testdata/conversion/*/before.yaml", "api/v1alpha1/testdata/conversion/*/after.yaml"} {
		files, err := filepath.Glob(filepath.Join(fixture.Root(), filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for i, file := range files {
			namespace := strings.NewReplacer("/", "-", ".", "-", "*", "x").Replace(filepath.Base(pattern)) + "-" + string(rune('a'+i))
			s.kubectl("create", "namespace", namespace)
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) (string, error) {
				return s.cluster.KubectlInput(t.Context(), string(raw), append(args, "-n", namespace, "-f", "-")...)
			}
			if out, err := run("apply"); err != nil {
				t.Errorf("%s: %s", file, out)
				continue
			}
			// kubectl diff ends with an error where there is a difference.
			if out, err := run("diff"); err != nil || out != "" {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
			if out, err := run("apply"); err != nil || !strings.HasSuffix(strings.TrimSpace(out), " unchanged") {
				t.Errorf("%s: a second apply says %v %s", file, err, out)
			}
		}
	}
}
