// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// checkSecrets reports what keeps the server from using a secret value. Messages name the reference, never the value.
func (d *Desired) checkSecrets(in *Inputs) {
	variables := d.variables()
	for i := range in.Secrets {
		f := &in.Secrets[i]
		if f.State != SecretFound {
			d.problems.Add(absent(f, in.CR.Namespace))
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

// invalid is the problem of a value that cannot be used. Another value in the Secret fixes it, and the Secret is watched.
func invalid(f *SecretFact, namespace, defect string) problem.Problem {
	return problem.Problem{
		Reason: problem.SecretInvalid, Path: f.Use.Path, Type: field.ErrorTypeInvalid, Detail: about(f, namespace) + " " + defect,
	}
}

func about(f *SecretFact, namespace string) string {
	return fmt.Sprintf("the value of key %q in Secret %s/%s", f.Use.Ref.Key, namespace, f.Use.Ref.Name)
}

// variables are the environment variables of the configuration by their names; of several with one name the first.
func (d *Desired) variables() map[string]*config.EnvVar {
	if d.Config == nil {
		return nil
	}
	byName := make(map[string]*config.EnvVar, len(d.Config.Env))
	for i := range d.Config.Env {
		v := &d.Config.Env[i]
		if byName[v.Name] == nil {
			byName[v.Name] = v
		}
	}
	return byName
}

// unusable reports a value that will not do for what the configuration uses it for: the variable, nil where it uses none.
func (d *Desired) unusable(f *SecretFact, v *config.EnvVar) []string {
	if v == nil {
		return nil
	}
	if defect := f.Value.BearerProblem(); v.Bearer && defect != "" {
		return []string{defect}
	}
	return d.converted(f, v)
}

// converted reports a value that the server would turn into another type than the field takes. Where the type of the field is
// not known that is a warning.
func (d *Desired) converted(f *SecretFact, v *config.EnvVar) []string {
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
			d.problems.warn(problem.SecretInvalid, f.Use.Path, "the value in Secret "+f.Use.Ref.Name+" looks like a number or a boolean",
				"use another value if the provider wants text there")
		}
	case catalog.TypeBool, catalog.TypeList, catalog.TypeMap, catalog.TypeAny:
	}
	return nil
}

// absent is the problem of a reference without a value. It heals by itself: the Secret is watched.
func absent(f *SecretFact, namespace string) problem.Problem {
	name, key := f.Use.Ref.Name, f.Use.Ref.Key
	p := problem.Problem{Reason: problem.SecretNotFound, Path: f.Use.Path}
	switch f.State {
	case SecretKeyMissing:
		p.Detail, p.Fix = fmt.Sprintf("Secret %s (namespace %s) has no key %q", name, namespace, key), "add it"
		if len(f.Keys) > 0 {
			p.Fix += ", or refer to one of its keys: " + suggest.Sentence(key, f.Keys) + bounds.Names(f.Keys)
		}
	case SecretEmpty:
		p.Detail, p.Fix = about(f, namespace)+" is empty, which the server takes for unset", "give it a value"
	case SecretMissing, SecretFound:
		p.Detail, p.Fix = fmt.Sprintf("Secret not found: %s (namespace %s)", name, namespace), fmt.Sprintf("create it with the key %q", key)
	}
	return p
}

// secretsHash is a keyed hash over the secret values that the pods read, and whatever else the overrides bring into them; empty where
// that is nothing. It is keyed because a plain hash of a short password is the password.
func secretsHash(in *Inputs) string {
	if len(in.Secrets)+len(in.PodReferences) == 0 {
		return ""
	}
	h := secret.NewHash(in.HashKey)
	for i := range in.Secrets {
		h.Text(in.Secrets[i].Use.EnvName)
		h.Value(in.Secrets[i].Value)
	}
	for i := range in.PodReferences {
		in.PodReferences[i].hash(h)
	}
	return h.Sum()
}
