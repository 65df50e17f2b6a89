// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// storing returns the inputs of a custom resource in a namespace with this connection string and this Redis.
func storing(namespace, dsn, redis string) *Inputs {
	cr := &v1alpha2.LlamaStackDistribution{}
	cr.Namespace, cr.Name = namespace, "my-stack"
	cr.Spec.Storage = &v1alpha2.StateStorageSpec{}
	if dsn != "" {
		cr.Spec.Storage.SQL = &v1alpha2.SQLStorageSpec{Type: new(v1alpha2.SQLStoragePostgres),
			DatabaseConnection: v1alpha2.DatabaseConnection{
				ConnectionString: &v1alpha2.SecretKeyRef{Name: new("pg"), Key: new("dsn")},
			}}
	}
	if redis != "" {
		cr.Spec.Storage.KV = &v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStorageRedis), Endpoint: new(redis)}
	}
	in := NewInputs(cr)
	in.HashKey = secret.New([]byte(strings.Repeat("k", 32)))
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		in.Secrets = append(in.Secrets, SecretFact{Use: use, Value: secret.New([]byte(dsn))})
	}
	return in
}

func hashesOf(in *Inputs) string {
	in.Databases = in.FindDatabases()
	return strings.Join(in.databaseHashes(), ",")
}

// Proves: R95, R7 (one database has one hash, however its host is written; the hash is keyed).
func TestFindDatabases(t *testing.T) {
	const dsn = "postgresql://u:p%40ss@db.ai.svc:5432/state"
	first := hashesOf(storing("ai", dsn, ""))
	for name, c := range map[string]struct {
		namespace, dsn string
		same           bool
	}{
		"the same":                     {"ai", dsn, true},
		"a short name":                 {"ai", "postgresql://u:p@db/state", true},
		"the name in the cluster":      {"other", "postgresql://u:p@DB.ai.svc.cluster.local/state", true},
		"keywords":                     {"ai", "host=db.ai user=u password=x dbname=state sslmode=require", true},
		"another password":             {"ai", "postgresql://u:other@db/state", true},
		"a short name elsewhere":       {"other", "postgresql://u:p@db/state", false},
		"another database":             {"ai", "postgresql://u:p@db/other", false},
		"another user":                 {"ai", "postgresql://v:p@db/state", false},
		"another port":                 {"ai", "postgresql://u:p@db:5433/state", false},
		"another host":                 {"ai", "postgresql://u:p@db2/state", false},
		"a database beside the server": {"ai", "postgresql://u:p@localhost/state", false},
	} {
		if got := hashesOf(storing(c.namespace, c.dsn, "")); (got == first) != c.same {
			t.Errorf("%s: %s and %s", name, first, got)
		}
	}
	if a, b := hashesOf(storing("ai", "", "redis")), hashesOf(storing("ai", "", "redis://redis.ai.svc:6379")); a != b || a == "" {
		t.Errorf("Redis: %s and %s", a, b)
	}
	parts := storing("ai", "", "")
	parts.CR.Spec.Storage.SQL = &v1alpha2.SQLStorageSpec{DatabaseConnection: v1alpha2.DatabaseConnection{
		Host: new("db.ai"), User: new("u"), Database: new("state"),
	}}
	if got := hashesOf(parts); got != first {
		t.Errorf("by its parts: %s and %s", first, got)
	}
	named := storing("ai", "", "")
	named.CR.Spec.Storage.Backends = map[string]v1alpha2.StorageBackend{
		"a": {Type: "sql_postgres", DatabaseConnection: parts.CR.Spec.Storage.SQL.DatabaseConnection},
	}
	if got := hashesOf(named); got != first {
		t.Errorf("in a named backend: %s and %s", first, got)
	}
	named.CR.Spec.Storage.Backends = map[string]v1alpha2.StorageBackend{"a": {Type: "kv_redis", Endpoint: new("redis")}}
	if got, want := hashesOf(named), hashesOf(storing("ai", "", "redis")); got != want {
		t.Errorf("Redis in a named backend: %s and %s", want, got)
	}
	keyless := storing("ai", dsn, "redis:6379")
	keyless.HashKey = secret.Value{}
	if got := keyless.FindDatabases(); got != nil {
		t.Errorf("without a key: %v", got)
	}
	another := storing("ai", dsn, "")
	another.HashKey = secret.New([]byte(strings.Repeat("x", 32)))
	if hashesOf(another) == first {
		t.Error("the hash does not depend on the key")
	}
	for _, value := range []string{"127.0.0.1", "[::1]", "localhost"} {
		if got := hashesOf(storing("ai", "", value+":6379")); got != "" {
			t.Errorf("%s is in each pod, got %s", value, got)
		}
	}
}

// Proves: R95 (the databases of the user's own configuration, and of a base with variables, count as those of the spec).
func TestFindDatabasesOfConfigurations(t *testing.T) {
	const byVariables = `storage:
  backends:
    kv: {type: kv_redis, host: "${env.REDIS_HOST:=redis}", port: 6379}
    kv_local: {type: kv_sqlite, db_path: /x}
    sql: {type: sql_postgres, host: "${env.POSTGRES_HOST:=localhost}", port: "${env.POSTGRES_PORT:=5432}", db: "${env.POSTGRES_DB:=state}", user: "${env.POSTGRES_USER}"}
`
	line, _ := catalog.Get("1.5")
	const byURI = `{storage: {backends: {sql: {type: sql_postgres, connection_string: "${env.DSN}"}}}}`
	want := hashesOf(storing("ai", "postgresql://u:p@db/state", ""))
	withRedis := hashesOf(storing("ai", "postgresql://u:p@db/state", "redis"))
	redis := hashesOf(storing("ai", "", "redis"))
	fromSecret := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "pg"}, Key: "value"}}
	host, user := corev1.EnvVar{Name: "POSTGRES_HOST", Value: "db"}, corev1.EnvVar{Name: "POSTGRES_USER", Value: "u"}
	for name, c := range map[string]struct {
		config  string
		env     []corev1.EnvVar
		secret  string
		envFrom string
		want    string
	}{
		"variables":                {config: byVariables, env: []corev1.EnvVar{host, user}, want: withRedis},
		"a variable of a Secret":   {config: byVariables, env: []corev1.EnvVar{{Name: "POSTGRES_HOST", ValueFrom: fromSecret}, user}, secret: "db", want: withRedis},
		"all variables of one":     {config: byVariables, env: []corev1.EnvVar{host}, envFrom: "POSTGRES_USER", secret: "u", want: withRedis},
		"another user":             {config: byVariables, env: []corev1.EnvVar{host, {Name: "POSTGRES_USER", Value: "v"}}, want: "another"},
		"without a user":           {config: byVariables, env: []corev1.EnvVar{host}, want: redis},
		"beside the server":        {config: byVariables, env: []corev1.EnvVar{user}, want: redis},
		"a variable of a variable": {config: byVariables, env: []corev1.EnvVar{{Name: "POSTGRES_HOST", Value: "$(X)"}, user}, want: redis},
		"a connection string":      {config: byURI, env: []corev1.EnvVar{{Name: "DSN", ValueFrom: fromSecret}}, secret: "postgresql://u:p@db/state", want: want},
		"no configuration":         {config: "a: [", want: ""},
	} {
		for _, isBase := range []bool{false, true} {
			in := storing("ai", "", "")
			in.CR.Spec.Storage, in.Distribution = nil, &settings.Distribution{Line: line}
			in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: c.env}}
			ref := objects.Reference{Kind: objects.KindSecret, Namespace: "ai", Name: "pg"}
			if c.envFrom != "" {
				in.CR.Spec.Workload.Overrides.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "pg"}}}}
			}
			AddPodReference(in, ref, Lookup{}, map[string][]byte{cmp.Or(c.envFrom, "value"): []byte(c.secret)})
			path := PathOverride
			if isBase {
				path = pathVariables
				in.Distribution.Base, _ = serverconfig.ParseBase("", []byte(c.config))
			} else {
				in.CR.Spec.OverrideConfig, in.Override = &v1alpha2.OverrideConfigSpec{}, &OverrideFact{Content: []byte(c.config)}
			}
			if name == "variables" && isBase {
				in.CR.Spec.Storage = &v1alpha2.StateStorageSpec{KV: &v1alpha2.KVStorageSpec{}}
				if got := hashesOf(in); got != want {
					t.Errorf("with a kv of the spec: %+v", in.Databases)
				}
				in.CR.Spec.Storage = nil
			}
			got := hashesOf(in)
			if c.want == "another" && got != withRedis && len(in.Databases) == 2 {
				continue
			}
			if got != c.want || len(in.Databases) > 0 && in.Databases[0].Path != path {
				t.Errorf("%s: %+v, want %s", name, in.Databases, c.want)
			}
		}
	}
}

// Proves: R95 (a custom resource gets one warning for each shared database, without a value of a Secret).
func TestSharedDatabaseIsAWarning(t *testing.T) {
	in := storing("ai", "postgresql://user-canary:password-canary@db/name-canary", "redis:6379")
	in.Databases = in.FindDatabases()
	var r report
	r.warnSharedDatabases(in)
	if len(r.List()) != 0 {
		t.Error(r.List().Message())
	}
	for i := range in.Databases {
		in.Databases[i].Others = []types.NamespacedName{{Namespace: "ai", Name: "b"}, {Namespace: "other", Name: "c"}}
	}
	r.warnSharedDatabases(in)
	paths := map[string]bool{}
	for _, p := range r.List() {
		paths[p.Path] = true
		text := fmt.Sprint(p)
		if p.Reason != problem.SharedStorageLocation || p.Severity != problem.Warning || !strings.Contains(p.Detail, "ai/b, other/c") || strings.Contains(text, "canary") {
			t.Errorf("%s: %+v", p.Reason, p)
		}
	}
	if len(paths) != 2 || !paths["spec.storage.kv.endpoint"] || !paths["spec.storage.sql.connectionString"] {
		t.Errorf("warnings at %v", paths)
	}
	in.Databases = []Database{{Path: "spec.storage.sql.host", Hash: "1", Others: in.Databases[0].Others}}
	r = report{}
	r.warnSharedDatabases(in)
	if text := r.List().Message(); !strings.Contains(text, "name it in spec.storage.sql.database") {
		t.Errorf("a database by its parts: %s", text)
	}
	in.Databases = in.FindDatabases()
	if hashes := in.databaseHashes(); !slices.IsSorted(hashes) || len(hashes) != 2 {
		t.Errorf("hashes %v", hashes)
	}
}
