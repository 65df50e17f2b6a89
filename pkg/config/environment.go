// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/storage"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// checkEnvironment makes sure that every variable which the configuration needs means one thing, and only to whom it is meant.
func (g *generation) checkEnvironment() {
	first := map[string]string{}
	for _, v := range g.env.Needed() {
		if other, ok := first[v.Name]; ok {
			g.findings.fail(Conflict, v.Path, fmt.Sprintf("needs the environment variable %s, and so does %s", v.Name, other),
				"choose another id for the provider")
			continue
		}
		first[v.Name] = v.Path
	}
	g.checkBystanders(first)
	g.checkOverrides()
	g.checkUnset()
}

// alwaysSet are the variables that the container has whatever the resource says, beside those that the release line names: the
// operator sets some, the container engine and Kubernetes the others.
var alwaysSet = []string{
	"FILES_STORAGE_DIR", "HF_HOME", "HOME", "HOSTNAME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "MILVUS_DB_PATH", "PATH",
	"RUN_CONFIG_PATH", "SQLITE_STORE_DIR",
}

// checkUnset warns of variables that the resource refers to and that nobody sets, as far as one can see: the image may. The server does
// not start with a reference to an unset variable that has no default.
func (g *generation) checkUnset() {
	written, err := json.Marshal(map[string]any{"providers": g.Spec.Providers, "resources": g.Spec.Resources, "storage": g.Spec.Storage})
	if err != nil || !bytes.Contains(written, []byte("${env.")) {
		return // what is not JSON has been refused before
	}
	given, missing := g.env.Given(), document.Variables{}
	for _, name := range document.RequiredVariables(g.doc.Root()) {
		missing[name] = true
	}
	maps.DeleteFunc(missing, func(name string, _ bool) bool {
		return name == g.Line.PortEnv || name == g.Line.HomeEnv || slices.Contains(alwaysSet, name) || given[name]
	})
	var fields any
	if len(missing) == 0 || json.Unmarshal(written, &fields) != nil {
		return
	}
	walkTexts(fields, "spec", func(path, s string) {
		names := slices.DeleteFunc(slices.Compact(document.RequiredVariables(document.String(s))), func(name string) bool { return !missing[name] })
		reported := slices.ContainsFunc(g.findings.List(), func(p problem.Problem) bool { return p.Path == path })
		if len(names) == 0 || reported {
			return
		}
		g.findings.warn(BrokenReference, path,
			"refers to "+bounds.List(names, " and ")+" of the environment, which nothing in this resource sets: unless the image does, the server does not start",
			fmt.Sprintf("set it in spec.workload.overrides.env, or give it a default: ${env.%s:=…}", names[0]))
	})
}

// walkTexts visits the texts of a tree by their paths, maps in the order of their keys.
func walkTexts(value any, path string, visit func(path, text string)) {
	switch v := value.(type) {
	case string:
		visit(path, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walkTexts(v[key], bounds.Join(path, "."+key), visit)
		}
	case []any:
		for i, item := range v {
			walkTexts(item, bounds.Join(path, fmt.Sprintf("[%d]", i)), visit)
		}
	}
}

// checkOverrides lets the user's variables win over those of the same name that the configuration asks for, but for those that it cannot
// do without: what comes from Secrets, and what keeps the server from printing it.
func (g *generation) checkOverrides() {
	byName, replaced := make(map[string]EnvVar, len(g.env.Needed())), document.Variables{}
	for _, own := range g.env.Needed() {
		byName[own.Name] = own
	}
	for i, v := range g.env.Overrides() {
		own, twice := byName[v.Name]
		if !twice || replaced[v.Name] {
			continue
		}
		path := fmt.Sprintf("spec.workload.overrides.env[%d]", i)
		if own.Ref.Name != "" || own.Name == g.Line.LogEnv {
			g.findings.fail(Conflict, path, fmt.Sprintf("sets %s, which the operator sets for %s", v.Name, own.Path), "remove one of them")
			continue
		}
		g.findings.warn(Conflict, path, fmt.Sprintf("sets %s in place of the value that the operator makes of %s", v.Name, own.Path),
			"remove it unless this is meant")
		replaced[v.Name] = true
	}
	if len(replaced) > 0 {
		g.env.Remove(replaced)
	}
}

// checkBystanders looks at the clients of other databases in the server that read a variable which is meant for the storage: a
// password must not reach a database that it is not for.
func (g *generation) checkBystanders(own map[string]string) {
	backends := g.doc.Backends()
	for _, name := range document.Keys(backends) {
		entry := document.Child(backends, name)
		if row, ok := g.Line.Backends[document.Text(document.Child(entry, "type"))]; ok && !g.storageNames[name] {
			g.checkBystander("the storage backend "+name, "config.yaml: storage.backends."+name, row.Environment, entry, own)
		}
	}
	for entry := range g.doc.Providers() {
		row, ok := g.Line.Provider(entry.API, entry.Type())
		if !ok || len(row.Environment) == 0 || !g.env.Given().MayEnable(entry.Identity()) {
			continue
		}
		id, path := entry.Identity().ID, "config.yaml: "+entry.Path()+".config"
		if p := g.ofResource(entry.API, id); p != nil {
			path = p.Path
		}
		g.checkBystander("the provider "+id, path, row.Environment, entry.Config(), own)
	}
}

// ofResource returns the provider of the resource with an id; nil where the base's own has it.
func (g *generation) ofResource(api, id string) *provider {
	for _, p := range g.providers {
		if p.api.Name == api && p.EffectiveID() == id {
			return p
		}
	}
	return nil
}

func (g *generation) checkBystander(who, path string, reads map[string]string, config *yaml.Node, own map[string]string) {
	var tls bool
	for _, variable := range slices.Sorted(maps.Keys(reads)) {
		from, set := own[variable]
		field := reads[variable]
		if !set || field != "" && g.env.Given().Fills(document.Child(config, field)) {
			continue
		}
		if variable != "PGPASSWORD" {
			tls = true
			continue
		}
		g.findings.fail(Conflict, path, fmt.Sprintf("%s has no %s of its own, and would give that of %s to its own database", who, field, from),
			"give it one"+g.elsewhere())
	}
	if tls {
		g.findings.warn(Conflict, path, fmt.Sprintf("%s takes the TLS mode of its connections from %s too, where that names one", who, storage.PathConnectionString),
			"let both databases do the same"+g.elsewhere())
	}
}

// elsewhere tells of the release lines on which nothing is shared.
func (g *generation) elsewhere() string {
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		if line.Backends["sql_postgres"].Credentials == catalog.CredentialsURI && catalog.Compare(name, g.Line.Name) > 0 {
			return ", or use release line " + name + " or a newer one, which share nothing"
		}
	}
	return ""
}
