// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
)

// The environment variables that carry the credentials of the storage.
const (
	envRedisPassword    = "LLSD_STORAGE_KV_PASSWORD"
	envConnectionString = "LLSD_STORAGE_SQL_CONNECTION_STRING"
	envSQLPrefix        = "LLSD_STORAGE_SQL_"
)

const (
	pathRedisPassword    = "spec.storage.kv.password"
	pathConnectionString = "spec.storage.sql.connectionString"

	redisScheme = "redis"
	redisPort   = 6379
	// quietLog keeps the server from printing its configuration at start.
	quietLog = "core=warning"
)

// redisFields are the fields of a Redis backend. The server makes a URL of host and port, so that a password can stand before the host,
// encoded as in a URL; it has no field for one.
func (g *generation) redisFields(spec *v1alpha2.KVStorageSpec, path string) ([]assignment, bool) {
	row, ok := g.backendRow("kv_redis", path+".type")
	if !ok {
		return nil, false
	}
	host, port, ok := g.redisEndpoint(ptr.Deref(spec.Endpoint, ""), path+".endpoint")
	if spec.Password != nil {
		use, complete := storageUse(spec.Password, envRedisPassword, pathRedisPassword, &report{})
		if instead, refused := row.Instead["password"]; refused {
			g.findings.fail(UnknownField, pathRedisPassword,
				fmt.Sprintf("Redis takes no password on release line %s", g.Line.Name), instead)
			return nil, false
		}
		if !complete {
			return nil, false // has been reported by secretUses
		}
		g.env.Add(EnvVar{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Part: environment.RedisPassword})
		if row.Echoed {
			g.env.Add(EnvVar{Name: g.Line.LogEnv, Value: quietLog, Path: use.Path})
		}
		host = "default:" + document.ReferenceTo(use.EnvName) + "@" + host
	}
	return []assignment{{field: "host", value: document.String(host)}, {field: "port", value: document.Int(int64(port))}}, ok
}

// redisEndpoint reads host:port or redis://host:port. An address of IPv6 keeps its brackets, as a URL wants them.
func (g *generation) redisEndpoint(endpoint, path string) (host string, port int, ok bool) {
	fail := func(message, mending string) (string, int, bool) {
		g.findings.fail(InvalidEndpoint, path, message, mending)
		return "", 0, false
	}
	if endpoint == "" {
		return fail("Required value: type redis needs an endpoint", "for example endpoint: redis.example.svc:6379")
	}
	const form = "write it as host:port, for example redis.example.svc:6379"
	address := endpoint
	if !strings.Contains(address, "://") {
		address = redisScheme + "://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fail("is neither host:port nor redis://host:port", form)
	case u.Scheme == "rediss":
		return fail("no release of the server speaks TLS to Redis",
			"use redis:// with a Redis that takes plain connections, for example by a proxy that ends TLS beside it")
	case u.Scheme != redisScheme:
		return fail("is neither host:port nor redis://host:port", form)
	case u.User != nil:
		return fail("contains user information, which would be readable in a ConfigMap", "put the password into a Secret and refer to it by "+pathRedisPassword)
	case strings.Trim(u.Path, "/") != "":
		return fail("names a database number, and no release of the server can select one", "remove what follows the port")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fail("has options, which no release of the server takes", "remove what follows the port")
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "%${}, \\\"'"):
		return fail("is neither host:port nor redis://host:port", form)
	}
	port = redisPort
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return fail("the port is not one of 1 to 65535", form)
		}
	}
	host = u.Hostname()
	if ip := net.ParseIP(host); ip != nil && strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host, port, true
}

// postgresFields are the fields of a PostgreSQL backend, in the form that the release line takes without printing or misreading any
// of it.
func (g *generation) postgresFields(spec *v1alpha2.SQLStorageSpec, path string) ([]assignment, bool) {
	row, ok := g.backendRow("sql_postgres", path+".type")
	if !ok {
		return nil, false
	}
	if spec.ConnectionString == nil {
		g.findings.fail(InvalidSpec, pathConnectionString, "Required value: type postgres needs a connection string",
			"refer to the key of a Secret that holds one, such as postgresql://user:password@host:5432/db")
		return nil, false
	}
	use, ok := storageUse(spec.ConnectionString, envConnectionString, pathConnectionString, &report{})
	if !ok {
		return nil, false // has been reported by secretUses
	}
	variable := func(name string, part Part, fieldType catalog.FieldType) {
		g.env.Add(EnvVar{Name: name, Ref: use.Ref, Path: use.Path, Part: part, Type: fieldType})
	}
	if row.Credentials == catalog.CredentialsURI {
		variable(use.EnvName, environment.PostgresURI, catalog.TypeString)
		return []assignment{{field: "connection_string", value: document.String(document.ReferenceTo(use.EnvName))}}, true
	}
	host, database, user := environment.PostgresHost, environment.PostgresDatabase, environment.PostgresUser
	databaseType, afterDatabase := catalog.TypeString, ""
	if row.Credentials == catalog.CredentialsURLParts {
		host, database, user = environment.PostgresURLHost, environment.PostgresURLDatabase, environment.PostgresURLUser
		// The mark of options, of which there are none, makes a longer string of the name: one of digits would be turned into a number.
		databaseType, afterDatabase = catalog.TypeURL, "?"
	}
	var fields []assignment
	for _, f := range []struct {
		field     string
		part      Part
		fieldType catalog.FieldType
		after     string
	}{
		{"host", host, catalog.TypeString, ""}, {"port", environment.PostgresPort, catalog.TypeAny, ""},
		{"db", database, databaseType, afterDatabase}, {"user", user, catalog.TypeString, ""},
	} {
		name := envSQLPrefix + strings.ToUpper(f.field)
		variable(name, f.part, f.fieldType)
		fields = append(fields, assignment{field: f.field, value: document.String(document.ReferenceTo(name) + f.after)})
	}
	variable("PGPASSWORD", environment.PostgresPassword, "")
	variable("PGSSLMODE", environment.PostgresSSLMode, "")
	variable("PGSSLROOTCERT", environment.PostgresSSLRootCert, "")
	// A literal empty password makes the driver look into PGPASSWORD, which nothing converts or misreads.
	return append(fields, assignment{field: "password", value: document.String("")}), true
}

func (g *generation) backendRow(backendType, path string) (catalog.Backend, bool) {
	row, ok := g.Line.Backends[backendType]
	if !ok || row.Credentials == "" {
		g.findings.fail(Unsupported, path, fmt.Sprintf("release line %s of the server has no backend %s", g.Line.Name, backendType),
			"choose type sqlite")
	}
	return row, ok && row.Credentials != ""
}

// storageUse resolves a secret reference of the storage; false where it is incomplete.
func storageUse(ref *v1alpha2.SecretKeyRef, envName, path string, findings *report) (SecretUse, bool) {
	names := strings.Split(path, ".")
	resolved, errs := ref.Resolve(field.NewPath(names[0], names[1:]...))
	findings.failFields(errs)
	return SecretUse{EnvName: envName, Ref: resolved, Path: path, Derived: true}, len(errs) == 0
}

// storageUses are the secret references of the storage.
func storageUses(storage *v1alpha2.StateStorageSpec, findings *report) []SecretUse {
	var uses []SecretUse
	add := func(ref *v1alpha2.SecretKeyRef, envName, path string) {
		if ref == nil {
			return
		}
		if use, ok := storageUse(ref, envName, path, findings); ok {
			uses = append(uses, use)
		}
	}
	if storage != nil && storage.KV != nil {
		add(storage.KV.Password, envRedisPassword, pathRedisPassword)
	}
	if storage != nil && storage.SQL != nil {
		add(storage.SQL.ConnectionString, envConnectionString, pathConnectionString)
	}
	return uses
}
