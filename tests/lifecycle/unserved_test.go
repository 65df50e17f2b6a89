// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// If v1alpha1 is no longer served, all kinds of clients read, edit and apply objects that were written in it as
// v1alpha2, and the API server still converts their managed fields. Serving v1alpha1 again returns the same objects.
//
// Proves: R22, L-29, MIG-SVM.
func TestV1alpha1CanBeUnserved(t *testing.T) {
	t.Parallel()
	s := newControlPlane(t)
	s.Apply(oldCRD)
	s.established(framework.CRD)
	const kept = `,"containerSpec":{"name":"main","port":8400}`
	s.Apply(spoke("applied", kept))
	s.Apply(spoke("server-side", kept), "--server-side")
	s.install()
	s.serve(s.startReplica(replicaOptions{}))
	s.awaitValidation()
	names := []string{"applied", "server-side"}
	before := map[string]map[string]any{}
	if count, err := s.migration().Once(t.Context()); err != nil || count != len(names) {
		t.Fatalf("%d objects were migrated, %v", count, err)
	}
	for _, name := range names {
		before[name] = s.version("v1alpha1", name).Object["spec"].(map[string]any)
	}

	s.Kubectl("apply", "-k", filepath.Join(framework.Root(), "config", "overlays", "v1alpha2-only"))
	s.redirect()
	s.Eventually("v1alpha1 is not served", func() error {
		if _, err := s.tryVersion("v1alpha1", "applied"); err == nil {
			return errors.New("it is")
		}
		return nil
	})
	s.awaitValidation()
	for _, name := range names {
		s.Apply(hub(name, `,"networking":{"port":8400},"workload":{"replicas":1}`), "--server-side", "--force-conflicts")
		s.Apply(hub(name, `,"networking":{"port":8400},"workload":{"replicas":2}`))
		s.Kubectl("patch", "llsd", name, "--type=merge", "-p", `{"spec":{"workload":{"replicas":3}}}`)
		s.Kubectl("patch", "llsd", name, "--type=merge", "--subresource=status", "-p", `{"status":{"phase":"Ready"}}`)
		s.wantFields("v1alpha2", name, map[string]any{"spec.workload.replicas": 3, "status.phase": "Ready", "spec.networking.port": 8400})
	}
	s.Apply(hub("new", ""))
	s.Kubectl("get", "llsd")
	out, err := s.TryApply(spoke("late", ""))
	// kubectl had discovered v1alpha1 before.
	gone := strings.Contains(out, "no matches for kind") || strings.Contains(out, "could not find the requested resource")
	if err == nil || !gone {
		t.Errorf("applied in v1alpha1: %v %s", err, out)
	}

	s.Kubectl("apply", "-k", filepath.Join(framework.Root(), "config", "default"))
	s.redirect()
	for _, name := range names {
		s.Eventually("v1alpha1 is served again", func() error {
			_, err := s.tryVersion("v1alpha1", name)
			return err
		})
		before[name]["replicas"] = int64(3)
		if diff := cmp.Diff(before[name], s.version("v1alpha1", name).Object["spec"]); diff != "" {
			t.Errorf("%s after the way back (-before +after):\n%s", name, diff)
		}
	}
}
