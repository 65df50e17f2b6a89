// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// checkSecrets reports secret values that the server cannot use. Messages name the reference, never the value.
func (d *Desired) checkSecrets(in *Inputs) {
	variables := variablesByName(d.Config)
	for i := range in.Secrets {
		f := &in.Secrets[i]
		ref := secretReference(&f.Use, in.CR.Namespace)
		if p := f.absent(&ref, in.CR.Namespace, ""); p != nil {
			d.problems.AddFound(p)
			continue
		}
		if f.Value.Empty() {
			continue // no cluster to read it from
		}
		defects := f.Value.TextProblems()
		if !f.Use.Derived {
			defects = append(defects, append(f.Value.SubstitutionProblems(), d.usageDefects(f, variables[f.Use.EnvName])...)...)
		}
		for _, defect := range defects {
			d.problems.Add(invalid(f, in.CR.Namespace, defect))
		}
	}
}

// invalid returns the problem of an unusable value. The operator watches the Secret.
func invalid(f *SecretFact, namespace, defect string) problem.Problem {
	return problem.Problem{
		Reason: problem.InvalidSecret, Path: f.Use.Path, Type: field.ErrorTypeInvalid,
		Detail: describeValue(f, namespace) + " " + defect,
	}
}

func describeValue(f *SecretFact, namespace string) string {
	return fmt.Sprintf("the value of key %q in Secret %s/%s", f.Use.Ref.Key, namespace, f.Use.Ref.Name)
}

// variablesByName returns the configuration's variables by name, the first of each.
func variablesByName(generated *serverconfig.Result) map[string]*serverconfig.EnvVar {
	if generated == nil {
		return nil
	}
	byName := make(map[string]*serverconfig.EnvVar, len(generated.Env))
	for i := range generated.Env {
		v := &generated.Env[i]
		if byName[v.Name] == nil {
			byName[v.Name] = v
		}
	}
	return byName
}

// usageDefects returns the defects of a value for its use as variable v; none if v is nil.
func (d *Desired) usageDefects(f *SecretFact, v *serverconfig.EnvVar) []string {
	if v == nil {
		return nil
	}
	if defect := f.Value.BearerProblem(); v.Bearer && defect != "" {
		return []string{defect}
	}
	return d.conversionDefects(f, v)
}

// conversionDefects returns the defect of a value that the server would convert to another type; it warns if the type
// is unknown.
func (d *Desired) conversionDefects(f *SecretFact, v *serverconfig.EnvVar) []string {
	conversion := f.Value.ConversionProblem()
	switch v.Type {
	case catalog.TypeString, catalog.TypeURL:
		if conversion != "" {
			return []string{conversion}
		}
	case catalog.TypeInt, catalog.TypeFloat:
		if conversion == "" {
			return []string{"is not a number, but the server requires one: use another value"}
		}
	case "":
		if conversion != "" {
			d.problems.warn(problem.InvalidSecret, f.Use.Path, "the value in Secret "+f.Use.Ref.Name+" looks like a number or "+
				"a boolean",
				"use another value if the provider expects text")
		}
	case catalog.TypeBool, catalog.TypeList, catalog.TypeMap, catalog.TypeAny:
	}
	return nil
}

// secretValues returns all secret values of the pods: Secrets, derived parts and the server's private key.
func (in *Inputs) secretValues(derived map[string]secret.Value) []secret.Value {
	values := make([]secret.Value, 0, len(in.Secrets)+len(derived))
	for i := range in.Secrets {
		values = append(values, in.Secrets[i].Value)
	}
	for _, name := range slices.Sorted(maps.Keys(derived)) {
		values = append(values, derived[name])
	}
	for i := range in.PodReferences {
		values = append(values, in.PodReferences[i].Values...)
	}
	if f := in.Certificate; f != nil {
		values = append(values, f.Key)
	}
	return values
}

// secretsHash returns a keyed hash of the pods' secret values and other references; a plain one would disclose
// passwords.
func secretsHash(in *Inputs) string {
	switch {
	case len(in.Secrets)+len(in.PodReferences) == 0:
		return ""
	case in.podsHash != nil:
		return in.podsHash.Sum()
	}
	return hashSecrets(in).Sum()
}

func hashSecrets(in *Inputs) *secret.Hash {
	h := secret.NewHash(in.HashKey)
	for i := range in.Secrets {
		h.Text(in.Secrets[i].Use.EnvName)
		h.Value(in.Secrets[i].Value)
	}
	return h
}
