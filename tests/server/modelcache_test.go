// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// writeModel writes a model as a cache of Hugging Face has it.
func writeModel(t *testing.T, hub, model string) {
	t.Helper()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	dir := filepath.Join(hub, "models--"+strings.ReplaceAll(model, "/", "--"))
	for _, file := range []string{"blobs/1", "refs/main", "snapshots/" + revision + "/x"} {
		framework.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
	}
	framework.WriteFile(t, filepath.Join(dir, "blobs", "1"), "{}")
	framework.WriteFile(t, filepath.Join(dir, "refs", "main"), revision)
	framework.NoError(t, os.Symlink("../../blobs/1", filepath.Join(dir, "snapshots", revision, "config.json")))
}

// The command of the pod's init container, with the Python of the oldest and the newest server.
//
// Proves: R107 (models that the cache lacks are named before the server starts).
func TestMissingModelsAreNamed(t *testing.T) {
	t.Parallel()
	forOldestAndNewest(t, func(*catalog.Line) bool { return true }, func(t *testing.T, r release) {
		python := serverPython(t, r)
		dir := t.TempDir()
		hub := filepath.Join(dir, "hub")
		framework.NoError(t, os.Mkdir(hub, 0o755))
		check := func(what, want string, models ...string) {
			t.Helper()
			cr := &v1alpha2.LlamaStackDistribution{}
			cr.Spec.Workload = &v1alpha2.WorkloadSpec{ModelCache: &v1alpha2.ModelCacheSpec{ClaimName: new("models")}}
			pod := objects.Deployment(&objects.Params{CR: cr, LocalModels: models}).Spec.Template.Spec
			command := slices.Clone(pod.InitContainers[0].Command)
			command[3] = hub
			out, err := exec.CommandContext(t.Context(), python, command[1:]...).CombinedOutput()
			if text := strings.TrimSpace(string(out)); (err == nil) != (want == "") || text != want {
				t.Errorf("%s, %s: %v, %q, want %q", r.version, what, err, text, want)
			}
		}
		check("an empty cache", "the model cache has no models: its directory hub must have a directory models--<organization>--<name> for each")
		writeModel(t, hub, "example/tiny")
		writeModel(t, hub, "sentence-transformers/short")
		check("no models needed", "")
		check("models that it has", "", "example/tiny", "short")
		check("a missing model", "the model cache does not have example/other: it has example/tiny, sentence-transformers/short", "example/tiny", "example/other")
		framework.NoError(t, os.Remove(filepath.Join(hub, "models--example--tiny", "refs", "main")))
		check("a model without its revision", "the model cache does not have example/tiny: it has example/tiny (without revision main), sentence-transformers/short", "example/tiny")
		framework.NoError(t, os.RemoveAll(hub))
		check("another layout", "the model cache cannot be read: No such file or directory: hub", "example/tiny")
	})
}
