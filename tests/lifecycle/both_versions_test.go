// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: R52, R57, FR-075 (what release 0.9 admitted is still admitted in v1alpha1, with warnings, even if v1alpha2
// rejects it).
func TestV1alpha1IsNeverRejected(t *testing.T) {
	t.Parallel()
	s := serveOne(t)
	s.awaitValidation()
	long := strings.Repeat("a", 60)
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"unknown distribution": {strings.Replace(spoke("old", ""), "starter", "startr", 1), []string{
			`Warning: in terms of v1alpha2: spec.distribution.name: Unsupported value: "startr": did you mean "starter"?`, "old created",
		}},
		"neither name nor image": {strings.Replace(spoke("neither", ""), `{"name":"starter"}`, "{}", 1), []string{
			"Warning: in terms of v1alpha2: spec.distribution: Required value: set a name or an image", "neither created",
		}},
		"a name that is too long": {spoke(long, ""), []string{"Warning: in terms of v1alpha2: metadata.name: Invalid value: \"" + long + "\": a Service is named after it", long + " created"}},
		"an unknown distribution in v1alpha2": {strings.Replace(hub("new", ""), "starter", "startr", 1), []string{
			`The LlamaStackDistribution "new" is invalid: spec.distribution.name: Unsupported value: "startr": did you mean "starter"?`,
		}},
		"a name that is too long in v1alpha2": {hub(long+"b", ""), []string{suite.Denied(long+"b") + "metadata.name: "}},
	} {
		out, err := s.TryApply(c.manifest)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %v: got\n%swant %s", name, err, out, want)
			}
		}
	}
	// An object that was stored despite its errors can be labeled in both versions, and edited in the version that
	// admitted it.
	s.Kubectl("label", "llsd", "old", long, "a=b")
	s.Kubectl("label", v1alpha1Kind, "old", long, "c=d")
	s.Kubectl("patch", v1alpha1Kind, "old", "--type=merge", "-p", `{"spec":{"replicas":2}}`)
	s.Kubectl("patch", "llsd", "old", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
}

func (s *controlPlane) awaitValidation() {
	s.T.Helper()
	s.Eventually("the API server asks the webhook", func() error {
		out, _ := s.Cluster.KubectlInput(s.T.Context(), strings.Replace(hub("probe", ""), "starter", "nowhere", 1), "apply", "--dry-run=server", "-f", "-")
		if !strings.Contains(out, `Unsupported value: "nowhere"`) {
			return errors.New(out)
		}
		return nil
	})
}

// release09CRD returns the CRD of release 0.9: it stores v1alpha1, and has no conversion.
func release09CRD(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(framework.Root(), "config", "crd", "bases", "llamastack.io_llamastackdistributions.yaml"))
	framework.NoError(t, err)
	var definition struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	framework.NoError(t, yaml.Unmarshal(raw, &definition))
	for _, v := range definition.Spec["versions"].([]any) {
		if version := v.(map[string]any); version["name"] == "v1alpha1" {
			version["storage"] = true
			definition.Spec["versions"] = []any{version}
		}
	}
	delete(definition.Spec, "conversion")
	old, err := yaml.Marshal(definition)
	framework.NoError(t, err)
	return string(old)
}

type manifests map[string][]string

// add adds the matching files, each to the first namespace without an object of its name.
func (m manifests) add(t *testing.T, prefix string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(framework.Root(), filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		taken := map[string]int{}
		for _, file := range files {
			raw := framework.ReadFile(t, file)
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(raw, &u.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			namespace := fmt.Sprintf("%s-%d", prefix, taken[u.GetName()])
			taken[u.GetName()]++
			m[namespace] = append(m[namespace], file)
		}
	}
}

func (m manifests) each(s *controlPlane, verb string, check func(namespace, out string, err error)) {
	for _, namespace := range slices.Sorted(maps.Keys(m)) {
		out, err := s.Cluster.KubectlRun(s.T.Context(), verb, "-n", namespace, "-f", strings.Join(m[namespace], ","))
		check(namespace, out, err)
	}
}

func (m manifests) apply(s *controlPlane) {
	s.T.Helper()
	for namespace := range m {
		s.Kubectl("create", "namespace", namespace)
	}
	m.each(s, "apply", func(namespace, out string, err error) {
		if err != nil {
			s.T.Fatalf("%s: %v\n%s", namespace, err, out)
		}
	})
}

func (m manifests) wantNoDiff(s *controlPlane, when string) {
	s.T.Helper()
	// kubectl diff fails if there is a difference.
	m.each(s, "diff", func(namespace, out string, err error) {
		if err != nil || out != "" {
			s.T.Errorf("%s, %s: %v\n%s", when, namespace, err, out)
		}
	})
	m.each(s, "apply", func(namespace, out string, err error) {
		if changed := strings.Count(out, "\n") - strings.Count(out, " unchanged\n"); err != nil || changed != 0 {
			s.T.Errorf("%s, %s: a second apply says %v %s", when, namespace, err, out)
		}
	})
}

func (s *controlPlane) list(version string) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("llamastack.io/" + version)
	list.SetKind("LlamaStackDistributionList")
	return list, s.Client.List(s.T.Context(), list)
}

// everything returns all custom resources in a version, by namespace and name, without their resource versions.
func (s *controlPlane) everything(version string) map[string]unstructured.Unstructured {
	s.T.Helper()
	list, err := s.list(version)
	framework.NoError(s.T, err)
	all := map[string]unstructured.Unstructured{}
	for _, u := range list.Items {
		u.SetResourceVersion("")
		all[u.GetNamespace()+"/"+u.GetName()] = u
	}
	return all
}

// Proves: L-29, US-7.1, MIG-SVM, FR-081 (neither version changes a spec by defaults or rewriting: an applied manifest
// has no diff, whether release 0.9 stored it, or it was rewritten or created since; the migration changes nothing that
// clients see).
func TestNoDiffBeforeAndAfterMigration(t *testing.T) {
	t.Parallel()
	s := newControlPlane(t)
	s.Apply(release09CRD(t))
	s.established(framework.CRD)
	old, current := manifests{}, manifests{}
	old.add(t, "before", "api/v1alpha1/testdata/conversion/*/before.yaml")
	old.add(t, "full", "tests/integration/testdata/v1alpha1-full.yaml")
	old.apply(s)

	s.install()
	if _, err := s.list("v1alpha2"); err == nil {
		t.Fatal("they are read as v1alpha2 without conversion: they are not stored as v1alpha1, and the checks below would prove nothing")
	}
	one := s.startReplica(replicaOptions{})
	s.serve(one)
	s.awaitValidation()
	current.add(t, "sample", "config/samples/v1*.yaml")
	current.add(t, "after", "api/v1alpha1/testdata/conversion/*/after.yaml")
	current.add(t, "since", "api/v1alpha1/testdata/conversion/*/before.yaml", "tests/integration/testdata/v1alpha1-full.yaml")
	current.apply(s)
	current.wantNoDiff(s, "created now")
	old.wantNoDiff(s, "stored as v1alpha1")

	before := map[string]map[string]unstructured.Unstructured{"v1alpha1": s.everything("v1alpha1"), "v1alpha2": s.everything("v1alpha2")}
	count, err := s.migration().Once(t.Context())
	if err != nil || count != len(before["v1alpha2"]) {
		t.Fatalf("%d of %d rewritten, %v", count, len(before["v1alpha2"]), err)
	}
	if err := s.stores(`["v1alpha2"]`)(); err != nil {
		t.Error(err)
	}
	for version, all := range before {
		if diff := cmp.Diff(all, s.everything(version)); diff != "" {
			t.Errorf("%s: what the migration changed:\n%s", version, diff)
		}
	}
	old.wantNoDiff(s, "rewritten")
	current.wantNoDiff(s, "after the migration")

	// Without a conversion webhook, readable objects are stored in v1alpha2. Lists come from the API server's cache,
	// single objects from etcd.
	s.service.Remove(one.server.Address().String())
	s.service.CloseConnections()
	for key := range before["v1alpha2"] {
		namespace, name, _ := strings.Cut(key, "/")
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("llamastack.io/v1alpha2")
		u.SetKind("LlamaStackDistribution")
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
			t.Errorf("not readable without conversion, so not stored in v1alpha2: %v", err)
		}
	}
}
