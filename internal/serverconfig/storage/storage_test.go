// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

const (
	sqliteKV   = "{type: kv_sqlite, db_path: /base/kv.db, namespace: mine}"
	sqliteSQL  = "{type: sql_sqlite, db_path: /base/sql.db}"
	postgresKV = "{type: kv_postgres, host: '${env.LLSD_STORAGE_KV_HOST}', port: '${env.LLSD_STORAGE_KV_PORT}', " +
		"db: '${env.LLSD_STORAGE_KV_DB}', user: '${env.LLSD_STORAGE_KV_USER}'}"
	postgresSQL = "{type: sql_postgres, host: '${env.LLSD_STORAGE_SQL_HOST}', port: '${env.LLSD_STORAGE_SQL_PORT}', " +
		"db: '${env.LLSD_STORAGE_SQL_DB}', user: '${env.LLSD_STORAGE_SQL_USER}', password: ''}"
)

// sqliteBase has one backend of each kind, and stores that use them.
var sqliteBase = baseWith(sqliteKV, sqliteSQL)

func baseWith(kv, sql string) string {
	return `
storage:
  backends:
    kv_default: ` + kv + `
    sql_default: ` + sql + `
  stores:
    metadata: {backend: kv_default, namespace: registry}
    inference: {backend: sql_default, table_name: inference_store}
    conversations: {backend: sql_default, table_name: openai_conversations}
`
}

func apply(t *testing.T, line *catalog.Line, base, spec string) (section, configured, variables string, problems *problem.Collector) {
	t.Helper()
	s := step.Spec(t, spec)
	doc, env, found := step.Document(t, base), environment.NewSet(s), &problem.Collector{}
	names := storage.Apply(doc, line, s.Storage, env, found)
	var b strings.Builder
	for _, v := range env.Needed() {
		fmt.Fprintf(&b, "%s=%s%s/%s %s\n", v.Name, v.Value, v.Ref.Name, v.Ref.Key, v.Part)
	}
	return step.Compact(t, step.Text(t, doc)), strings.Join(slices.Sorted(maps.Keys(names)), " "), b.String(), found
}

// Proves: FR-050, FR-051, FR-052, R24, R67, L-13.
func TestApplySetsBackends(t *testing.T) {
	const threeBackends = `
storage:
  backends:
    kv_default: {type: kv_sqlite, db_path: k}
    sql_default: {type: sql_sqlite, db_path: s}
    sql_other: {type: sql_sqlite, db_path: o}
`
	const shared = "PGPASSWORD=creds/dsn the password\nPGSSLMODE=creds/dsn the TLS mode\nPGSSLROOTCERT=creds/dsn the CA certificates\n"
	for name, c := range map[string]struct{ line, base, spec, want, configured, variables, problems string }{
		"nothing in the spec leaves the base as it is": {base: sqliteBase, spec: "{}", want: sqliteBase},
		"an empty storage leaves the base as it is":    {base: sqliteBase, spec: "storage: {}", want: sqliteBase},
		"a base without the section gets what the server would do": {
			line: "0.3", base: "apis: []\n", spec: "{}", want: `
apis: []
storage:
  backends:
    kv_default: {type: kv_sqlite, db_path: "${env.SQLITE_STORE_DIR:=/.llama}/kvstore.db"}
    sql_default: {type: sql_sqlite, db_path: "${env.SQLITE_STORE_DIR:=/.llama}/sql_store.db"}
  stores:
    conversations: {backend: sql_default, table_name: openai_conversations}
    inference: {backend: sql_default, table_name: inference_store}
    metadata: {backend: kv_default, namespace: registry}
`,
		},
		"SQLite keeps the file of the base": {
			line: "0.3", base: sqliteBase, spec: "storage: {kv: {}, sql: {type: sqlite}}", want: sqliteBase, configured: "kv_default sql_default",
		},
		"Redis takes the place of SQLite, and nothing of the file stays": {
			line: "0.3", base: sqliteBase, spec: "storage: {kv: {type: redis, endpoint: 'redis.ns:6380'}}", configured: "kv_default",
			want: baseWith("{type: kv_redis, host: redis.ns, port: 6380}", sqliteSQL),
		},
		"every backend of the kind is replaced, with what does not say which database it is": {
			line: "0.3", configured: "b kv_default",
			base: baseWith("{type: kv_redis, host: old, port: 1, namespace: kept}\n    b: {type: kv_sqlite, db_path: x}", sqliteSQL),
			spec: "storage: {kv: {type: redis, endpoint: redis.ns}}",
			want: baseWith("{type: kv_redis, host: redis.ns, port: 6379, namespace: kept}\n    b: {type: kv_redis, host: redis.ns, port: 6379}", sqliteSQL),
		},
		"SQLite in place of Redis has a file of the backend's name": {
			line: "0.3", configured: "cache",
			base: strings.ReplaceAll(baseWith("{type: kv_redis, host: old, port: 1}", sqliteSQL), "kv_default", "cache"),
			spec: "storage: {kv: {}}",
			want: strings.ReplaceAll(baseWith("{type: kv_sqlite, db_path: '${env.SQLITE_STORE_DIR:=/.llama}/cache.db'}", sqliteSQL), "kv_default", "cache"),
		},
		"a kind without a backend gets the server's own, and stores of the kind use it": {
			line: "0.3", configured: "kv_default", base: `
storage:
  backends:
    mine: {type: sql_sqlite, db_path: /base/sql.db}
`,
			spec: "storage: {kv: {}}", want: `
storage:
  backends:
    mine: {type: sql_sqlite, db_path: /base/sql.db}
    kv_default: {type: kv_sqlite, db_path: "${env.SQLITE_STORE_DIR:=/.llama}/kvstore.db"}
  stores:
    conversations: {backend: mine, table_name: openai_conversations}
    inference: {backend: mine, table_name: inference_store}
    metadata: {backend: kv_default, namespace: registry}
`,
		},
		"a store follows the release line's kind, and the backend that others of the kind use": {
			line: "0.3", configured: "kv_default", base: threeBackends + `  stores:
    conversations: {backend: kv_default, namespace: talks}
    inference: {backend: sql_other, table_name: i}
    metadata: {backend: "${env.KV}", namespace: m}
    responses: {backend: gone, namespace: ns, table_name: tb}
    unknown: {backend: gone, namespace: ns}
`,
			spec: "storage: {kv: {}}", want: threeBackends + `  stores:
    conversations: {backend: sql_other, table_name: talks}
    inference: {backend: sql_other, table_name: i}
    metadata: {backend: "${env.KV}", namespace: m}
    responses: {backend: sql_other, namespace: ns, table_name: tb}
    unknown: {backend: gone, namespace: ns}
`,
		},
		"stores of the key-value kind get a namespace": {
			line: "0.3", configured: "kv_default", base: `
storage:
  backends: {kv_default: {type: kv_sqlite, db_path: k}, sql_default: {type: sql_sqlite, db_path: s}}
  stores: {conversations: null, inference: null, metadata: {backend: sql_default, table_name: registry}}
`,
			spec: "storage: {kv: {}}", want: `
storage:
  backends: {kv_default: {type: kv_sqlite, db_path: k}, sql_default: {type: sql_sqlite, db_path: s}}
  stores: {conversations: null, inference: null, metadata: {backend: kv_default, namespace: registry}}
`,
		},
		"the password of Redis stands before its host, and the log is kept quiet": {
			line: "0.7", base: sqliteBase + "    prompts: null\n    connectors: null\n", configured: "kv_default",
			spec:      "storage: {kv: {type: redis, endpoint: 'redis://[fd00::1]:1', password: {name: creds, key: pw}}}",
			want:      baseWith(`{type: kv_redis, host: "default:${env.LLSD_STORAGE_KV_PASSWORD}@[fd00::1]", port: 1}`, sqliteSQL) + "    prompts: null\n    connectors: null\n",
			variables: "LLSD_STORAGE_KV_PASSWORD=creds/pw the Redis password\nLLAMA_STACK_LOGGING=core=warning/ \n",
		},
		"PostgreSQL by its parts": {
			line: "0.3", base: sqliteBase, configured: "sql_default",
			spec: "storage: {sql: {type: postgres, connectionString: {name: creds, key: dsn}}}",
			want: baseWith(sqliteKV, strings.Replace(postgresSQL, "_DB}", "_DB}?", 1)),
			variables: "LLSD_STORAGE_SQL_HOST=creds/dsn the host, for a URL\nLLSD_STORAGE_SQL_PORT=creds/dsn the port\n" +
				"LLSD_STORAGE_SQL_DB=creds/dsn the database, for a URL\nLLSD_STORAGE_SQL_USER=creds/dsn the user, for a URL\n" +
				shared,
		},
		"key-value state in PostgreSQL: the parts as they are, and no password": {
			line: "0.3", base: sqliteBase, configured: "kv_default",
			spec: "storage: {kv: {type: postgres, connectionString: {name: creds, key: dsn}}}",
			want: baseWith(postgresKV, sqliteSQL),
			variables: "LLSD_STORAGE_KV_HOST=creds/dsn the host\nLLSD_STORAGE_KV_PORT=creds/dsn the port\n" +
				"LLSD_STORAGE_KV_DB=creds/dsn the database\nLLSD_STORAGE_KV_USER=creds/dsn the user\n" + shared,
		},
		"one PostgreSQL for all state: what all of its clients read is set once": {
			line: "1.0", base: sqliteBase + "    prompts: null\n    connectors: null\n    vector_stores: null\n", configured: "kv_default sql_default",
			spec: "storage: {kv: {type: postgres, connectionString: {name: creds, key: dsn}}, sql: {type: postgres, connectionString: {name: creds, key: dsn}}}",
			want: baseWith(postgresKV, postgresSQL) +
				"    prompts: null\n    connectors: null\n    vector_stores: null\n",
			variables: "LLSD_STORAGE_KV_HOST=creds/dsn the host\nLLSD_STORAGE_KV_PORT=creds/dsn the port\n" +
				"LLSD_STORAGE_KV_DB=creds/dsn the database\nLLSD_STORAGE_KV_USER=creds/dsn the user\n" + shared +
				"LLSD_STORAGE_SQL_HOST=creds/dsn the host\nLLSD_STORAGE_SQL_PORT=creds/dsn the port\n" +
				"LLSD_STORAGE_SQL_DB=creds/dsn the database\nLLSD_STORAGE_SQL_USER=creds/dsn the user\n",
		},
		"PostgreSQL in parts of the spec": {
			line: "0.3", base: sqliteBase, configured: "sql_default",
			spec:      "storage: {sql: {type: postgres, host: 'fd00::1', user: 'us@er', password: {name: creds, key: pw}, sslMode: require}}",
			want:      baseWith(sqliteKV, "{type: sql_postgres, host: '[fd00::1]', port: 5432, db: us@er, user: us%40er, password: ''}"),
			variables: "PGPASSWORD=creds/pw the password\nPGSSLMODE=creds/pw the TLS mode\nPGSSLROOTCERT=creds/pw the CA certificates\n",
		},
		"PostgreSQL in parts of the spec as a connection string": {
			base: sqliteBase + "    prompts: null\n    connectors: null\n", configured: "sql_default",
			spec:      "storage: {sql: {type: postgres, host: db, port: 5433, database: d, user: u, password: {name: creds, key: pw}}}",
			want:      baseWith(sqliteKV, "{type: sql_postgres, connection_string: '${env.LLSD_STORAGE_SQL_CONNECTION_STRING}'}") + "    prompts: null\n    connectors: null\n",
			variables: "LLSD_STORAGE_SQL_CONNECTION_STRING=creds/pw the connection string\n",
		},
		"two PostgreSQL with two passwords": {
			line: "1.0", base: sqliteBase + "    prompts: null\n    connectors: null\n    vector_stores: null\n", configured: "kv_default sql_default",
			spec: "storage: {kv: {type: postgres, host: a, user: u, password: {name: creds, key: a}}, sql: {type: postgres, host: b, user: u, password: {name: creds, key: b}}}",
			want: baseWith("{type: kv_postgres, host: a, port: 5432, db: u, user: u}",
				"{type: sql_postgres, host: b, port: 5432, db: u, user: u, password: '${env.LLSD_STORAGE_SQL_PASSWORD}'}") +
				"    prompts: null\n    connectors: null\n    vector_stores: null\n",
			variables: "PGPASSWORD=creds/a the password\nPGSSLMODE=creds/a the TLS mode\nPGSSLROOTCERT=creds/a the CA certificates\n" +
				"LLSD_STORAGE_SQL_PASSWORD=creds/b the password\n",
		},
		"two PostgreSQL with two passwords, of which one is a part of a URL": {
			line: "0.8", base: sqliteBase + "    prompts: null\n    connectors: null\n", configured: "kv_default sql_default",
			spec: "storage: {kv: {type: postgres, host: a, user: u, password: {name: creds, key: a}}, sql: {type: postgres, host: b, user: u, password: {name: creds, key: b}}}",
			want: baseWith("{type: kv_postgres, host: a, port: 5432, db: u, user: u}",
				"{type: sql_postgres, host: b, port: 5432, db: u, user: u, password: '${env.LLSD_STORAGE_SQL_PASSWORD}'}") +
				"    prompts: null\n    connectors: null\n",
			variables: "PGPASSWORD=creds/a the password\nPGSSLMODE=creds/a the TLS mode\nPGSSLROOTCERT=creds/a the CA certificates\n" +
				"LLSD_STORAGE_SQL_PASSWORD=creds/b the password, for a URL\n",
		},
		"named backends replace those of the base and stand beside them": {
			base: sqliteBase + "    prompts: null\n    connectors: null\n", configured: "cache sql_default",
			spec: "storage: {backends: {cache: {type: kv_redis, endpoint: 'redis:6379/0'}, sql_default: {type: sql_postgres, connectionString: {name: creds, key: dsn}, poolSize: 3, maxOverflow: 0, poolRecycle: -1, poolPrePing: false}}}",
			want: `
storage:
  backends:
    kv_default: ` + sqliteKV + `
    sql_default: {type: sql_postgres, connection_string: "${env.LLSD_STORAGE_SQL_DEFAULT_CONNECTION_STRING}", pool_size: 3, max_overflow: 0, pool_recycle: -1, pool_pre_ping: false}
    cache: {type: kv_redis, host: redis, port: 6379}
  stores:
    metadata: {backend: kv_default, namespace: registry}
    inference: {backend: sql_default, table_name: inference_store}
    conversations: {backend: sql_default, table_name: openai_conversations}
    prompts: null
    connectors: null
`,
			variables: "LLSD_STORAGE_SQL_DEFAULT_CONNECTION_STRING=creds/dsn the connection string\n",
		},
		"stores by name": {
			base: sqliteBase + "    prompts: {backend: sql_default, table_name: p}\n    connectors: null\n    vector_stores: {backend: sql_default, table_name: v}\n", configured: "other",
			spec: "storage: {backends: {other: {type: sql_sqlite}}, stores: {prompts: {backend: other}, inference: false, vector_stores: null, responses: {backend: other}, connectors: {backend: sql_default}}}",
			want: `
storage:
  backends:
    kv_default: ` + sqliteKV + `
    sql_default: ` + sqliteSQL + `
    other: {type: sql_sqlite, db_path: "${env.SQLITE_STORE_DIR:=/.llama}/other.db"}
  stores:
    metadata: {backend: kv_default, namespace: registry}
    inference: {backend: sql_default, table_name: inference_store, enabled: false}
    conversations: {backend: sql_default, table_name: openai_conversations}
    prompts: {backend: other, table_name: p}
    connectors: {backend: sql_default, table_name: connectors}
    vector_stores: null
    responses: {backend: other, table_name: responses}
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			line := catalog.Newest()
			if c.line != "" {
				line = c.line
			}
			section, configured, variables, problems := apply(t, step.Line(t, line), c.base, c.spec)
			if diff := cmp.Diff(step.Compact(t, c.want), section); diff != "" {
				t.Errorf("the section (-want +got):\n%s", diff)
			}
			if configured != c.configured {
				t.Errorf("configured are %q, want %q", configured, c.configured)
			}
			if diff := cmp.Diff(c.variables, variables); diff != "" {
				t.Errorf("the variables (-want +got):\n%s", diff)
			}
			step.Problems(t, "", problems, c.problems)
		})
	}
}

// Errors name the field. They do not quote endpoints, which may hold a password.
//
// Proves: FR-050, FR-050a, FR-050b, FR-075, R7.
func TestApplyReportsInvalidStorage(t *testing.T) {
	for name, c := range map[string]struct{ line, base, spec, want string }{
		"an endpoint without Redis": {
			spec: "storage: {kv: {endpoint: redis.ns}}", want: "ConflictingFields spec.storage.kv.endpoint\n",
		},
		"a password without Redis": {
			spec: "storage: {kv: {password: {name: a, key: b}}}", want: "ConflictingFields spec.storage.kv.password\n",
		},
		"a connection string without PostgreSQL": {
			spec: "storage: {sql: {connectionString: {name: a, key: b}}}",
			want: "ConflictingFields spec.storage.sql.connectionString\n",
		},
		"unknown types": {
			spec: "storage: {kv: {type: etcd}, sql: {type: oracle}}",
			want: "InvalidField spec.storage.kv.type\nInvalidField spec.storage.sql.type\n",
		},
		"PostgreSQL without a connection string": {
			spec: "storage: {sql: {type: postgres}}",
			want: "MissingField spec.storage.sql.connectionString\n",
		},
		"fields of other types beside Redis and PostgreSQL": {
			spec: "storage: {kv: {type: redis, endpoint: h, connectionString: {name: a, key: b}}}",
			want: "ConflictingFields spec.storage.kv.connectionString\n",
		},
		"fields of Redis beside PostgreSQL": {
			spec: "storage: {kv: {type: postgres, endpoint: h, password: {name: a, key: b}, connectionString: {name: a, key: b}}}",
			want: "ConflictingFields spec.storage.kv.endpoint\nConflictingFields spec.storage.kv.connectionString\n",
		},
		"key-value state in PostgreSQL without a connection string": {
			spec: "storage: {kv: {type: postgres}}",
			want: "MissingField spec.storage.kv.connectionString\n",
		},
		"two TLS modes where one is for all": {
			line: "1.4", spec: "storage: {kv: {type: postgres, host: a, user: u, password: {name: a, key: b}, sslMode: require}, sql: {type: postgres, host: b, user: u, password: {name: a, key: b}}}",
			want: "ConflictingFields spec.storage.sql.sslMode\n",
		},
		"parts of a database with what the server changes": {
			line: "0.8", spec: "storage: {sql: {type: postgres, host: b, database: 'a?b', user: '${env.USER}', password: {name: a, key: b}}}",
			want: "InvalidField spec.storage.sql.database\nInvalidField spec.storage.sql.user\n",
		},
		"backends of the other kind than those of their names": {
			spec: "storage: {backends: {kv_default: {type: sql_sqlite}, sql_default: {type: kv_redis, endpoint: 'r:6379'}}}",
			want: "InvalidField spec.storage.backends[kv_default].type\nInvalidField spec.storage.backends[sql_default].type\n",
		},
		"a host with a port": {
			spec: "storage: {sql: {type: postgres, host: 'db:5433', user: u, password: {name: a, key: b}}}",
			want: "InvalidField spec.storage.sql.host\n",
		},
		"a host without a password": {
			spec: "storage: {sql: {type: postgres, host: b, user: u}}", want: "MissingField spec.storage.sql.connectionString\n",
		},
		"fields of a backend that the release line does not have": {
			line: "0.6", spec: "storage: {backends: {sql_default: {type: sql_postgres, host: b, user: u, password: {name: a, key: b}, poolSize: 3, commandTimeout: 3}}}",
			want: "UnsupportedByRelease spec.storage.backends[sql_default].poolSize\nUnsupportedByRelease spec.storage.backends[sql_default].commandTimeout\n",
		},
		"a backend of an unknown type and one with an invalid name": {
			spec: "storage: {backends: {a: {type: sqlite}, 1.2: {type: kv_sqlite}}}",
			want: "InvalidField spec.storage.backends[1.2]\nInvalidField spec.storage.backends[a].type\n",
		},
		"a named backend with fields of another type": {
			spec: "storage: {backends: {a: {type: kv_redis, host: h}, b: {type: sql_sqlite, password: {name: a, key: b}, endpoint: 'r:6379'}}}",
			want: "ConflictingFields spec.storage.backends[a].host\nMissingField spec.storage.backends[a].endpoint\nConflictingFields spec.storage.backends[b].endpoint\n" +
				"ConflictingFields spec.storage.backends[b].password\n",
		},
		"stores that do not exist, cannot be off, and name no backend of their kind": {
			line: "1.3", spec: "storage: {stores: {infer: null, metadata: null, inference: false, conversations: {backend: kv_default}, prompts: {backend: sql_default, table: x}, responses: x}}",
			want: "InvalidField spec.storage.stores[conversations].backend\nInvalidField spec.storage.stores[infer]\nUnsupportedByRelease spec.storage.stores[inference]\n" +
				"UnsupportedByRelease spec.storage.stores[metadata]\nInvalidField spec.storage.stores[prompts]\nInvalidField spec.storage.stores[responses]\n",
		},
		"both forms": {
			spec: "storage: {kv: {}, stores: {responses: null}}", want: "ConflictingFields spec.storage\n",
		},
		"a store that the release line does not have": {
			line: "0.7", spec: "storage: {stores: {vector_stores: {backend: sql_default}}}",
			want: "UnsupportedByRelease spec.storage.stores[vector_stores]\n",
		},
		"two PostgreSQL where each connection has its own password": {
			line: catalog.Newest(), spec: "storage: {kv: {type: postgres, connectionString: {name: a, key: b}}, sql: {type: postgres, connectionString: {name: a, key: c}}}",
		},
		"an incomplete connection string is left to SecretUses": {spec: "storage: {sql: {type: postgres, connectionString: {name: '', key: ''}}}"},
		"an incomplete password is left to SecretUses": {
			spec: "storage: {kv: {type: redis, endpoint: h, password: {name: '', key: ''}}}",
		},
		"Redis without an endpoint": {
			spec: "storage: {kv: {type: redis}}", want: "MissingField spec.storage.kv.endpoint\n",
		},
		"a password that the release line would print": {
			line: "0.3", spec: "storage: {kv: {type: redis, endpoint: h, password: {name: a, key: b}}}",
			want: "UnsupportedByRelease spec.storage.kv.password\n",
		},
		"kv alone, with SQL where a variable says": {
			base: baseWith(sqliteKV, "{type: sql_postgres, host: '${env.PGHOST}'}"),
			spec: "storage: {kv: {}}",
			want: "Warning UndefinedVariable spec.storage.sql\n",
		},
		"sql alone, with kv where a variable says": {
			base: baseWith("{type: kv_redis, host: '${env.REDIS_HOST:=}'}", sqliteSQL),
			spec: "storage: {sql: {}}",
			want: "Warning UndefinedVariable spec.storage.kv\n",
		},
		"sql alone, with kv where a variable of the spec says": {
			base: baseWith("{type: kv_redis, host: '${env.REDIS_HOST}'}", sqliteSQL),
			spec: "{storage: {sql: {}}, workload: {overrides: {env: [{name: REDIS_HOST, value: r}]}}}",
		},
		"both, whatever the base says": {
			base: baseWith("{type: kv_redis, host: '${env.REDIS_HOST}'}", sqliteSQL),
			spec: "storage: {kv: {}, sql: {}}",
		},
		"backends of the base that would become one": {
			base: `
storage:
  backends:
    a: {type: kv_sqlite, db_path: a}
    b: {type: kv_sqlite, db_path: b}
    sql_default: {type: sql_sqlite, db_path: s}
  stores: {metadata: {backend: a, namespace: same}}
providers:
  vector_io:
  - {provider_id: x, provider_type: inline::faiss, config: {persistence: {backend: b, namespace: same}}}
  - {provider_id: y, provider_type: inline::faiss, config: {persistence: {backend: b, namespace: same}}}
  - {provider_id: z, provider_type: inline::faiss, config: {persistence: {backend: b, namespace: other}}}
`,
			spec: "storage: {kv: {type: redis, endpoint: h}}",
			want: "SharedStorageLocation spec.storage.kv\nSharedStorageLocation spec.storage.kv\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			line := catalog.Newest()
			if c.line != "" {
				line = c.line
			}
			base := c.base
			if base == "" {
				base = sqliteBase
			}
			_, _, _, problems := apply(t, step.Line(t, line), base, c.spec)
			step.Problems(t, "", problems, c.want)
		})
	}
}

// A backend type is rejected if the release line lacks it or its credential form is unknown.
func TestApplyRejectsBackendsMissingInReleaseLine(t *testing.T) {
	const spec = "storage: {kv: {type: redis, endpoint: h}, sql: {type: postgres, connectionString: {name: a, key: b}}}"
	for name, backends := range map[string]map[string]catalog.Backend{"absent": {}, "unknown credentials": {"kv_redis": {}, "sql_postgres": {}}} {
		line := step.Newest(t)
		line.Backends = backends
		section, _, _, problems := apply(t, line, sqliteBase, spec)
		step.Problems(t, name, problems, "UnsupportedByRelease spec.storage.kv.type\nUnsupportedByRelease spec.storage.sql.type\n")
		if !strings.Contains(section, "kv_sqlite") || !strings.Contains(section, "sql_sqlite") {
			t.Errorf("%s: %s", name, section)
		}
	}
}

// Depending on the release line, PostgreSQL gets the connection string as a whole or in parts.
//
// Proves: FR-051, R49.
func TestApplyWritesCredentialsForReleaseLine(t *testing.T) {
	const spec = "storage: {sql: {type: postgres, connectionString: {name: creds, key: dsn}}}"
	for credentials, want := range map[catalog.CredentialForm][2]string{
		catalog.CredentialsURI:   {`"connection_string":"${env.LLSD_STORAGE_SQL_CONNECTION_STRING}"`, "LLSD_STORAGE_SQL_CONNECTION_STRING=creds/dsn the connection string\n"},
		catalog.CredentialsParts: {`"db":"${env.LLSD_STORAGE_SQL_DB}"`, "LLSD_STORAGE_SQL_DB=creds/dsn the database\n"},
	} {
		line := step.Newest(t)
		line.Backends = map[string]catalog.Backend{"sql_postgres": {Credentials: credentials}}
		section, _, variables, problems := apply(t, line, sqliteBase, spec)
		step.Problems(t, string(credentials), problems, "")
		if !strings.Contains(section, want[0]) || !strings.Contains(variables, want[1]) {
			t.Errorf("%s: %s\n%s", credentials, section, variables)
		}
	}
}

// Proves: FR-050, R7.
func TestApplyReadsTheEndpointOfRedis(t *testing.T) {
	for endpoint, want := range map[string]string{
		"redis.ns:6380": "redis.ns 6380", "redis.ns": "redis.ns 6379", "redis://redis.ns": "redis.ns 6379", "REDIS://redis.ns:1/": "redis.ns 1",
		"10.0.0.1:65535": "10.0.0.1 65535", "[fd00::1]": "[fd00::1] 6379", "redis://[fd00::1]:7/": "[fd00::1] 7",
		"rediss://redis.ns": "InvalidField spec.storage.kv.endpoint",
		"http://redis.ns":   "InvalidField spec.storage.kv.endpoint",
		"unix:///run/redis": "InvalidField spec.storage.kv.endpoint",
		"redis.ns:1/0":      "redis.ns 1", "redis://redis.ns:6379/0": "redis.ns 6379",
		"redis://redis.ns/3":         "InvalidField spec.storage.kv.endpoint",
		"redis.ns?ssl=true":          "InvalidField spec.storage.kv.endpoint",
		"redis.ns/?":                 "InvalidField spec.storage.kv.endpoint",
		"redis.ns#x":                 "InvalidField spec.storage.kv.endpoint",
		"redis://u:hunter2@redis.ns": "InvalidField spec.storage.kv.endpoint",
		"u:hunter2@redis.ns:1":       "InvalidField spec.storage.kv.endpoint",
		"${env.REDIS}":               "InvalidField spec.storage.kv.endpoint",
		"a b":                        "InvalidField spec.storage.kv.endpoint",
		"a,b":                        "InvalidField spec.storage.kv.endpoint",
		"redis.ns:hunter2":           "InvalidField spec.storage.kv.endpoint",
		"redis.ns:0":                 "InvalidField spec.storage.kv.endpoint",
		"redis.ns:":                  "InvalidField spec.storage.kv.endpoint",
		"fd00::1":                    "InvalidField spec.storage.kv.endpoint",
		"redis://":                   "InvalidField spec.storage.kv.endpoint",
		":6379":                      "InvalidField spec.storage.kv.endpoint",
	} {
		section, _, _, problems := apply(t, step.Newest(t), sqliteBase, fmt.Sprintf("storage: {kv: {type: redis, endpoint: %q}}", endpoint))
		if strings.Contains(step.Texts(problems), "hunter2") {
			t.Errorf("%q: the message quotes the endpoint: %s", endpoint, step.Texts(problems))
		}
		if strings.HasPrefix(want, "InvalidField") {
			step.Problems(t, endpoint, problems, want+"\n")
			if !strings.Contains(section, "kv_sqlite") {
				t.Errorf("%q: %s", endpoint, section)
			}
			continue
		}
		step.Problems(t, endpoint, problems, "")
		host, port, _ := strings.Cut(want, " ")
		if !strings.Contains(section, fmt.Sprintf(`"host":%q,"port":%s,"type":"kv_redis"`, host, port)) {
			t.Errorf("%q: %s", endpoint, section)
		}
	}
}

// Proves: FR-052.
func TestSecretUsesNamesTheSecretsOfTheStorage(t *testing.T) {
	for text, want := range map[string]struct{ uses, problems string }{
		"{}":                         {},
		"storage: {}":                {},
		"storage: {kv: {}, sql: {}}": {},
		"storage: {kv: {password: {name: a, key: b}}, sql: {connectionString: {name: c, key: d}}}": {
			uses: "LLSD_STORAGE_KV_PASSWORD=a/b spec.storage.kv.password\nLLSD_STORAGE_SQL_CONNECTION_STRING=c/d spec.storage.sql.connectionString\n",
		},
		"storage: {kv: {connectionString: {name: a, key: b}}}": {
			uses: "LLSD_STORAGE_KV_CONNECTION_STRING=a/b spec.storage.kv.connectionString\n",
		},
		"storage: {kv: {password: {name: '', key: b}}}":          {problems: "spec.storage.kv.password.name"},
		"storage: {sql: {connectionString: {name: c, key: ''}}}": {problems: "spec.storage.sql.connectionString.key"},
		"storage: {kv: {connectionString: {name: c, key: ''}}}":  {problems: "spec.storage.kv.connectionString.key"},
	} {
		var found problem.Collector
		var b strings.Builder
		for _, use := range storage.SecretUses(step.Spec(t, text).Storage, &found) {
			if !use.Derived {
				t.Errorf("%s: the variable of %s is not derived from the Secret", text, use.Path)
			}
			fmt.Fprintf(&b, "%s=%s/%s %s\n", use.EnvName, use.Ref.Name, use.Ref.Key, use.Path)
		}
		if b.String() != want.uses || (want.problems == "") != (len(found.List()) == 0) || !strings.Contains(step.Reasons(&found), want.problems) {
			t.Errorf("%s: %s\n%s", text, b.String(), step.Reasons(&found))
		}
	}
}

func TestDefaultBackendPrefersNameOfTheServer(t *testing.T) {
	for text, want := range map[string]string{
		"{a: {type: kv_redis}, kv_default: {type: kv_sqlite}}":              "kv_default",
		"{s: {type: sql_sqlite}, a: {type: kv_redis}, b: {type: kv_redis}}": "a",
		"{kv_default: {type: sql_sqlite}, a: {type: kv_redis}}":             "a",
		"{kv_default: {type: '${env.T}'}}":                                  "kv_default",
		"{}":                                                                "kv_default",
	} {
		doc := step.Document(t, "storage: {backends: "+text+"}\n")
		if got := storage.DefaultBackend(doc.Backends(), catalog.KV); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// If vector stores are registered in SQL, a missing entry gets the backend of the other stores.
//
// Proves: R84.
func TestKeepVectorStoresAddsTheMissingEntry(t *testing.T) {
	const entry = "{backend: b, table_name: vector_stores}"
	for name, c := range map[string]struct {
		stores       map[string]catalog.Store
		entry, wants string
	}{
		"absent":                           {map[string]catalog.Store{"vector_stores": {Kind: catalog.SQL}}, "", entry},
		"null":                             {map[string]catalog.Store{"vector_stores": {Kind: catalog.SQL}}, "null", entry},
		"there":                            {map[string]catalog.Store{"vector_stores": {Kind: catalog.SQL}}, "{backend: a}", "{backend: a}"},
		"a release line without":           {nil, "", ""},
		"a release line with another kind": {map[string]catalog.Store{"vector_stores": {Kind: catalog.KV}}, "", ""},
	} {
		storesOf := func(entry string) string {
			if entry != "" {
				entry = ", vector_stores: " + entry
			}
			return "storage: {backends: {a: {type: sql_sqlite}, b: {type: sql_sqlite}}, stores: {inference: {backend: b}" + entry + "}}\n"
		}
		line := step.Newest(t)
		line.Stores = c.stores
		doc := step.Document(t, storesOf(c.entry))
		storage.KeepVectorStores(doc, line)
		if got, want := step.Compact(t, step.Text(t, doc)), step.Compact(t, storesOf(c.wants)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Proves: R34 (the fix names the first newer release line without shared passwords).
func TestOwnPasswordsNamesANewerReleaseLine(t *testing.T) {
	shares := func(line string) bool {
		return step.Line(t, line).Backends["sql_postgres"].Credentials != catalog.CredentialsURI
	}
	for i, line := range catalog.Lines() {
		want := ""
		for _, newer := range catalog.Lines()[i+1:] {
			if want == "" && !shares(newer) {
				want = ", or use release line " + newer + " or a newer one, where clients do not share it"
			}
		}
		if got := storage.SeparatePasswordsFix(step.Line(t, line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
