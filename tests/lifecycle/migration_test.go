// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// storedVersion returns the version in which etcd has an object of the default namespace.
func (s *controlPlane) storedVersion(name string) string {
	s.T.Helper()
	stored, err := s.Cluster.Stored(s.T.Context(), "llamastack.io/llamastackdistributions", "default", name)
	framework.NoError(s.T, err)
	return strings.TrimPrefix(fmt.Sprint(stored["apiVersion"]), "llamastack.io/")
}

// stores returns a function that checks the stored versions in the CRD's status.
func (s *controlPlane) stores(want string) func() error {
	return func() error {
		if got := strings.TrimSpace(s.Kubectl("get", framework.CRD, "-o", "jsonpath={.status.storedVersions}")); got != want {
			return fmt.Errorf("the CRD has the stored versions %s, want %s", got, want)
		}
		return nil
	}
}

// Proves: MIG-SVM, L-29, R57, R22 (the migration rewrites all objects to v1alpha2, including those that v1alpha2 would
// reject, without a visible change; --migrate-storage=false disables it).
func TestMigrationRewritesTheStore(t *testing.T) {
	t.Parallel()
	s := newControlPlane(t)
	s.Apply(oldCRD)
	s.established(framework.CRD)
	refused := map[string]string{
		"no-distribution":       strings.Replace(spoke("no-distribution", ""), `{"name":"starter"}`, `{}`, 1),
		"high-port":             spoke("high-port", `,"containerSpec":{"port":70000}`),
		"unknown-distribution":  strings.Replace(spoke("unknown-distribution", ""), "starter", "startr", 1),
		strings.Repeat("a", 60): spoke(strings.Repeat("a", 60), ""),
	}
	names := []string{"plain"}
	s.Apply(spoke("plain", `,"containerSpec":{"name":"main","port":8400},"userConfig":{"configMapName":"c","configMapNamespace":"other"}`))
	for name, manifest := range refused {
		names = append(names, name)
		s.Apply(manifest)
	}
	s.install()
	s.serve(s.startReplica(replicaOptions{}))
	s.awaitValidation()
	before := map[string]map[string]any{}
	for _, name := range names {
		if version := s.storedVersion(name); version != "v1alpha1" {
			t.Fatalf("%s is stored in %s before anything was rewritten: nothing below shows anything", name, version)
		}
		before[name] = s.version("v1alpha1", name).Object
	}
	for name := range refused {
		again := s.version("v1alpha2", name)
		again.SetName("b" + name)
		again.SetResourceVersion("")
		again.SetManagedFields(nil)
		again.SetAnnotations(nil)
		if err := s.Client.Create(t.Context(), again, client.DryRunAll); err == nil {
			t.Errorf("v1alpha2 admits %s: it is no example: %v", name, field(again, "spec"))
		}
	}

	migrate := s.migration()
	if count, err := migrate.Once(t.Context()); err != nil || count != len(names) {
		t.Errorf("%d of %d are rewritten: %v", count, len(names), err)
	}
	for _, name := range names {
		if version := s.storedVersion(name); version != "v1alpha2" {
			t.Errorf("%s is stored in %s", name, version)
		}
		after := s.version("v1alpha1", name)
		before[name]["metadata"].(map[string]any)["resourceVersion"] = after.GetResourceVersion()
		if diff := cmp.Diff(before[name], after.Object); diff != "" {
			t.Errorf("%s has changed (-before +after):\n%s", name, diff)
		}
	}
	if err := s.stores(`["v1alpha2"]`)(); err != nil {
		t.Error(err)
	}

	both := `["v1alpha1","v1alpha2"]`
	s.Kubectl("patch", framework.CRD, "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":`+both+`}}`)
	s.run(buildManager(t), "--migrate-storage=false")
	s.Eventually("the operator works", s.reconciled("v1alpha2", "plain"))
	framework.Consistently(t, 3*time.Second, "it does not migrate", s.stores(both))
}
