// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

// Only files of the server's own pod count, and only of enabled providers.
func TestLocalStateListsUnsharedStorage(t *testing.T) {
	base := parseBase(t, "mine", []byte(`
version: 2
providers:
  files:
  - {provider_id: local, provider_type: "inline::localfs"}
  - {provider_id: away, provider_type: "remote::s3"}
  inference:
  - {provider_id: embedder, provider_type: "inline::sentence-transformers"}
  vector_io:
  - {provider_id: faiss, provider_type: "inline::faiss"}
  - {provider_id: "${env.MILVUS:+milvus}", provider_type: "inline::milvus"}
  - {provider_id: chroma, provider_type: "remote::chromadb"}
storage:
  backends:
    sql: {type: sql_sqlite}
    kv: {type: kv_sqlite}
    shared: {type: sql_postgres}
`))
	want := []string{"provider files/local", "provider vector_io/faiss", "storage backend kv", "storage backend sql"}
	if diff := cmp.Diff(want, serverconfig.LocalState(base)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
