// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// fillCache writes a model as a cache of Hugging Face has it: files of a revision are links to blobs.
const fillCache = `import os
model = "/cache/hub/models--example--tiny"
for directory in ("blobs", "refs", "snapshots/1"):
    os.makedirs(f"{model}/{directory}")
open(f"{model}/blobs/2", "w").write("a tiny model")
open(f"{model}/refs/main", "w").write("1")
os.symlink("../../blobs/2", f"{model}/snapshots/1/config.json")
`

// readCache prints the file of the model, whether downloads are off, and why nothing can be written.
const readCache = `import os
hub = os.environ["HF_HUB_CACHE"]
print(open(f"{hub}/models--example--tiny/snapshots/1/config.json").read(), os.environ["HF_HUB_OFFLINE"], os.environ["TRANSFORMERS_OFFLINE"])
try:
    open(f"{hub}/x", "w")
except OSError as e:
    print(e.strerror)
`

// The cache is on a PVC, because the containerd of these tests has no image volumes.
//
// Proves: R107.
func modelsComeFromACache(t *testing.T) {
	s := stack{"e2e-models", "offline"}
	namespace(t, s.namespace)
	s.in(t).Apply(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"models"},
		"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	s.in(t).Apply(asJSON(t, map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "fill"}, "spec": map[string]any{
			"restartPolicy": "Never",
			"securityContext": map[string]any{
				"runAsNonRoot": true, "runAsUser": 1001, "runAsGroup": 1001, "fsGroup": 1001, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
			},
			"volumes": []any{map[string]any{"name": "models", "persistentVolumeClaim": map[string]any{"claimName": "models"}}},
			"containers": []any{map[string]any{
				"name": "fill", "image": registered.ref, "command": []any{"python3", "-c", fillCache},
				"volumeMounts":    []any{map[string]any{"name": "models", "mountPath": "/cache"}},
				"securityContext": map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}},
			}},
		},
	}))
	framework.Eventually(t, serverStart, "the cache is filled", func() error {
		var pod corev1.Pod
		if err := s.in(t).Get(&pod, "fill"); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("the pod is %s", pod.Status.Phase)
		}
		return nil
	})
	s.in(t).Kubectl("delete", "pod", "fill")

	const spec = `distribution: {name: starter}
workload:
  resources: {requests: {cpu: 100m, memory: 256Mi}}
  modelCache: {claimName: models}
`
	s.in(t).Apply(framework.Manifest(s.name, spec))
	s.waitReady(t)
	out := s.in(t).Kubectl("exec", s.pod(t).Name, "--", "python3", "-c", readCache)
	if want := "a tiny model 1 1\nRead-only file system"; !strings.Contains(out, want) {
		t.Errorf("the server's container finds %q, want %q", out, want)
	}
	did(t, "the server's container has the model of a PVC, read-only, and downloads nothing")

	s.in(t).Apply(framework.Manifest(s.name, spec+`providers: {inference: [{id: local, provider: "inline::sentence-transformers"}]}
resources: {models: [{name: example/other, provider: local, modelType: embedding, embeddingDimension: 4}]}
`))
	framework.Eventually(t, serverStart, "the missing model is named", func() error {
		if text := conditions(s.in(t).CR(s.name)); !strings.Contains(text, "the model cache does not have example/other: it has example/tiny") {
			return errors.New(text)
		}
		return nil
	})
	did(t, "the status names a model that the cache does not have")
	s.in(t).Kubectl("delete", "llamastackdistribution", s.name, "--wait")
	s.in(t).Kubectl("delete", "pvc", "models", "--wait=false")
}
