// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The operator does not report connectors as missing because this server lists none in a database with this collation.
//
// Proves: R95.
func TestConnectorsInPostgresNeedCollationC(t *testing.T) {
	const password = "secret"
	for _, r := range bootedReleases(t) {
		list := lineOf(t, r).Lists["connectors"]
		if list == "" || lineOf(t, r).Stores["connectors"].Kind != catalog.KV {
			continue
		}
		database := framework.StartPostgresWithLocale(t, framework.Loopback, "en_US")
		for collation, want := range map[string]bool{"C": true, "en_US.utf8": false} {
			t.Run(r.version+"/"+collation, func(t *testing.T) {
				name := strings.ToLower(strings.ReplaceAll(collation, ".", "_"))
				database.Query(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", name, password))
				database.Query(t, fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0 LC_COLLATE '%s' LC_CTYPE '%s'", name, name, collation, collation))
				p := podFor(t, r, keysIn{}, database.DSN(name, password, name, ""), database.CA)
				withConnector(t, p.config)
				server, _ := bootPod(t, r, p)
				o, err := serverprobe.New().Probe(t.Context(), serverprobe.Server{URL: server, Lists: map[string]string{"connectors": list}, Slow: true})
				framework.NoError(t, err)
				if listed := len(o.Lists["connectors"].Entries) == 1; listed != want || o.Lists["connectors"].Error != "" {
					t.Errorf("listed %+v, want one: %t", o.Lists["connectors"], want)
				}
				stored := database.Query(t, fmt.Sprintf("\\c %s\nSELECT count(*) FROM (SELECT key FROM %s WHERE key LIKE '%%connectors:v1:github') k", name, keyTable(t, database, name)))
				if !strings.HasSuffix(stored, "1") {
					t.Errorf("stored: %s", stored)
				}
			})
		}
	}
}

// withConnector adds a connector to a configuration.
func withConnector(t *testing.T, file string) {
	t.Helper()
	var config map[string]any
	framework.NoError(t, yaml.Unmarshal(framework.ReadFile(t, file), &config))
	config["connectors"] = []map[string]string{{"connector_id": "github", "connector_type": "mcp", "url": "http://127.0.0.1:9/mcp"}}
	data, err := yaml.Marshal(config)
	framework.NoError(t, err)
	framework.NoError(t, os.WriteFile(filepath.Clean(file), data, 0o600))
}

// keyTable returns the table of the kv backend.
func keyTable(t *testing.T, database *framework.Postgres, name string) string {
	t.Helper()
	out := database.Query(t, fmt.Sprintf("\\c %s\nSELECT tablename FROM pg_tables WHERE tablename LIKE '%%_kvstore'", name))
	return out[strings.LastIndex(out, "\n")+1:]
}
