// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// SecretUse is one key of a Secret that the spec reads, and the environment variable that carries it.
type SecretUse struct {
	// EnvName is the name of the environment variable: LLSD_<PROVIDER_ID>_<FIELD>, or LLSD_STORAGE_<KV or SQL>_<FIELD>.
	EnvName string
	// Ref is the Secret and the key.
	Ref parse.SecretReference
	// Path is the field of the resource that refers to it, for messages.
	Path string
	// Derived reports that the server gets not the value itself but what is made of it: see EnvVar.Part.
	Derived bool
}

// Part is what of a Secret's value an environment variable carries. The operator makes it of the value and keeps it in
// a Secret of its own.
type Part string

// The parts. Those of PostgreSQL are of a connection string.
const (
	// RedisPassword is the whole value, percent-encoded as a URL wants it.
	RedisPassword Part = "the Redis password"
	// PostgresHost, PostgresPort, PostgresDatabase and PostgresUser are as they reach the driver.
	PostgresHost     Part = "the host"
	PostgresPort     Part = "the port"
	PostgresDatabase Part = "the database"
	PostgresUser     Part = "the user"
	// PostgresURLHost, PostgresURLDatabase and PostgresURLUser are what a URL needs that the server makes of them. What
	// stands for the database there is not decoded; nothing but the end of the URL may follow it.
	PostgresURLHost     Part = "the host, for a URL"
	PostgresURLDatabase Part = "the database, for a URL"
	PostgresURLUser     Part = "the user, for a URL"
	// PostgresPassword is the password as it is; there may be none.
	PostgresPassword Part = "the password"
	// PostgresSSLMode is the TLS mode; there may be none.
	PostgresSSLMode Part = "the TLS mode"
	// PostgresSSLRootCert is the path of the CA certificates in the pod, where the TLS mode verifies certificates.
	PostgresSSLRootCert Part = "the CA certificates"
	// PostgresURI is all of it, in the one spelling that the server understands.
	PostgresURI Part = "the connection string"
)
