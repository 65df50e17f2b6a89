// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// withStorage returns complete inputs with PostgreSQL, a release line and a connection string.
func withStorage(t *testing.T, line, dsn string) *Inputs {
	t.Helper()
	in := inputs(t, "postgres")
	known, ok := catalog.Get(line)
	if !ok {
		t.Fatalf("no line %s", line)
	}
	d := *in.Distribution
	d.Line, d.Base = known, settings.EmbeddedBase("starter", known)
	in.Distribution = &d
	setSecret(t, in, dsn)
	return in
}

func setSecret(t *testing.T, in *Inputs, value string) {
	t.Helper()
	if len(in.Secrets) != 1 {
		t.Fatalf("%d secret references", len(in.Secrets))
	}
	in.Secrets[0].Value = secret.New([]byte(value))
}

func trust(in *Inputs, data map[string]string) {
	in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "trusted-ca"}}}
	in.CABundle = in.NamedCABundle()
	in.CABundle.Data = data
}

func derivedSecret(t *testing.T, list []objects.Object) *corev1.Secret {
	t.Helper()
	for _, o := range list {
		if s, ok := o.(*corev1.Secret); ok {
			return s
		}
	}
	t.Fatalf("no Secret among %v", kinds(list))
	return nil
}

// Proves: FR-050a, FR-052, R24, X14 (the parts of a connection string by release line).
func TestDerivedSecret(t *testing.T) {
	const dsn = "postgresql://us%40er:" + canary + "%40@db:5433/st%3Aack?sslmode=verify-full"
	for line, want := range map[string]map[string]string{
		"0.7": {
			"LLSD_STORAGE_SQL_HOST": "db", "LLSD_STORAGE_SQL_PORT": "5433", "LLSD_STORAGE_SQL_DB": "st:ack", "LLSD_STORAGE_SQL_USER": "us%40er",
			"PGPASSWORD": canary + "@", "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/etc/ssl/certs/ca-bundle/ca-bundle.crt",
		},
		"1.3": {
			"LLSD_STORAGE_SQL_HOST": "db", "LLSD_STORAGE_SQL_PORT": "5433", "LLSD_STORAGE_SQL_DB": "st:ack", "LLSD_STORAGE_SQL_USER": "us@er",
			"PGPASSWORD": canary + "@", "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/etc/ssl/certs/ca-bundle/ca-bundle.crt",
		},
		catalog.Newest(): { // takes the whole URI in one field
			"LLSD_STORAGE_SQL_CONNECTION_STRING": "postgresql://us%40er:" + canary + "%40@db:5433/st%3Aack?sslmode=verify-full&sslrootcert=%2Fetc%2Fssl%2Fcerts%2Fca-bundle%2Fca-bundle.crt",
		},
	} {
		t.Run(line, func(t *testing.T) {
			in := withStorage(t, line, dsn)
			trust(in, map[string]string{"ca.crt": certificate})
			d := build(t, in)
			s := derivedSecret(t, d.Objects)
			got := map[string]string{}
			for key, value := range s.Data {
				got[key] = string(value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.Immutable == nil || !*s.Immutable || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != in.CR.UID {
				t.Errorf("the Secret is not immutable, or not the resource's: %+v", s.ObjectMeta)
			}
			for _, v := range deployment(t, d.Objects).Spec.Template.Spec.Containers[0].Env {
				if _, ok := want[v.Name]; ok && (v.ValueFrom == nil || v.ValueFrom.SecretKeyRef.Name != s.Name || v.ValueFrom.SecretKeyRef.Key != v.Name) {
					t.Errorf("%s comes from %+v, want Secret %s", v.Name, v, s.Name)
				}
			}
			checkNothingOutsideSecrets(t, d, canary)
		})
	}
}

// Proves: R24, R67 (the client of the kv backend takes the decoded parts, and the password is stored once).
func TestDerivedSecretOfOneDatabaseForAllState(t *testing.T) {
	const dsn = "postgresql://us%40er:" + canary + "@db/stack"
	for name, want := range map[string]map[string]string{
		"0.7": {
			"LLSD_STORAGE_KV_HOST": "db", "LLSD_STORAGE_KV_PORT": "5432", "LLSD_STORAGE_KV_DB": "stack", "LLSD_STORAGE_KV_USER": "us@er",
			"LLSD_STORAGE_SQL_HOST": "db", "LLSD_STORAGE_SQL_PORT": "5432", "LLSD_STORAGE_SQL_DB": "stack", "LLSD_STORAGE_SQL_USER": "us%40er",
			"PGPASSWORD": canary,
		},
		catalog.Newest(): { // takes the whole URI in one field
			"LLSD_STORAGE_KV_CONNECTION_STRING":  "postgresql://us%40er:" + canary + "@db:5432/stack",
			"LLSD_STORAGE_SQL_CONNECTION_STRING": "postgresql://us%40er:" + canary + "@db:5432/stack",
		},
	} {
		in := inputs(t, "one-postgres")
		line, _ := catalog.Get(name)
		d := *in.Distribution
		d.Line, d.Base = line, settings.EmbeddedBase("starter", line)
		in.Distribution = &d
		if len(in.Secrets) != 2 {
			t.Fatalf("%d secret references", len(in.Secrets))
		}
		for i := range in.Secrets {
			in.Secrets[i].Value = secret.New([]byte(dsn))
		}
		made := build(t, in)
		got := map[string]string{}
		for key, value := range derivedSecret(t, made.Objects).Data {
			got[key] = string(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		checkNothingOutsideSecrets(t, made, canary)
	}
}

// withBackends returns inputs with these backends, and the values of their Secrets by field.
func withBackends(t *testing.T, name, backends string, values map[string]string) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	line, _ := catalog.Get(name)
	d := *in.Distribution
	d.Line, d.Base = line, settings.EmbeddedBase("starter", line)
	in.Distribution = &d
	in.CR.Spec.Storage = &v1alpha2.StateStorageSpec{}
	if err := yaml.UnmarshalStrict([]byte(backends), in.CR.Spec.Storage); err != nil {
		t.Fatal(err)
	}
	refreshPods(in)
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		in.Secrets = append(in.Secrets, SecretFact{Use: use, Value: secret.New([]byte(values[use.Path]))})
	}
	return in
}

const twoDatabases = `
kv: {type: postgres, host: keys.db, user: keys, password: {name: a, key: kv}, sslMode: require}
sql: {type: postgres, host: db, port: 5433, database: "sta:ck", user: us@er, password: {name: a, key: sql}, sslMode: require}`

// Proves: R103 (two databases have two passwords on every release line).
func TestDerivedSecretOfTwoDatabasesInParts(t *testing.T) {
	values := map[string]string{"spec.storage.kv.password": canary + "@", "spec.storage.sql.password": canary + "/1"}
	for line, want := range map[string]map[string]string{
		"0.7": {"PGPASSWORD": canary + "@", "PGSSLMODE": "require", "LLSD_STORAGE_SQL_PASSWORD": canary + "%2F1"},
		"1.3": {"PGPASSWORD": canary + "@", "PGSSLMODE": "require", "LLSD_STORAGE_SQL_PASSWORD": canary + "/1"},
		catalog.Newest(): {
			"LLSD_STORAGE_KV_CONNECTION_STRING":  "postgresql://keys:" + canary + "%40@keys.db:5432/keys?sslmode=require",
			"LLSD_STORAGE_SQL_CONNECTION_STRING": "postgresql://us%40er:" + canary + "%2F1@db:5433/sta%3Ack?sslmode=require",
		},
	} {
		made := build(t, withBackends(t, line, twoDatabases, values))
		got := map[string]string{}
		for key, value := range derivedSecret(t, made.Objects).Data {
			got[key] = string(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
		checkNothingOutsideSecrets(t, made, canary)
	}
}

// Proves: R103, R7.
func TestDatabasesThatAReleaseLineCannotSeparate(t *testing.T) {
	const connectionStrings = `
kv: {type: postgres, connectionString: {name: a, key: kv}}
sql: {type: postgres, connectionString: {name: a, key: sql}}`
	for name, c := range map[string]struct {
		line, backends, kv, sql, want string
	}{
		"another TLS mode": {
			"1.3", connectionStrings, "postgresql://u:p@a/d?sslmode=require", "postgresql://u:p@b/d", "spec.storage.sql.connectionString",
		},
		"another TLS mode where each has its own": {
			catalog.Newest(), connectionStrings, "postgresql://u:p@a/d?sslmode=require", "postgresql://u:p@b/d", "",
		},
		"no password":            {"1.3", connectionStrings, "postgresql://u:p@a/d", "postgresql://u@b/d", "spec.storage.sql.connectionString"},
		"no password, for a URL": {"0.7", connectionStrings, "postgresql://u:p@a/d", "postgresql://u@b/d", "spec.storage.sql.connectionString"},
		"a number":               {"1.3", twoDatabases, "p", "12345", "spec.storage.sql.password"},
		"a number, for a URL":    {"0.7", twoDatabases, "p", "12345", ""},
		"a number for the first": {"1.3", twoDatabases, "12345", "p", ""},
	} {
		field := ".connectionString"
		if c.backends == twoDatabases {
			field = ".password"
		}
		in := withBackends(t, c.line, c.backends, map[string]string{"spec.storage.kv" + field: c.kv, "spec.storage.sql" + field: c.sql})
		_, faults := buildWith(t.Context(), in)
		if got := len(faults) > 0; got != (c.want != "") || got && !mentions(faults, c.want) {
			t.Errorf("%s: %s", name, faults.Message())
		}
		expect.Message(t, name, faults.Message())
	}
}

// The CA certificates of a database count like those of spec.networking.tls.caBundle.
//
// Proves: R103.
func TestCABundleOfADatabaseIsTrusted(t *testing.T) {
	in := withBackends(t, catalog.Newest(), `
sql: {type: postgres, host: db, user: u, password: {name: a, key: b}, sslMode: verify-full, caBundle: {configMapName: db-ca}}`,
		map[string]string{"spec.storage.sql.password": canary})
	if _, faults := buildWith(t.Context(), in); len(faults) == 0 {
		t.Error("a certificate is verified without a CA certificate")
	}
	in.CABundles = in.AllCABundles()
	in.CABundles[0].Data = map[string]string{"ca.crt": certificate}
	made := build(t, in)
	if got := string(derivedSecret(t, made.Objects).Data["LLSD_STORAGE_SQL_CONNECTION_STRING"]); !strings.HasSuffix(got, "sslrootcert=%2Fetc%2Fssl%2Fcerts%2Fca-bundle%2Fca-bundle.crt") {
		t.Errorf("the connection string has no CA certificates")
	}
	if !slices.ContainsFunc(made.Objects, func(o objects.Object) bool {
		cm, ok := o.(*corev1.ConfigMap)
		return ok && strings.Contains(cm.Data["ca-bundle.crt"], "BEGIN CERTIFICATE")
	}) {
		t.Errorf("no ConfigMap has the certificate: %v", kinds(made.Objects))
	}
	in.CABundles[0].State = Missing
	if _, faults := buildWith(t.Context(), in); !mentions(faults, "spec.storage.sql.caBundle.configMapName") {
		t.Errorf("a missing ConfigMap: %s", faults.Message())
	}
}

// checkNothingOutsideSecrets fails the test if an object other than a Secret contains the value, as text or base64.
//
// Proves: R7, NFR-003.
func checkNothingOutsideSecrets(t *testing.T, d *result, value string) {
	t.Helper()
	for _, o := range d.Objects {
		if _, ok := o.(*corev1.Secret); ok {
			continue
		}
		text := asJSON(t, o)
		if strings.Contains(text, value) || strings.Contains(text, base64.RawStdEncoding.EncodeToString([]byte(value))[:8]) {
			t.Errorf("%s %s holds the value", o.GetObjectKind().GroupVersionKind().Kind, o.GetName())
		}
	}
}

// Proves: R54, L-23, FR-026 (a new value makes a new Secret and a new pod template).
func TestDerivedSecretFollowsRotation(t *testing.T) {
	const dsn = "postgresql://u:" + canary + "@db/d"
	before := build(t, withStorage(t, "0.7", dsn))
	if again := build(t, withStorage(t, "0.7", dsn)); asJSON(t, again.Objects) != asJSON(t, before.Objects) {
		t.Error("the same value makes other objects")
	}
	after := build(t, withStorage(t, "0.7", dsn+"2"))
	old, renewed := derivedSecret(t, before.Objects), derivedSecret(t, after.Objects)
	if old.Name == renewed.Name {
		t.Error("the Secret keeps its name although its content changes: running pods would lose theirs, and nothing rolls out")
	}
	if before.ConfigMapName != after.ConfigMapName {
		t.Error("a password changes the configuration")
	}
	in := withStorage(t, "0.7", dsn)
	in.HashKey = secret.New([]byte("another key of the operator 01234567"))
	if other := derivedSecret(t, build(t, in).Objects); other.Name == old.Name {
		t.Error("the name does not depend on the operator's key: a short password could be guessed from it")
	}
}

// Proves: R48, L-28, R54.
func TestUpgradeHoldsTheDerivedSecret(t *testing.T) {
	in := withStorage(t, "0.7", "postgresql://u:"+canary+"@db/d")
	in.Build = "1.0.0"
	in.Live = deployment(t, build(t, in).Objects).DeepCopy()
	const former = "my-stack-env-0123456789"
	for i := range in.Live.Spec.Template.Spec.Containers[0].Env {
		if v := in.Live.Spec.Template.Spec.Containers[0].Env[i].ValueFrom; v != nil {
			v.SecretKeyRef.Name = former
		}
	}
	in.Build = "2.0.0"
	d := build(t, in)
	if d.HeldBuild != "1.0.0" || !strings.Contains(strings.Join(kinds(d.Held), " "), "Secret/"+former) {
		t.Errorf("held %v of build %q, want Secret %s among them", kinds(d.Held), d.HeldBuild, former)
	}
	for _, kind := range kinds(d.Objects) {
		if strings.HasPrefix(kind, "Secret/") {
			t.Errorf("%s is applied", kind)
		}
	}
	in.LiveConfigMissing = true
	if d := build(t, in); d.HeldBuild != "" {
		t.Error("a Deployment whose Secret is gone is held: its pods could not start again")
	}
}

// Proves: R24, R33, FR-073, FR-075 (errors do not quote the connection string and clear without an edit).
func TestConnectionStringFaults(t *testing.T) {
	for name, c := range map[string]struct{ line, dsn, want string }{
		"no URI":                  {"0.7", canary, "neither a URI"},
		"several hosts":           {"0.7", "host=a,b user=" + canary, "several hosts"},
		"unknown mode":            {"0.7", "postgresql://u@h/d?sslmode=" + canary, "sslmode"},
		"verified by nobody":      {"0.7", "postgresql://u:" + canary + "@h/d?sslmode=verify-full", "spec.networking.tls.caBundle"},
		"on the newest line too":  {catalog.Newest(), "postgresql://u:" + canary + "@h/d?sslmode=verify-ca", "spec.networking.tls.caBundle"},
		"line break":              {"0.7", "postgresql://u:" + canary + "@h/d\n", "ends with a line break"},
		"number for a user":       {"1.3", "postgresql://4711:" + canary + "@h/d", "the user looks like a number"},
		"number for a database":   {"1.3", "postgresql://u:" + canary + "@h/4711", "the database looks like a number"},
		"home for a user":         {"1.3", "postgresql://~u:" + canary + "@h/d", "the user begins with '~'"},
		"home for a database":     {"0.7", "postgresql://u:" + canary + "@h/~d", "begins with '~'"},
		"options in the database": {"0.7", "postgresql://u:" + canary + "@h/d%3Fx", "contains '?'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := fail(t, withStorage(t, c.line, c.dsn))
			if len(faults) != 1 || faults[0].Class != problem.WaitingForDependency || faults[0].Reason != problem.InvalidSecret ||
				faults[0].Condition != v1alpha2.ConditionSecretsResolved {
				t.Errorf("faults %+v", faults)
			}
			for _, part := range []string{c.want, "spec.storage.sql.connectionString", "pg-creds", `"dsn"`, "ai/"} {
				if !strings.Contains(faults.Message(), part) {
					t.Errorf("%q is not in: %s", part, faults.Message())
				}
			}
			if strings.Contains(faults.Message(), "4711") {
				t.Error("the message quotes the value")
			}
		})
	}
	for name, c := range map[string]struct{ line, dsn string }{
		"numbers for names": {"0.7", "postgresql://4711:" + canary + "@h/4711"},
		"numbers in a URI":  {catalog.Newest(), "postgresql://4711:1@h/4711"},
		"home for a user":   {"0.7", "postgresql://~u:" + canary + "@h/d"},
	} {
		t.Run(name, func(t *testing.T) { build(t, withStorage(t, c.line, c.dsn)) })
	}
}

// Proves: R8, R24, FR-050a, US-4.2 (a Redis password may have any form, because it is part of a longer string).
func TestRedisPassword(t *testing.T) {
	for value, want := range map[string]string{
		"123456": "123456", "true": "true", "~root": "%7Eroot", "${env.HOME}": "%24%7Benv.HOME%7D", `p@:/#%41?&"' 1`: "p%40%3A%2F%23%2541%3F%26%22%27%201",
	} {
		in := inputs(t, "redis")
		setSecret(t, in, value)
		d := build(t, in)
		if got := derivedSecret(t, d.Objects).Data["LLSD_STORAGE_KV_PASSWORD"]; string(got) != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
		quiet := false
		for _, v := range deployment(t, d.Objects).Spec.Template.Spec.Containers[0].Env {
			quiet = quiet || v.Name == "LLAMA_STACK_LOGGING" && v.Value == "core=warning"
		}
		if !quiet {
			t.Error("the server would print the password: its log is not turned down")
		}
	}
}

// Proves: R54 (without a cluster, nothing is derived from secret values).
func TestDerivedSecretWithoutACluster(t *testing.T) {
	in := withStorage(t, "0.7", "")
	in.HashKey = secret.Value{}
	s := derivedSecret(t, build(t, in).Objects)
	if s.Name != "my-stack-env-<on-cluster>" || string(s.Data["PGPASSWORD"]) != secret.OnCluster || s.Data["PGSSLROOTCERT"] != nil {
		t.Errorf("%s: %s", s.Name, s.Data)
	}
}
