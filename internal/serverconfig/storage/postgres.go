// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

// Environment variables of PostgreSQL clients.
const (
	envPassword = "PGPASSWORD"
	// EnvTLSMode is the variable of the TLS mode.
	EnvTLSMode = "PGSSLMODE"
)

const postgresPort = 5432

// postgresFields returns the fields of a PostgreSQL backend in the release line's form, which hides credentials.
func (s *step) postgresFields(b *Backend) ([]entryField, bool) {
	row, ok := s.row(b)
	if !ok {
		return nil, false
	}
	database := b.database()
	if b.ConnectionString == nil && (database == nil || database.User == "" || b.Password == nil) {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: b.Path + ".connectionString", Type: field.ErrorTypeRequired,
			Detail: "type " + b.typeName(systemPostgres) + " needs a connection string, or host, user and password",
			Fix:    "refer to the key of a Secret that holds one, such as postgresql://user:password@host:5432/db",
		})
		return nil, false
	}
	if database != nil && !s.checkDatabase(b, database, row.Credentials) {
		return nil, false
	}
	use, ok := b.use()
	if !ok {
		return nil, false // reported by SecretUses
	}
	if row.Credentials == catalog.CredentialsURI {
		name := b.environmentName("connection_string")
		s.env.Add(environment.Variable{Name: name, Ref: use.Ref, Path: use.Path, Part: environment.PostgresURI,
			Type: catalog.TypeString, Database: database})
		return []entryField{{name: "connection_string", value: document.String(document.ReferenceTo(name))}}, true
	}
	fields := s.postgresParts(b, use, row.Credentials)
	if database != nil {
		fields = databaseFields(database, row.Credentials)
	}
	password := ""
	switch shared := s.addSharedVariables(use, database); {
	case shared.Ref == use.Ref && database != nil && shared.Database != nil && shared.Database.SSLMode != database.SSLMode:
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: b.Path + ".sslMode", Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("is not that of the database of %s, but on release line %s databases share it", shared.Path,
				s.line.Name),
			Fix: "use the same TLS mode for both databases" + SeparatePasswordsFix(s.line),
		})
		return nil, false
	case shared.Ref != use.Ref:
		name, part := b.environmentName("password"), environment.PostgresPassword
		if row.Credentials == catalog.CredentialsURLParts {
			part = environment.PostgresURLPassword
		}
		s.env.Add(environment.Variable{Name: name, Ref: use.Ref, Path: use.Path, Part: part, Type: catalog.TypeString,
			Database: database})
		password = document.ReferenceTo(name)
	}
	if b.kind == catalog.SQL || password != "" {
		// With a literal empty password, the driver reads PGPASSWORD unconverted. The kv client does so without a password.
		fields = append(fields, entryField{name: "password", value: document.String(password)})
	}
	return fields, true
}

// checkDatabase reports names that the server would change, and a host with a port.
func (s *step) checkDatabase(b *Backend, database *environment.Database, form catalog.CredentialForm) bool {
	ok := true
	if strings.Contains(database.Host, ":") && net.ParseIP(database.Host) == nil {
		ok = false
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: b.Path + ".host", Type: field.ErrorTypeInvalid, Value: database.Host,
			Detail: "is neither a host name nor an IP address", Fix: "write the port into port",
		})
	}
	for _, f := range []struct{ field, value string }{{"database", database.Name}, {"user", database.User}} {
		var detail string
		switch {
		case document.HasReference(f.value):
			detail = "refers to an environment variable, which is not supported here"
		case f.field == "database" && form == catalog.CredentialsURLParts && strings.Contains(f.value, "?"):
			detail = fmt.Sprintf("contains '?', where the server of release line %s truncates it", s.line.Name)
		default:
			continue
		}
		ok = false
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: b.Path + "." + f.field, Type: field.ErrorTypeInvalid, Value: f.value,
			Detail: detail, Fix: "write another name",
		})
	}
	return ok
}

// databaseFields returns the fields of a database whose parts are in the spec.
func databaseFields(d *environment.Database, form catalog.CredentialForm) []entryField {
	host, user := d.Host, d.User
	if form == catalog.CredentialsURLParts {
		user = strings.ReplaceAll(url.QueryEscape(user), "+", "%20")
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	}
	return []entryField{
		{name: "host", value: document.String(host)}, {name: "port", value: document.Int(int64(d.Port))},
		{name: "db", value: document.String(d.Name)}, {name: "user", value: document.String(user)},
	}
}

// postgresParts returns the fields of a PostgreSQL backend with a variable for each part of the connection string.
func (s *step) postgresParts(b *Backend, use environment.SecretUse, form catalog.CredentialForm) []entryField {
	if b.ConnectionString == nil {
		return nil
	}
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
		variable := b.environmentName(f.name)
		s.env.Add(environment.Variable{Name: variable, Ref: use.Ref, Path: use.Path, Part: f.part, Type: f.fieldType})
		fields = append(fields, entryField{name: f.name, value: document.String(document.ReferenceTo(variable) + f.after)})
	}
	return fields
}

// addSharedVariables adds the variables that all PostgreSQL clients of the server read, for the first database of the
// spec. It returns the variable of the password.
func (s *step) addSharedVariables(use environment.SecretUse, database *environment.Database) environment.Variable {
	for _, v := range s.env.Needed() {
		if v.Name == envPassword {
			return v
		}
	}
	for _, shared := range []struct {
		name string
		part environment.Part
	}{
		{envPassword, environment.PostgresPassword}, {EnvTLSMode, environment.PostgresSSLMode},
		{"PGSSLROOTCERT", environment.PostgresSSLRootCert},
	} {
		s.env.Add(environment.Variable{Name: shared.name, Ref: use.Ref, Path: use.Path, Part: shared.part,
			Database: database})
	}
	return environment.Variable{Ref: use.Ref}
}

// SeparatePasswordsFix returns the end of a fix: the first later release line without shared PostgreSQL variables.
func SeparatePasswordsFix(line *catalog.Line) string {
	name := catalog.FirstLine(func(other *catalog.Line) bool {
		return other.Backends["sql_postgres"].Credentials == catalog.CredentialsURI &&
			catalog.Compare(other.Name, line.Name) > 0
	})
	if name == "" {
		return ""
	}
	return ", or use release line " + name + " or a newer one, where clients do not share it"
}
