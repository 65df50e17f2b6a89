// SPDX-License-Identifier: Apache-2.0

package ogx_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Proves: R98, R103 (named backends and stores, which are newer than fields.txt).
func TestBackendsOfOGXServer(t *testing.T) {
	for name, c := range map[string]struct {
		storage, want string
		lost          []string
	}{
		"one of each kind": {
			storage: `backends:
      a: {type: kv_postgres, host: db, port: 5432, db: d, user: u, password: {name: pg, key: pw}, sslMode: require}
      b: {type: sql_postgres, host: db, db: d, user: u, password: {name: pg, key: pw}, caCertPath: /ca}`,
			want: `
kv: {type: postgres, host: db, port: 5432, database: d, user: u, password: {name: pg, key: pw}, sslMode: require}
sql: {type: postgres, host: db, database: d, user: u, password: {name: pg, key: pw}}`,
			lost: []string{"spec.storage.backends.b.caCertPath"},
		},
		"one of each kind with fields that kv and sql lack": {
			storage: `backends:
      a: {type: kv_postgres, host: db, port: "${env.PORT}", user: u, password: {name: pg, key: pw}, tableName: t, commandTimeout: 3}
      b: {type: sql_postgres, host: db, user: u, password: {name: pg, key: pw}}`,
			want: `
backends:
  kv_default: {type: kv_postgres, host: db, user: u, password: {name: pg, key: pw}, tableName: t, commandTimeout: 3}
  sql_default: {type: sql_postgres, host: db, user: u, password: {name: pg, key: pw}}`,
			lost: []string{"spec.storage.backends.a.port"},
		},
		"stores": {
			storage: `backends:
      a: {type: sql_postgres, host: db, user: u, password: {name: pg, key: pw}, poolSize: 5, maxOverflow: 0, poolRecycle: 60, poolPrePing: true}
      b: {type: kv_other}
    stores: {inference: {backend: a, tableName: t}, responses: {backend: a}, prompts: null}`,
			want: `
backends:
  a: {type: sql_postgres, host: db, user: u, password: {name: pg, key: pw}, poolSize: 5, maxOverflow: 0, poolRecycle: 60, poolPrePing: true}
  b: {type: kv_other}
stores: {inference: {backend: a}, responses: {backend: a}}`,
			lost: []string{"spec.storage.stores.inference.tableName"},
		},
	} {
		got, findings := to(tree(t, ogxHeader+"\n  storage:\n    "+c.storage+"\n"))
		spec, _ := got["spec"].(map[string]any)
		if diff := cmp.Diff(tree(t, c.want), spec["storage"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.lost, lost(findings)); diff != "" {
			t.Errorf("%s: lost (-want +got):\n%s\n%v", name, diff, findings)
		}
	}
}
