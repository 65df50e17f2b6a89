// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// checkSecrets reports what keeps the server from using a secret value. Messages name the reference, never the value.
func checkSecrets(in *Inputs) fault.List {
	var faults fault.List
	for i := range in.Secrets {
		f := &in.Secrets[i]
		name, key, namespace, path := f.Use.Ref.Name, f.Use.Ref.Key, in.CR.Namespace, f.Use.Path
		switch f.State {
		case SecretFound:
			for _, problem := range f.Value.Problems() {
				faults = append(faults, &fault.Fault{
					Class: fault.Wrong, Condition: v1alpha2.ConditionSecretsResolved, Reason: v1alpha2.ReasonSecretInvalid,
					Message: fmt.Sprintf("%s: the value of key %q in Secret %s/%s %s", path, key, namespace, name, problem),
				})
			}
		case SecretMissing:
			faults = append(faults, missing(fmt.Sprintf(
				"Secret not found: %s (namespace %s, referenced by %s): create it with the key %q", name, namespace, path, key)))
		case SecretKeyMissing:
			faults = append(faults, missing(fmt.Sprintf(
				"Secret %s (namespace %s, referenced by %s) has no key %q: add it, or refer to one of its keys: %s",
				name, namespace, path, key, strings.Join(f.Keys, ", "))))
		case SecretEmpty:
			faults = append(faults, missing(fmt.Sprintf(
				"the value of key %q in Secret %s (namespace %s, referenced by %s) is empty, which the server takes for unset: give it a value",
				key, name, namespace, path)))
		}
	}
	return faults
}

func missing(message string) *fault.Fault {
	return &fault.Fault{
		Class: fault.Missing, Condition: v1alpha2.ConditionSecretsResolved, Reason: v1alpha2.ReasonSecretNotFound, Message: message,
	}
}

// secretsHash is a keyed hash over the secret values that the pods read; empty where they read none. It is keyed
// because a plain hash of a short password is the password.
func secretsHash(in *Inputs) string {
	if len(in.Secrets) == 0 {
		return ""
	}
	h := secret.NewHash(in.HashKey)
	for i := range in.Secrets {
		h.Text(in.Secrets[i].Use.EnvName)
		h.Value(in.Secrets[i].Value)
	}
	return h.Sum()
}
