// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The environment variables that carry the parts of a connection string.
const (
	envConnectionString = "LLSD_STORAGE_SQL_CONNECTION_STRING"
	envSQLPrefix        = "LLSD_STORAGE_SQL_"
)

// PathConnectionString is the field of the spec that refers to the connection string.
const PathConnectionString = pathSQL + ".connectionString"

// postgresFields are the fields of a PostgreSQL backend, in the form that the release line takes without printing or misreading any
// of it.
func (s *step) postgresFields(spec *v1alpha2.SQLStorageSpec) ([]entryField, bool) {
	row, ok := s.row("sql_postgres", pathSQL+".type")
	if !ok {
		return nil, false
	}
	if spec.ConnectionString == nil {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: PathConnectionString, Type: field.ErrorTypeRequired,
			Detail: "type postgres needs a connection string",
			Fix:    "refer to the key of a Secret that holds one, such as postgresql://user:password@host:5432/db",
		})
		return nil, false
	}
	use, ok := secretUse(spec.ConnectionString, envConnectionString, PathConnectionString, &problem.Collector{})
	if !ok {
		return nil, false // has been reported by SecretUses
	}
	variable := func(name string, part environment.Part, fieldType catalog.FieldType) {
		s.env.Add(environment.Variable{Name: name, Ref: use.Ref, Path: use.Path, Part: part, Type: fieldType})
	}
	if row.Credentials == catalog.CredentialsURI {
		variable(use.EnvName, environment.PostgresURI, catalog.TypeString)
		return []entryField{{name: "connection_string", value: document.String(document.ReferenceTo(use.EnvName))}}, true
	}
	host, database, user := environment.PostgresHost, environment.PostgresDatabase, environment.PostgresUser
	databaseType, afterDatabase := catalog.TypeString, ""
	if row.Credentials == catalog.CredentialsURLParts {
		host, database, user = environment.PostgresURLHost, environment.PostgresURLDatabase, environment.PostgresURLUser
		// The mark of options, of which there are none, makes a longer string of the name: one of digits would be turned into a number.
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
		variableName := envSQLPrefix + strings.ToUpper(f.name)
		variable(variableName, f.part, f.fieldType)
		fields = append(fields, entryField{name: f.name, value: document.String(document.ReferenceTo(variableName) + f.after)})
	}
	variable("PGPASSWORD", environment.PostgresPassword, "")
	variable("PGSSLMODE", environment.PostgresSSLMode, "")
	variable("PGSSLROOTCERT", environment.PostgresSSLRootCert, "")
	// A literal empty password makes the driver look into PGPASSWORD, which nothing converts or misreads.
	return append(fields, entryField{name: "password", value: document.String("")}), true
}
