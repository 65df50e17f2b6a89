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

// checkSecrets reports what keeps the server from using a secret value. Messages name the reference, never the value.
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
			continue // there is no cluster to read it from
		}
		defects := f.Value.Unfit()
		if !f.Use.Derived {
			defects = append(defects, append(f.Value.Substituted(), d.unusable(f, variables[f.Use.EnvName])...)...)
		}
		for _, defect := range defects {
			d.problems.Add(invalid(f, in.CR.Namespace, defect))
		}
	}
}

// invalid is the problem of a value that cannot be used. Another value in the Secret fixes it, and the Secret is
// watched.
func invalid(f *SecretFact, namespace, defect string) problem.Problem {
	return problem.Problem{
		Reason: problem.InvalidSecret, Path: f.Use.Path, Type: field.ErrorTypeInvalid,
		Detail: about(f, namespace) + " " + defect,
	}
}

func about(f *SecretFact, namespace string) string {
	return fmt.Sprintf("the value of key %q in Secret %s/%s", f.Use.Ref.Key, namespace, f.Use.Ref.Name)
}

// variablesByName are the environment variables of a configuration, nil where there is none, by their names; of several
// with one name the first.
func variablesByName(made *serverconfig.Result) map[string]*serverconfig.EnvVar {
	if made == nil {
		return nil
	}
	byName := make(map[string]*serverconfig.EnvVar, len(made.Env))
	for i := range made.Env {
		v := &made.Env[i]
		if byName[v.Name] == nil {
			byName[v.Name] = v
		}
	}
	return byName
}

// unusable reports a value that will not do for what the configuration uses it for: the variable, nil where it uses
// none.
func (d *Desired) unusable(f *SecretFact, v *serverconfig.EnvVar) []string {
	if v == nil {
		return nil
	}
	if defect := f.Value.BearerProblem(); v.Bearer && defect != "" {
		return []string{defect}
	}
	return d.converted(f, v)
}

// converted reports a value that the server would turn into another type than the field takes. Where the type of the
// field is not known that is a warning.
func (d *Desired) converted(f *SecretFact, v *serverconfig.EnvVar) []string {
	looks := f.Value.Converted()
	switch v.Type {
	case catalog.TypeString, catalog.TypeURL:
		if looks != "" {
			return []string{looks}
		}
	case catalog.TypeInt, catalog.TypeFloat:
		if looks == "" {
			return []string{"is not a number, and the server takes nothing else there: use another value"}
		}
	case "":
		if looks != "" {
			d.problems.warn(problem.InvalidSecret, f.Use.Path, "the value in Secret "+f.Use.Ref.Name+" looks like a number or "+
				"a boolean",
				"use another value if the provider wants text there")
		}
	case catalog.TypeBool, catalog.TypeList, catalog.TypeMap, catalog.TypeAny:
	}
	return nil
}

// secretValues are the values of Secrets that the pods get, with the private key of the server, and what was derived
// from them.
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

// secretsHash is a keyed hash over the secret values that the pods read, and whatever else the overrides bring into
// them; empty where that is nothing. It is keyed because a plain hash of a short password is the password.
func secretsHash(in *Inputs) string {
	switch {
	case len(in.Secrets)+len(in.PodReferences) == 0:
		return ""
	case in.podsHash != nil:
		return in.podsHash.Sum()
	}
	return hashSecrets(in).Sum()
}

// hashSecrets begins the hash with the values of in.Secrets.
func hashSecrets(in *Inputs) *secret.Hash {
	h := secret.NewHash(in.HashKey)
	for i := range in.Secrets {
		h.Text(in.Secrets[i].Use.EnvName)
		h.Value(in.Secrets[i].Value)
	}
	return h
}
