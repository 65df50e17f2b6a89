// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const storesOfDatabases = `version: 2
apis: [inference, files]
providers:
  files:
  - {provider_id: f, provider_type: "inline::localfs", config: {metadata_store: {backend: sql, table_name: files}}}
  - {provider_id: "${env.NONE:+g}", provider_type: "inline::localfs", config: {metadata_store: {backend: other, table_name: g}}}
  responses:
  - {provider_id: r, provider_type: "inline::builtin", config: {persistence: {responses: {backend: sql, table_name: r}, agent_state: {backend: kv, namespace: a}}}}
storage:
  backends:
    kv: {type: kv_redis, host: redis}
    sql: {type: sql_postgres, host: db}
    other: {type: sql_postgres, host: db}
    disk: {type: sql_sqlite, db_path: /x}
  stores:
    metadata: {backend: kv, namespace: registry}
    conversations: {backend: sql, table_name: c}
    inference: {backend: disk, table_name: i}
    prompts: {backend: gone, namespace: p}
`

// Proves: R95 (stores in files, of disabled providers and with unknown backends do not count).
func TestRemoteStoresFindsStoresInDatabases(t *testing.T) {
	got, err := serverconfig.RemoteStores([]byte(storesOfDatabases), document.Variables{})
	framework.NoError(t, err)
	want := []serverconfig.RemoteStore{
		{Name: "metadata", Backend: "kv", Type: "kv_redis"}, {Name: "conversations", Backend: "sql", Type: "sql_postgres"},
		{Name: "files", Backend: "sql", Type: "sql_postgres"}, {Name: "responses", Backend: "sql", Type: "sql_postgres"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := serverconfig.RemoteStores([]byte("a: ["), nil); err == nil {
		t.Error("no error for a file that is not YAML")
	}
}
