// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/redact"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// rewriting is the state of rewriting one v1alpha2 object.
type rewriting struct {
	object map[string]any
	line   *catalog.Line
	base   *document.Document
	env    []any
	used   map[string]bool
	// converted are the providers of the base that became fields, as API/id.
	converted map[string]bool
	// assumed means that the base stands for an unknown one, which may read any variable. So all of them stay.
	assumed bool
	// moved describes the variables that became fields, stays the others.
	moved []string
	kept  []keptVariable
}

// keptVariable explains why variables stay.
type keptVariable struct {
	// names are the variables; empty means all.
	names []string
	text  string
}

// inferenceModel is the variable with the model, or the suffix of one for a provider.
const inferenceModel = "INFERENCE_MODEL"

var envPath = []string{"spec", "workload", "overrides", "env"}

// rewrite moves variables to spec.providers and spec.resources in the object. moved and kept describe what is done
// already.
func rewrite(object map[string]any, d *settings.Distribution, assumed bool, moved []string,
	kept []keptVariable) *rewriting {
	r := &rewriting{object: object, used: map[string]bool{}, converted: map[string]bool{}, assumed: assumed, moved: moved,
		kept: kept}
	r.env, _, _ = unstructured.NestedSlice(object, envPath...)
	if override, overridden, _ := unstructured.NestedMap(object, "spec", "overrideConfig"); overridden {
		r.kept = append(r.kept, keptVariable{text: fmt.Sprintf("spec.overrideConfig: ConfigMap %v is not among the files: "+
			"give it with another -f, and its configuration is moved, too", override["configMapName"])})
		return r
	}
	if d == nil || d.Base == nil || d.Line == nil {
		r.kept = append(r.kept, keptVariable{text: "all variables: the configuration of this " +
			"distribution"})
		return r
	}
	r.line, r.base = d.Line, d.Base.Edit()
	var ids []string
	for _, api := range parse.ConfigurableAPIs() {
		ids = append(ids, r.api(api)...)
	}
	r.models(ids)
	r.removeUsed()
	return r
}

// api rewrites the providers of an API that variables enable. It returns the ids of inference providers.
func (r *rewriting) api(api parse.ProviderAPI) []string {
	if _, exists, _ := unstructured.NestedFieldNoCopy(r.object, "spec", "providers", api.Field); exists {
		return nil // the spec already configures this API
	}
	var entries []any
	var ids []string
	for entry := range r.base.Providers() {
		id := entry.Identity()
		ref, _ := document.WholeReference(id.Raw)
		if entry.API != api.Name {
			continue
		}
		if id.Presence == document.Unconditional {
			converted, used := r.provider(entry, id.ID)
			if len(used) > 0 {
				entries, ids = append(entries, converted), append(ids, id.ID)
				r.move(entry, id.ID, api, used)
			}
			continue
		}
		if id.Presence != document.Conditional || ref.Operator != document.IfSet || r.variable(ref.Name) == nil {
			continue
		}
		if r.plain(ref.Name) == "" && !isRequired(r.variable(ref.Name)) {
			r.add(ref.Name, fmt.Sprintf("%s, for provider %s: its value is not in the spec, so whether the provider is on is "+
				"not known", ref.Name, id.ID))
			continue
		}
		converted, used := r.provider(entry, id.ID)
		r.move(entry, id.ID, api, append(used, ref.Name))
		entries = append(entries, converted)
		ids = append(ids, id.ID)
	}
	switch {
	case len(entries) == 1:
		_ = unstructured.SetNestedField(r.object, entries[0], "spec", "providers",
			api.Field) // cannot fail: conversion created the parents
	case len(entries) > 1:
		_ = unstructured.SetNestedSlice(r.object, entries, "spec", "providers", api.Field)
	}
	if api != parse.APIInference {
		return nil
	}
	return ids
}

// move records that variables became an entry of the spec.
func (r *rewriting) move(entry document.Entry, id string, api parse.ProviderAPI, variables []string) {
	r.converted[entry.API+"/"+id] = true
	for _, name := range variables {
		r.used[name] = true
	}
	slices.Sort(variables)
	r.moved = append(r.moved, fmt.Sprintf("%s became spec.providers.%s with id %s",
		strings.Join(slices.Compact(variables), ", "), api.Field, id))
}

// provider returns the entry for a provider and the variables that became its fields. The others stay: the entry starts
// from that of the distribution, which reads them.
func (r *rewriting) provider(entry document.Entry, id string) (fields map[string]any, used []string) {
	row, known := r.line.Provider(entry.API, entry.Type())
	if !known {
		row = &catalog.Provider{Type: entry.Type()}
	}
	fields = map[string]any{"id": id, "provider": strings.TrimPrefix(entry.Type(), "remote::")}
	for name, node := range document.Members(entry.Config()) {
		used = append(used, r.fields(fields, row, []string{name}, node)...)
	}
	return fields, used
}

// fields sets fields of an entry from the variables in a field of the config, and returns those that are not needed any
// more.
func (r *rewriting) fields(entry map[string]any, row *catalog.Provider, path []string, n *yaml.Node) (used []string) {
	if n.Kind == yaml.MappingNode {
		for name, child := range document.Members(n) {
			used = append(used, r.fields(entry, row, append(slices.Clone(path), name), child)...)
		}
		return used
	}
	for _, variable := range document.VariablesIn(n) {
		v := r.variable(variable)
		if v == nil {
			continue
		}
		ref, whole := document.WholeReference(document.Text(n))
		switch {
		case !whole:
			r.keep(variable, "is a part of the field "+strings.Join(path, "."))
		case ref.HasDefault() && v["value"] == ref.Value:
			used = append(used, variable) // the distribution's own default
		default:
			if reason := setField(entry, row, path, variable, v); reason != "" {
				r.keep(variable, reason)
				continue
			}
			used = append(used, variable)
		}
	}
	return used
}

// keep records why a variable of a field stays.
func (r *rewriting) keep(variable, reason string) { r.add(variable, variable+" "+reason) }

// explain records why a variable stays.
func (r *rewriting) explain(variable, reason string) { r.add(variable, variable+": "+reason) }

// add records the first reason why a variable stays.
func (r *rewriting) add(variable, text string) {
	if slices.ContainsFunc(r.kept, func(k keptVariable) bool { return slices.Contains(k.names, variable) }) {
		return
	}
	r.kept = append(r.kept, keptVariable{[]string{variable}, text})
}

// isRequired reports whether a variable has its value from a Secret or ConfigMap that must exist.
func isRequired(variable map[string]any) bool {
	for _, kind := range []string{"secretKeyRef", "configMapKeyRef"} {
		if from, _, _ := unstructured.NestedMap(variable, "valueFrom", kind); from != nil {
			return from["optional"] != true
		}
	}
	return false
}

// setField sets the field of an entry for a config field from a variable, or returns the reason why it cannot. An
// address from elsewhere becomes a reference to the variable.
func setField(entry map[string]any, row *catalog.Provider, path []string, from string,
	variable map[string]any) (reason string) {
	name := path[0]
	secret, _, _ := unstructured.NestedMap(variable, "valueFrom", "secretKeyRef")
	value, _ := variable["value"].(string)
	isURL := len(path) == 1 && row.Endpoint != nil && row.Endpoint.Kind == catalog.EndpointURL &&
		name == row.Endpoint.Field
	switch {
	case secret != nil && secret["optional"] == true:
		return "comes from a Secret that may be absent"
	case isRequired(variable) && isURL:
		entry["endpoint"] = document.ReferenceTo(from)
	case secret != nil && len(path) > 1:
		return "comes from a Secret"
	case secret != nil && name == row.Key:
		entry["apiKey"] = map[string]any{"name": secret["name"], "key": secret["key"]}
	case secret != nil:
		refs, _ := entry["secretRefs"].(map[string]any)
		if refs == nil {
			refs = map[string]any{}
		}
		refs[name] = map[string]any{"name": secret["name"], "key": secret["key"]}
		entry["secretRefs"] = refs
	case variable["valueFrom"] != nil:
		return "does not come from a Secret"
	case row.Fields[name].Secret:
		return literalSecretFix
	case strings.Contains(value, "$("):
		return "refers to another variable"
	case isURL:
		entry["endpoint"] = value
	default:
		_ = unstructured.SetNestedField(entry, typed(value), append([]string{"settings"}, path...)...)
	}
	return ""
}

// typed converts text that looks like a number or boolean, as the server does.
func typed(text string) any {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	switch v := value.(type) {
	case int:
		return int64(v)
	case bool, float64:
		return v
	}
	return text
}

// models registers the models in variables that the distribution ignores.
func (r *rewriting) models(inference []string) {
	if _, exists, _ := unstructured.NestedFieldNoCopy(r.object, "spec", "resources", "models"); exists ||
		len(inference) == 0 {
		return
	}
	read := document.VariablesIn(r.base.Root())
	var models []any
	for _, item := range r.env {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		model := r.plain(name)
		if model == "" || r.used[name] || !strings.HasSuffix(name, inferenceModel) || slices.Contains(read, name) {
			continue
		}
		provider := providerOf(name, inference)
		if provider == "" {
			r.explain(name, "several inference providers could serve the model; write it under spec.resources.models")
			continue
		}
		entry := map[string]any{"name": model, "provider": provider}
		if !slices.ContainsFunc(models, func(other any) bool { return fmt.Sprint(other) == fmt.Sprint(entry) }) {
			models = append(models, entry)
		}
		r.used[name] = true
		r.moved = append(r.moved, fmt.Sprintf("%s, which this distribution ignores, became spec.resources.models", name))
	}
	if len(models) > 0 {
		_ = unstructured.SetNestedSlice(r.object, models, "spec", "resources", "models")
	}
}

// providerOf returns the provider in the variable's prefix, as in OLLAMA_INFERENCE_MODEL, else the only one.
func providerOf(variable string, ids []string) string {
	for _, id := range ids {
		if strings.HasPrefix(variable, strings.ToUpper(strings.ReplaceAll(id, "-", "_"))+"_") {
			return id
		}
	}
	if len(ids) == 1 && variable == inferenceModel {
		return ids[0]
	}
	return ""
}

// variable returns the last variable of the name if it has a value; otherwise nil.
func (r *rewriting) variable(name string) map[string]any {
	for _, item := range slices.Backward(r.env) {
		v, _ := item.(map[string]any)
		switch {
		case v["name"] != name:
		case v["valueFrom"] != nil || v["value"] != nil && v["value"] != "":
			return v
		default:
			return nil
		}
	}
	return nil
}

// plain returns the literal value of a variable; may be empty.
func (r *rewriting) plain(name string) string {
	value, _ := r.variable(name)["value"].(string)
	return value
}

// removeUsed removes the variables that became fields, unless another variable refers to them.
func (r *rewriting) removeUsed() {
	if r.assumed {
		return
	}
	var left []any
	for _, item := range r.env {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		switch {
		case !r.used[name]:
			left = append(left, item)
			r.recordReason(name)
		case r.isReferenced(name):
			left = append(left, item)
			r.explain(name, "another variable refers to it")
		case refersTo(r.object["spec"], name):
			left = append(left, item)
			r.explain(name, "the spec refers to it")
		case r.reader(name) != "":
			left = append(left, item)
			r.explain(name, "the distribution's provider "+r.reader(name)+" reads it, too")
		}
	}
	if len(left) < len(r.env) {
		r.setVariables(left)
	}
}

// setVariables sets the variables of the object, without empty parents.
func (r *rewriting) setVariables(left []any) {
	if len(left) > 0 {
		_ = unstructured.SetNestedSlice(r.object, left, envPath...)
		return
	}
	for i := len(envPath); i > 1; i-- { // remove empty parents too
		unstructured.RemoveNestedField(r.object, envPath[:i]...)
		if rest, _, _ := unstructured.NestedMap(r.object, envPath[:i-1]...); len(rest) > 0 {
			return
		}
	}
}

func (r *rewriting) isReferenced(name string) bool {
	return r.anyLiteral(func(_ any, value string) bool { return strings.Contains(value, "$("+name+")") })
}

// hasLiteral reports whether the variable has a literal value, even if overridden.
func (r *rewriting) hasLiteral(name string) bool {
	return r.anyLiteral(func(other any, value string) bool { return other == name && value != "" })
}

// anyLiteral reports whether holds returns true for a variable; value is empty without a literal one.
func (r *rewriting) anyLiteral(holds func(name any, value string) bool) bool {
	return slices.ContainsFunc(r.env, func(item any) bool {
		variable, _ := item.(map[string]any)
		value, _ := variable["value"].(string)
		return holds(variable["name"], value)
	})
}

// literalSecretFix is the reason for a secret variable with a literal value.
const literalSecretFix = "has its value in the spec: store the value in a Secret, and read the variable from it"

// recordReason records why a variable stays, unless that is known already.
func (r *rewriting) recordReason(name string) {
	why := "this command does not know its use"
	switch reader := r.reader(name); {
	case reader != "":
		why = "the distribution's provider " + reader + " reads it, which stays as it is"
	case r.base.Backends() != nil && slices.Contains(document.VariablesIn(r.base.Backends()), name):
		why = "the distribution's storage reads it; in its place, spec.storage takes a connection string from a Secret"
	case slices.Contains(document.VariablesIn(r.base.Root()), name):
		why = "the distribution's configuration reads it elsewhere than in providers"
	case strings.HasSuffix(name, inferenceModel):
		why = "this distribution ignores it; write the model under spec.resources.models"
	}
	if redact.IsSecretName(name) && r.hasLiteral(name) {
		why += ". It " + literalSecretFix
	}
	r.explain(name, why)
}

// reader returns the first provider of the distribution that reads the variable and did not become a field, as API/id;
// empty if none exists.
func (r *rewriting) reader(variable string) string {
	for entry := range r.base.Providers() {
		id := entry.Identity()
		ref, conditional := document.WholeReference(id.Raw)
		reads := conditional && ref.Name == variable
		for _, node := range document.Members(entry.Config()) {
			reads = reads || slices.Contains(document.VariablesIn(node), variable)
		}
		if reads && !r.converted[entry.API+"/"+id.ID] {
			return entry.API + "/" + id.ID
		}
	}
	return ""
}
