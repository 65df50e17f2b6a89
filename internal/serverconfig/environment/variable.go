// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"strings"
	"unicode"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Variable is an environment variable of the server: a key of a Secret, or a plain value.
type Variable struct {
	Name string
	// Value is the value if Ref is empty. Kubernetes expands $(NAME) to another variable and $$ to a dollar sign.
	Value string
	// Ref is the Secret and the key; empty for a plain value.
	Ref parse.SecretReference
	// FieldPath is the field of the pod with the value, such as "metadata.name"; empty for other variables.
	FieldPath string
	// Path is the field of the custom resource that refers to the Secret, for messages.
	Path string
	// Type is the type of the config field, if known: the server converts numbers and booleans even for a string.
	Type catalog.FieldType
	// Part is the part of the Secret's value, or "" for all of it. The variable is not set if the value lacks the part.
	Part Part
	// Database is the database that the Secret's value is the password of, or nil if the value is a connection string.
	Database *Database
	// Bearer means that the value is a bearer token in a list of HTTP headers, which limits its characters.
	Bearer bool
}

// Database is a PostgreSQL database in the spec, without its password.
type Database struct {
	Host string
	Port int
	// User and Name are not encoded.
	User, Name string
	// SSLMode is the TLS mode, or "".
	SSLMode string
}

// Compare sorts variables with Secret values first, because others may refer to them.
func Compare(a, b Variable) int {
	if fromSecret := a.Ref.Name != ""; fromSecret != (b.Ref.Name != "") {
		if fromSecret {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// Name returns LLSD_<PROVIDER_ID>_<FIELD>, the variable of a provider's field, in upper case with "_".
func Name(providerID, field string) string {
	return "LLSD_" + strings.Map(func(r rune) rune {
		r = unicode.ToUpper(r)
		if (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, providerID+"_"+field)
}
