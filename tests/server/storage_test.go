// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// hardPasswords are passwords that need quoting, or that look like another type.
var hardPasswords = []string{
	`p@:/#%41?&"' 1`, "123456", "1e5", "true", "~root", "${env.HOME}", "$(HOME)", `a+b=[c]{d}\|é`, "-", "%", "with  spaces ",
}

// storageCR is a custom resource that keeps its state in Redis and PostgreSQL.
const storageCR = `
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: my-stack, namespace: models, uid: 11111111-2222-3333-4444-555555555555}
spec:
  distribution: {name: small}
  storage:
    kv:
      type: redis
      endpoint: redis://127.0.0.1:%d
      password: {name: redis-creds, key: password}
    sql:
      type: postgres
      connectionString: {name: pg-creds, key: dsn}
  networking: {tls: {caBundle: {configMapName: trusted-ca}}}
`

// keysIn is the key-value storage: a Redis, or the PostgreSQL of the SQL storage if there is no port.
type keysIn struct {
	port     int
	password string
}

// storageBase is a base that boots on every release, without a storage section.
const storageBase = `
version: 2
distro_name: small
image_name: small
%s
providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vllm
    config: {%s: "${env.VLLM_URL:=http://127.0.0.1:9/v1}", api_token: none}
server: {host: 127.0.0.1, port: 8321}
`

// pod is the configuration and the environment of a server's container.
type pod struct {
	config string
	env    map[string]string
}

// podFor builds the pod of a resource, with the environment as a node resolves it. The CA file and the directories are
// those of the test.
func podFor(t *testing.T, r release, keys keysIn, dsn, ca string) pod {
	t.Helper()
	return podWith(t, r, keys, map[string]string{"pg-creds": dsn, "redis-creds": keys.password}, ca, nil)
}

// podWith builds the pod of a resource with another storage, if given, and the values of the Secrets by name.
func podWith(t *testing.T, r release, keys keysIn, values map[string]string, ca string, storage *v1alpha2.StateStorageSpec) pod {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	framework.NoError(t, yaml.UnmarshalStrict(fmt.Appendf(nil, storageCR, keys.port), cr))
	switch {
	case storage != nil:
		cr.Spec.Storage = storage
	case keys.port == 0:
		cr.Spec.Storage.KV = &v1alpha2.KVStorageSpec{
			Type:               new(v1alpha2.KVStoragePostgres),
			DatabaseConnection: v1alpha2.DatabaseConnection{ConnectionString: cr.Spec.Storage.SQL.ConnectionString},
		}
	}
	apis, urlField := "apis: [inference]", "base_url"
	if line, _ := catalog.Get(r.line); !line.APIsMustBeServed {
		apis = "" // the server also has APIs of its own
	}
	if r.line == "0.3" {
		urlField = "url"
	}
	base, err := serverconfig.ParseBase("small", fmt.Appendf(nil, storageBase, apis, urlField))
	framework.NoError(t, err)
	caBundle := framework.ReadFile(t, ca)
	if kv := cr.Spec.Storage.KV; r.line == "0.3" && kv != nil && kv.Endpoint != nil { // it supports no Redis password
		kv.Password = nil
	}
	in := build.NewInputs(cr)
	in.HashKey, in.CABundle = secret.New([]byte(strings.Repeat("k", 32))), in.NamedCABundle()
	in.Distribution = &settings.Distribution{Name: "small", Image: "registry.example/small:1", Line: lineOf(t, r), Base: base}
	in.CABundle.Data = map[string]string{"ca.crt": string(caBundle)}
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		in.Secrets = append(in.Secrets, build.SecretFact{Use: use, Value: secret.New([]byte(values[use.Ref.Name]))})
	}
	d, problems := build.Build(t.Context(), in)
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	p := pod{env: environmentOf(t, d)}
	for name, value := range p.env { // replace paths of the pod
		p.env[name] = strings.NewReplacer(names.CABundlePath, ca, inURL(names.CABundlePath), inURL(ca), objects.TrustPath, ca).Replace(value)
	}
	dir := t.TempDir()
	p.env["SQLITE_STORE_DIR"], p.env["HOME"], p.env["TMPDIR"], p.env["PATH"] = dir, dir, dir, os.Getenv("PATH")
	p.config = filepath.Join(dir, "config.yaml")
	framework.WriteFile(t, p.config, string(d.Config.YAML))
	return p
}

func inURL(path string) string { return url.QueryEscape(path) }

func environmentOf(t *testing.T, d *build.Desired) map[string]string {
	t.Helper()
	secrets, env := map[string]*corev1.Secret{}, map[string]string{}
	for _, o := range d.Objects {
		if s, ok := o.(*corev1.Secret); ok {
			secrets[s.Name] = s
		}
	}
	for _, o := range d.Objects {
		deployment, ok := o.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
			if v.ValueFrom == nil {
				env[v.Name] = v.Value
				continue
			}
			from := v.ValueFrom.SecretKeyRef
			s, ok := secrets[from.Name]
			if !ok || s.Data[from.Key] == nil {
				t.Fatalf("%s comes from key %s of Secret %s, which is not made", v.Name, from.Key, from.Name)
			}
			env[v.Name] = string(s.Data[from.Key])
		}
	}
	return env
}

// The storage classes of each release connect to a real Redis and a real PostgreSQL with passwords, users and databases
// that need quoting.
//
// Proves: FR-050, FR-050a, FR-051, FR-052, R24, R67, X14, X26, L-09.
func TestStorageAcceptsEveryPassword(t *testing.T) {
	t.Parallel()
	database, keys := framework.StartPostgres(t, framework.Loopback), framework.StartRedis(t, hardPasswords...)
	open := framework.StartRedis(t)
	for i, password := range hardPasswords {
		name := fmt.Sprintf("user%d", i)
		database.Account(t, name, password, name)
	}
	database.Account(t, "us@er/ 1", "secret", "da:ta base")
	database.Account(t, "12345", "secret", "67890")
	forEachRelease(t, func(t *testing.T, r release) {
		inRedis := keys.Port
		if r.line == "0.3" { // it supports no Redis password
			inRedis = open.Port
		}
		tryPasswords(t, r, database, "sql_postgres", func(password string) keysIn { return keysIn{inRedis, password} })
		tryPasswords(t, r, database, "kv_postgres", func(string) keysIn { return keysIn{} })
	})
}

// tryPasswords connects with every password and name. hardest is the backend type that accepts the fewest names.
func tryPasswords(t *testing.T, r release, database *framework.Postgres, hardest string, keys func(password string) keysIn) {
	t.Helper()
	var cases []map[string]any
	var files []string
	add := func(name, password, dsn string) {
		p := podFor(t, r, keys(password), dsn, database.CA)
		cases, files = append(cases, map[string]any{"config": p.config, "env": p.env}), append(files, name)
	}
	for i, password := range hardPasswords {
		name := fmt.Sprintf("user%d", i)
		add("password "+password, password, database.DSN(name, password, name, []string{"sslmode=verify-full", "", "sslmode=verify-ca"}[i%3]))
	}
	add("user and database", hardPasswords[0], database.DSN("us@er/ 1", "secret", "da:ta base", "sslmode=require"))
	if form := lineOf(t, r).Backends[hardest].Credentials; form != catalog.CredentialsParts {
		add("numbers for names", hardPasswords[0], database.DSN("12345", "secret", "67890", ""))
	}
	for i, problem := range runStorage(t, r, cases) {
		if problem != nil {
			t.Errorf("%s as far as %s: %s", files[i], hardest, *problem)
		}
	}
}

// Two databases have a user and a password each, in parts of the spec, and named backends do the same.
//
// Proves: R103.
func TestStorageConnectsToTwoDatabases(t *testing.T) {
	t.Parallel()
	database := framework.StartPostgres(t, framework.Loopback)
	const first, second = "12345", `p@:/#%41?&"' 1`
	database.Account(t, "keys", first, "keys")
	database.Account(t, "us@er/ 2", second, "tables")
	values := map[string]string{"keys": first, "tables": second}
	parts := func(user, name string) v1alpha2.DatabaseConnection {
		return v1alpha2.DatabaseConnection{
			Host: new("localhost"), Port: new(int32(database.Port)), User: &user, Database: &name, SSLMode: new("verify-full"),
			Password: &v1alpha2.SecretKeyRef{Name: &name, Key: new("password")},
		}
	}
	keys, tables := parts("keys", "keys"), parts("us@er/ 2", "tables")
	forEachRelease(t, func(t *testing.T, r release) {
		named := map[string]v1alpha2.StorageBackend{
			"kv_default":  {Type: "kv_postgres", DatabaseConnection: keys},
			"sql_default": {Type: "sql_postgres", DatabaseConnection: tables},
		}
		if _, ok := lineOf(t, r).Backends["sql_postgres"].Fields["pool_size"]; ok {
			tuned := named["sql_default"]
			tuned.PoolSize, tuned.MaxOverflow, tuned.PoolRecycle, tuned.PoolPrePing = new(int32(2)), new(int32(0)), new(int32(60)), new(true)
			named["sql_default"] = tuned
		}
		var cases []map[string]any
		for _, storage := range []*v1alpha2.StateStorageSpec{
			{
				KV:  &v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStoragePostgres), DatabaseConnection: keys},
				SQL: &v1alpha2.SQLStorageSpec{Type: new(v1alpha2.SQLStoragePostgres), DatabaseConnection: tables},
			},
			{Backends: named},
		} {
			p := podWith(t, r, keysIn{}, values, database.CA, storage)
			cases = append(cases, map[string]any{"config": p.config, "env": p.env})
		}
		for i, problem := range runStorage(t, r, cases) {
			if problem != nil {
				t.Errorf("case %d: %s", i, *problem)
			}
		}
	})
}

// runStorage runs storage.py with the cases, and returns an error text or nil for each.
func runStorage(t *testing.T, r release, cases []map[string]any) []*string {
	t.Helper()
	input, err := json.Marshal(cases)
	framework.NoError(t, err)
	out, status, complaints := forkServerOf(t, r).run(t, input, "storage.py")
	if status != 0 {
		t.Fatalf("storage.py: status %d\n%s", status, complaints)
	}
	var problems []*string
	if err := json.Unmarshal(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:], &problems); err != nil || len(problems) != len(cases) {
		t.Fatalf("storage.py: %v: %s", err, out)
	}
	return problems
}

// The server keeps its state in Redis and PostgreSQL, or in PostgreSQL alone. Its log has no secret.
//
// Proves: IT-4, US-4.1, US-4.2, FR-051a, R24, R67, R7, NFR-003.
func TestStateSurvivesARestart(t *testing.T) {
	const password = `c@n:/#%41?&"' ary`
	canaries.Add(password)
	database, inRedis, open := framework.StartPostgres(t, framework.Loopback), framework.StartRedis(t, password), framework.StartRedis(t)
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"m1"}, Key: "none"})
	framework.NoError(t, err)
	backend := httptest.NewServer(double)
	t.Cleanup(backend.Close)
	for _, r := range bootedReleases(t) {
		keys := map[string]keysIn{"redis": {inRedis.Port, password}, "postgres": {}}
		if r.line == "0.3" {
			keys["redis"] = keysIn{open.Port, password}
		}
		for _, kind := range []string{"redis", "postgres"} {
			t.Run(r.version+"/"+kind, func(t *testing.T) {
				name := kind + "_of_" + strings.ReplaceAll(r.version, ".", "_")
				database.Account(t, name, password, name)
				p := podFor(t, r, keys[kind], database.DSN(name, password, name, "sslmode=verify-full"), database.CA)
				p.env["VLLM_URL"] = backend.URL + "/v1"
				readBack(t, r, p)
				if count := database.Query(t, fmt.Sprintf("\\c %s\nSELECT count(*) FROM inference_store", name)); strings.HasSuffix(count, "0") {
					t.Errorf("%s rows in PostgreSQL", count)
				}
				if kind == "redis" && r.line != "0.3" && len(inRedis.Keys(t, password)) == 0 {
					t.Error("Redis holds nothing")
				}
				tables := database.Query(t, fmt.Sprintf("\\c %s\nSELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'", name))
				if has := strings.Contains(tables, "_kvstore"); has != (kind == "postgres") {
					t.Errorf("PostgreSQL has the tables %s", tables)
				}
			})
		}
	}
}

// readBack stores a completion and a prompt, and checks that a restarted server still has them.
func readBack(t *testing.T, r release, p pod) {
	t.Helper()
	var prompt struct {
		ID string `json:"prompt_id"`
	}
	written := useServer(t, r, p, func(t *testing.T, server string) string {
		t.Helper()
		answer := answered(t, http.MethodPost, server+"/v1/chat/completions", `{"model":"vllm/m1","messages":[{"role":"user","content":"remember"}]}`)
		var completion struct{ ID string }
		if err := json.Unmarshal([]byte(answer), &completion); err != nil || completion.ID == "" {
			t.Fatal(answer)
		}
		answer = answered(t, http.MethodPost, server+"/v1/prompts", `{"prompt":"Say {{ word }}.","variables":["word"]}`)
		if err := json.Unmarshal([]byte(answer), &prompt); err != nil || prompt.ID == "" {
			t.Fatal(answer)
		}
		return completion.ID
	})
	useServer(t, r, p, func(t *testing.T, server string) string {
		t.Helper()
		if got := answered(t, http.MethodGet, server+"/v1/chat/completions/"+written, ""); !strings.Contains(got, "remember") {
			t.Errorf("the completion is gone: %s", got)
		}
		if got := answered(t, http.MethodGet, server+"/v1/prompts/"+prompt.ID, ""); !strings.Contains(got, "Say {{ word }}.") {
			t.Errorf("the prompt is gone: %s", got)
		}
		return ""
	})
}

// The base keeps all state in one PostgreSQL: the restarted server begins with an empty directory.
//
// Proves: R28, R47, L-09, L-13.
func TestStateOfPostgresDemoSurvivesARestart(t *testing.T) {
	database := framework.StartPostgres(t, framework.Loopback)
	demo := story{"base-postgres-demo", filepath.Join(stories, "base-postgres-demo", "cr.yaml")}
	for _, r := range bootedReleases(t) {
		t.Run(r.version, func(t *testing.T) {
			b, ok := prepare(t, r, demo, nil)
			if !ok {
				return
			}
			reduce(b.booted, b.base, unbootables(t, r.line))
			b.backends = startBackends(t, b.asked)
			name := "demo_" + strings.ReplaceAll(r.version, ".", "_")
			database.Account(t, name, b.env["POSTGRES_PASSWORD"], name)
			for variable, value := range map[string]string{
				"POSTGRES_HOST": "localhost", "POSTGRES_PORT": strconv.Itoa(database.Port), "POSTGRES_DB": name, "POSTGRES_USER": name,
			} {
				if b.env[variable] == "" {
					t.Errorf("the pod has no %s", variable)
				}
				b.env[variable] = value
			}
			n, ofPod := forkServerOf(t, r), b.env
			use := func(do func(server *server)) {
				b.env = ofPod
				server := b.boot(t, n)
				do(server)
				for _, fault := range answerFaults(t, b, server) {
					t.Error(fault)
				}
				if t.Failed() {
					t.Logf("the server's log:\n%s", tail(server.log()))
				}
				server.stop()
			}
			use(func(*server) {})
			use(func(server *server) {
				if got := answered(t, http.MethodGet, server.url+"/v1/chat/completions", ""); !strings.Contains(got, "llama3.2-8b heard: ping") {
					t.Errorf("the completion from before the restart is gone: %s", got)
				}
			})
			tables := database.Query(t, fmt.Sprintf("\\c %s\nSELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'", name))
			for _, part := range []string{"_kvstore", "inference_store"} {
				if !strings.Contains(tables, part) {
					t.Errorf("PostgreSQL has no %s, but %s", part, tables)
				}
			}
		})
	}
}

// answered repeats a request until its status is 200, and returns the answer. With Redis, release line 0.7 fails or
// delays some of the first requests after a start, because it uses connections of a closed event loop.
func answered(t *testing.T, method, address, body string) string {
	t.Helper()
	answer, ok := answeredWithin(t, bootTimeout, method, address, body)
	if !ok {
		t.Fatalf("%s %s: %s", method, address, answer)
	}
	return answer
}

// answeredWithin repeats a request until its status is 200, and returns the last error after a time.
func answeredWithin(t *testing.T, within time.Duration, method, address, body string) (last string, ok bool) {
	t.Helper()
	impatient := &http.Client{Timeout: 5 * time.Second}
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		status, answer, err := framework.Send(t.Context(), impatient, method, address, body)
		if err == nil && status == http.StatusOK {
			return string(answer), true
		}
		last = fmt.Sprintf("status %d, %v: %s", status, err, answer)
	}
	return last, false
}

// useServer starts the server in the pod's environment, calls do, and ends the server. The log must not contain the
// password.
func useServer(t *testing.T, r release, p pod, do func(t *testing.T, server string) string) string {
	t.Helper()
	var text, result string
	t.Run("run", func(t *testing.T) {
		var server string
		var log func() string
		_ = t.TempDir() // made first, so that it is removed after the log has been read
		t.Cleanup(func() {
			if text = log(); t.Failed() {
				t.Log(text)
			}
		})
		server, log = bootPod(t, r, p)
		result = do(t, server)
	})
	if strings.Contains(text, "ary") && (strings.Contains(text, "c@n") || strings.Contains(text, "c%40n")) {
		t.Errorf("the server's log contains the password:\n%s", text)
	}
	return result
}

// bootPod starts the server in the pod's environment until the test ends.
func bootPod(t *testing.T, r release, p pod) (server string, log func() string) {
	t.Helper()
	metricsOnLoopback(t, p.env)
	var env []string
	for name, value := range p.env {
		if name != lineOf(t, r).PortEnv {
			env = append(env, name+"="+value)
		}
	}
	return bootRelease(t, r, p.config, env...)
}
