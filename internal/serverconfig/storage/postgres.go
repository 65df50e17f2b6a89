// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

// envPassword is the password variable of PostgreSQL clients.
const envPassword = "PGPASSWORD"

// database is a PostgreSQL database of the spec for one kind of storage.
type database struct {
	backendType string
	// specPath is the field of the spec, and envPrefix is the prefix of its environment variables.
	specPath, envPrefix string
}

var (
	kvDatabase  = database{backendType: "kv_postgres", specPath: pathKV, envPrefix: "LLSD_STORAGE_KV_"}
	sqlDatabase = database{backendType: "sql_postgres", specPath: pathSQL, envPrefix: "LLSD_STORAGE_SQL_"}
)

// path returns the field of the spec with the connection string.
func (d database) path() string { return d.specPath + ".connectionString" }

// envConnectionString returns the environment variable of the connection string.
func (d database) envConnectionString() string { return d.envPrefix + "CONNECTION_STRING" }

// postgresFields returns the fields of a PostgreSQL backend in the release line's form, which hides credentials.
func (s *step) postgresFields(d database, connectionString *v1alpha2.SecretKeyRef) ([]entryField, bool) {
	row, ok := s.row(d.backendType, d.specPath+".type")
	if !ok {
		return nil, false
	}
	if connectionString == nil {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: d.path(), Type: field.ErrorTypeRequired,
			Detail: "type postgres needs a connection string",
			Fix:    "refer to the key of a Secret that holds one, such as postgresql://user:password@host:5432/db",
		})
		return nil, false
	}
	use, ok := secretUse(connectionString, d.envConnectionString(), d.path(), &problem.Collector{})
	if !ok {
		return nil, false // reported by SecretUses
	}
	if row.Credentials == catalog.CredentialsURI {
		s.env.Add(environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Part: environment.PostgresURI,
			Type: catalog.TypeString})
		return []entryField{{name: "connection_string", value: document.String(document.ReferenceTo(use.EnvName))}}, true
	}
	fields := s.postgresParts(d, use, row.Credentials)
	if !s.addSharedVariables(use) {
		return nil, false
	}
	if d.backendType == sqlDatabase.backendType {
		// With a literal empty password, the driver reads PGPASSWORD unconverted. The kv client does so without a password.
		fields = append(fields, entryField{name: "password", value: document.String("")})
	}
	return fields, true
}

// postgresParts returns the fields of a PostgreSQL backend with a variable for each part of the connection string.
func (s *step) postgresParts(d database, use environment.SecretUse, form catalog.CredentialForm) []entryField {
	host, database, user := environment.PostgresHost, environment.PostgresDatabase, environment.PostgresUser
	databaseType, afterDatabase := catalog.TypeString, ""
	if form == catalog.CredentialsURLParts {
		host, database, user = environment.PostgresURLHost, environment.PostgresURLDatabase, environment.PostgresURLUser
		// "?" starts an empty list of options. It keeps the server from converting a name of digits to a number.
		databaseType, afterDatabase = catalog.TypeURL, "?"
	}
	var fields []entryField
	for _, f := range []struct {
		name      string
		part      environment.Part
		fieldType catalog.FieldType
		after     string
	}{
		{"host", host, catalog.TypeString, ""}, {"port", environment.PostgresPort, catalog.TypeAny, ""},
		{"db", database, databaseType, afterDatabase}, {"user", user, catalog.TypeString, ""},
	} {
		variable := d.envPrefix + strings.ToUpper(f.name)
		s.env.Add(environment.Variable{Name: variable, Ref: use.Ref, Path: use.Path, Part: f.part, Type: f.fieldType})
		fields = append(fields, entryField{name: f.name, value: document.String(document.ReferenceTo(variable) + f.after)})
	}
	return fields
}

// addSharedVariables adds the variables that all PostgreSQL clients of the server read. Two backends can share them
// only if both refer to the same Secret key.
func (s *step) addSharedVariables(use environment.SecretUse) bool {
	for _, v := range s.env.Needed() {
		if v.Name != envPassword {
			continue
		}
		if v.Ref == use.Ref {
			return true
		}
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: use.Path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("refers to another Secret or key than %s, but on release line %s all PostgreSQL clients of "+
				"the server share one %s",
				v.Path, s.line.Name, envPassword),
			Fix: "use the same Secret and key for both" + SeparatePasswordsFix(s.line),
		})
		return false
	}
	for _, shared := range []struct {
		name string
		part environment.Part
	}{
		{envPassword, environment.PostgresPassword}, {"PGSSLMODE", environment.PostgresSSLMode},
		{"PGSSLROOTCERT", environment.PostgresSSLRootCert},
	} {
		s.env.Add(environment.Variable{Name: shared.name, Ref: use.Ref, Path: use.Path, Part: shared.part})
	}
	return true
}

// SeparatePasswordsFix returns the end of a fix: the first later release line without shared PostgreSQL variables.
func SeparatePasswordsFix(line *catalog.Line) string {
	name := catalog.FirstLine(func(other *catalog.Line) bool {
		return other.Backends[sqlDatabase.backendType].Credentials == catalog.CredentialsURI &&
			catalog.Compare(other.Name, line.Name) > 0
	})
	if name == "" {
		return ""
	}
	return ", or use release line " + name + " or a newer one, where clients do not share it"
}
