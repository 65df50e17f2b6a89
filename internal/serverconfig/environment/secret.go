// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// SecretUse is a key of a Secret in the spec, with its environment variable.
type SecretUse struct {
	// EnvName is the name of the environment variable: LLSD_<PROVIDER_ID>_<FIELD>, or LLSD_STORAGE_<KV or SQL>_<FIELD>.
	EnvName string
	Ref     parse.SecretReference
	Path    string
	// Derived means that the variable has a Part of the value, or a value made from it.
	Derived bool
}

// Part is the part of a Secret's value in an environment variable. The operator writes it to a Secret of its own.
type Part string

// The parts. Those of PostgreSQL come from a connection string, or from a password and Variable.Database.
const (
	// RedisPassword is the whole value, percent-encoded for a URL.
	RedisPassword Part = "the Redis password"
	// PostgresHost, PostgresPort, PostgresDatabase and PostgresUser are values for the driver.
	PostgresHost     Part = "the host"
	PostgresPort     Part = "the port"
	PostgresDatabase Part = "the database"
	PostgresUser     Part = "the user"
	// PostgresURLHost, PostgresURLDatabase and PostgresURLUser are encoded for a URL that the server builds. The server
	// does not decode the database, which must be at the end of the URL.
	PostgresURLHost     Part = "the host, for a URL"
	PostgresURLDatabase Part = "the database, for a URL"
	PostgresURLUser     Part = "the user, for a URL"
	// PostgresURLPassword is the password, encoded for such a URL.
	PostgresURLPassword Part = "the password, for a URL"
	// PostgresPassword is the password; it is optional.
	PostgresPassword Part = "the password"
	// PostgresSSLMode is the TLS mode; it is optional.
	PostgresSSLMode Part = "the TLS mode"
	// PostgresSSLRootCert is the path of the CA certificates in the pod, if the TLS mode verifies certificates.
	PostgresSSLRootCert Part = "the CA certificates"
	// PostgresURI is the whole connection string in the form that the server accepts.
	PostgresURI Part = "the connection string"
)
