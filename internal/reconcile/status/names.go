// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// withoutSecrets returns the facts with secret values redacted in the server's names, unless the configuration has
// them.
func (f *Facts) withoutSecrets() *Facts {
	if f.Server == nil || f.Desired == nil || len(f.Desired.SecretValues) == 0 {
		return f
	}
	var names []string
	f.Server.Renamed(func(name string) string {
		names = append(names, name)
		return name
	})
	found := secret.NamesWith(names, f.Desired.SecretValues)
	if c := f.Desired.Config; c != nil {
		for i := range c.Providers {
			delete(found, c.Providers[i].Type)
		}
		for _, p := range c.Expected {
			delete(found, p.API)
			delete(found, p.ID)
		}
		for _, r := range c.Registered {
			delete(found, r.Name)
		}
	}
	if len(found) == 0 {
		return f
	}
	hidden := *f
	hidden.Server = f.Server.Renamed(func(name string) string {
		if found[name] {
			return secret.Redacted
		}
		return name
	})
	return &hidden
}
