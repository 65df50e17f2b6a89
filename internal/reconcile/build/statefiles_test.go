// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// A server with a PVC whose configuration keeps state outside of it loses that state, unless another volume holds it.
//
// Proves: R97.
func TestStateOutsideOfTheVolumesIsAWarning(t *testing.T) {
	const (
		pvc     = "workload: {storage: {size: 1Gi}}"
		backend = "version: 2\nproviders: {}\nstorage: {backends: {kv: {type: kv_sqlite, db_path: %s}}}\n"
	)
	for name, c := range map[string]struct{ workload, content, lost string }{
		"elsewhere":             {pvc, strings.Replace(backend, "%s", "/opt/app-root/src/kv.db", 1), "storage.backends.kv.db_path (/opt/app-root/src/kv.db)"},
		"on the PVC":            {pvc, strings.Replace(backend, "%s", "/.llama/kv.db", 1), ""},
		"beside the PVC":        {pvc, strings.Replace(backend, "%s", "/.llama2/kv.db", 1), "storage.backends.kv.db_path (/.llama2/kv.db)"},
		"in the home directory": {pvc, strings.Replace(backend, "%s", "~/.llama/kv.db", 1), ""},
		"without a PVC":         {"workload: {replicas: 1}", strings.Replace(backend, "%s", "/opt/kv.db", 1), ""},
		"on another volume": {
			"workload: {storage: {size: 1Gi}, overrides: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], volumeMounts: [{name: v, mountPath: /opt}]}}",
			strings.Replace(backend, "%s", "/opt/kv.db", 1), "",
		},
		"on one that ends with the pod": {
			"workload: {storage: {size: 1Gi}, overrides: {volumes: [{name: v, emptyDir: {}}], volumeMounts: [{name: v, mountPath: /opt}]}}",
			strings.Replace(backend, "%s", "/opt/kv.db", 1), "storage.backends.kv.db_path (/opt/kv.db)",
		},
		"by the default of a variable": {pvc, strings.Replace(backend, "%s", "'${env.DIR:=/opt}/kv.db'", 1), "storage.backends.kv.db_path (/opt/kv.db)"},
		"by a variable": {
			"workload: {storage: {size: 1Gi}, overrides: {env: [{name: DIR, value: /.llama}]}}", strings.Replace(backend, "%s", "'${env.DIR:=/opt}/kv.db'", 1), "",
		},
		"in a provider": {
			pvc, "version: 2\nproviders: {vector_io: [{provider_id: m, provider_type: inline::milvus, config: {db_path: /opt/m.db, kvstore: {type: sqlite, db_path: /opt/k.db}}}]}\n",
			"providers.vector_io[0].config.db_path (/opt/m.db), providers.vector_io[0].config.kvstore.db_path (/opt/k.db)",
		},
		"in a provider that is off": {
			pvc, "version: 2\nproviders: {vector_io: [{provider_id: '${env.M:+m}', provider_type: inline::milvus, config: {db_path: /opt/m.db}}]}\n", "",
		},
		"at the top": {pvc, "version: 2\nproviders: {}\nmetadata_store: {type: sqlite, db_path: /m.db}\n", "metadata_store.db_path (/m.db)"},
	} {
		t.Run(name, func(t *testing.T) {
			in := overriding(t)
			in.CR.Spec.Workload = step.Spec(t, c.workload).Workload
			in.Override.Content = []byte(c.content)
			_, problems := Build(t.Context(), in)
			var got string
			for _, p := range problems {
				if p.Reason == problem.EphemeralState {
					got = p.String()
				}
			}
			if (got == "") != (c.lost == "") || !strings.Contains(got, "it is lost with the pod: "+c.lost) && c.lost != "" {
				t.Errorf("%q, want the files %q", got, c.lost)
			}
		})
	}
}
