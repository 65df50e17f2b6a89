// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"strings"
	"unicode"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Variable is an environment variable of the server: one key of a Secret, or a plain value.
type Variable struct {
	// Name is the name of the variable.
	Name string
	// Value is the value of a variable that holds no secret; it counts where Ref names no Secret. $(NAME) in it stands for
	// the value of another variable, as Kubernetes has it, and $$ for a dollar sign.
	Value string
	// Ref is the Secret and the key; empty for a plain value.
	Ref parse.SecretReference
	// Path is the field of the resource that refers to it, for messages.
	Path string
	// Type is the type of the config field that gets the value, and empty where it is not known. The server turns a
	// value that looks like a number or a boolean into one, and then refuses it for a field of type string or url.
	Type catalog.FieldType
	// Part is what of the Secret's value the variable carries; empty for all of it. Anyone who makes the pod keeps the
	// parts in a Secret of its own; a part that the value does not have makes the variable absent.
	Part Part
	// Bearer reports that the value is sent as a bearer token through a list of HTTP headers, which not every character
	// survives.
	Bearer bool
}

// Compare orders variables so that those that others may refer to come first.
func Compare(a, b Variable) int {
	if fromSecret := a.Ref.Name != ""; fromSecret != (b.Ref.Name != "") {
		if fromSecret {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// Name returns LLSD_<PROVIDER_ID>_<FIELD>, the variable that carries a field of a provider: upper case, with "_" for
// every other character.
func Name(providerID, field string) string {
	return "LLSD_" + strings.Map(func(r rune) rune {
		r = unicode.ToUpper(r)
		if (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, providerID+"_"+field)
}
