// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"context"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
)

// CheckIntegrity checks a generated configuration with its environment.
func CheckIntegrity(in Input, generated *document.Base, env []EnvVar) problem.List {
	problems := &problem.Collector{}
	made := &integrity.Input{Document: generated.Edit(), Line: in.Line, Spec: in.Spec.Source, Environment: environment.NewSet(in.Spec.Source)}
	made.Environment.Add(env...)
	integrity.Check(context.Background(), made, problems)
	return problems.List()
}

// Snapshot returns a base as YAML.
func Snapshot(b *Base) string {
	text, err := yaml.Marshal(b.Root())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// IDOf returns the effective id for a provider_id.
func IDOf(raw string) string { return document.IdentityOf(document.String(raw)).ID }

// KnownLine maps any number to a release line.
func KnownLine(n uint8) *catalog.Line {
	names := catalog.Lines()
	line, _ := catalog.Get(names[int(n)%len(names)])
	return line
}
