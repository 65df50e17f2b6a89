// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// checkSecrets reports what keeps the server from using a secret value. Messages name the reference, never the value.
func (d *Desired) checkSecrets(in *Inputs) fault.List {
	var faults fault.List
	variables := d.variables()
	for i := range in.Secrets {
		f := &in.Secrets[i]
		if f.State != SecretFound {
			faults = append(faults, absent(f, in.CR.Namespace))
			continue
		}
		if f.Value.Empty() {
			continue // there is no cluster to read it from
		}
		problems := f.Value.Unfit()
		if !f.Use.Derived {
			problems = append(problems, append(f.Value.Substituted(), d.unusable(f, variables[f.Use.EnvName])...)...)
		}
		for _, problem := range problems {
			faults = append(faults, invalid(f, in.CR.Namespace, problem))
		}
	}
	return faults
}

func invalid(f *SecretFact, namespace, problem string) *fault.Fault {
	return &fault.Fault{
		// Missing, not wrong: another value in the Secret mends it, and the Secret is watched.
		Class: fault.Missing, Condition: v1alpha2.ConditionSecretsResolved, Reason: v1alpha2.ReasonSecretInvalid,
		Message: f.Use.Path + ": " + about(f, namespace) + " " + problem,
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
	if problem := f.Value.BearerProblem(); v.Bearer && problem != "" {
		return []string{problem}
	}
	return d.converted(f, v)
}

// converted reports a value that the server would turn into another type than the field takes. Where the type of the field is
// not known that is a warning.
func (d *Desired) converted(f *SecretFact, v *config.EnvVar) []string {
	problem := f.Value.Converted()
	switch v.Type {
	case catalog.TypeString, catalog.TypeURL:
		if problem != "" {
			return []string{problem}
		}
	case catalog.TypeInt, catalog.TypeFloat:
		if problem == "" {
			return []string{"is no number, and the server takes nothing else there: use another value"}
		}
	case "":
		if problem != "" {
			d.Warnings = append(d.Warnings, config.Finding{
				Code: config.InvalidSpec, Severity: config.Warning, Path: f.Use.Path,
				Message: "the value in Secret " + f.Use.Ref.Name + " looks like a number or a boolean",
				Mending: "use another value if the provider wants text there",
			})
		}
	case catalog.TypeBool, catalog.TypeList, catalog.TypeMap, catalog.TypeAny:
	}
	return nil
}

// absent is the fault of a reference that leads to no value; it heals by itself.
func absent(f *SecretFact, namespace string) *fault.Fault {
	name, key, path := f.Use.Ref.Name, f.Use.Ref.Key, f.Use.Path
	switch f.State {
	case SecretKeyMissing:
		mend := "add it"
		if len(f.Keys) > 0 {
			mend += ", or refer to one of its keys: " + bounds.Names(f.Keys)
		}
		return missing(fmt.Sprintf("Secret %s (namespace %s, referenced by %s) has no key %q: %s", name, namespace, path, key, mend))
	case SecretEmpty:
		return missing(fmt.Sprintf("%s (referenced by %s) is empty, which the server takes for unset: give it a value",
			about(f, namespace), path))
	case SecretMissing, SecretFound:
	}
	return missing(fmt.Sprintf("Secret not found: %s (namespace %s, referenced by %s): create it with the key %q", name, namespace, path, key))
}

func missing(message string) *fault.Fault {
	return &fault.Fault{
		Class: fault.Missing, Condition: v1alpha2.ConditionSecretsResolved, Reason: v1alpha2.ReasonSecretNotFound, Message: message,
	}
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
