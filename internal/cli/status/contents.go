// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/resource"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// provider is a provider of the configuration.
type provider struct {
	API  string `json:"api"`
	ID   string `json:"id"`
	Type string `json:"type"`
	// From is "spec" or "base".
	From string `json:"from"`
	// State is "on", "off", or "unknown" where only the environment of the image decides.
	State string `json:"state"`
	// Variable is the environment variable that would turn it on, or that decides.
	Variable string `json:"variable,omitempty"`
}

// The states of a provider.
const (
	stateOn      = "on"
	stateOff     = "off"
	stateUnknown = "unknown"
)

// model is a registered model.
type model struct {
	// Name is the name as clients must write it.
	Name string `json:"name"`
	Type string `json:"type"`
}

// environment are the variables that the server's container is given.
func (f *facts) environment() document.Variables {
	given := document.Variables{}
	d := f.deployment()
	if d == nil {
		return given
	}
	for i := range d.Spec.Template.Spec.Containers {
		for _, v := range d.Spec.Template.Spec.Containers[i].Env {
			if v.Value != "" || v.ValueFrom != nil {
				given[v.Name] = true
			}
		}
	}
	return given
}

// providers are those of the configuration: those of the spec first, then those of the base that are on, then the others.
func (f *facts) providers(given document.Variables) []provider {
	if f.config == nil {
		return nil
	}
	own := map[document.ProviderName]bool{}
	for _, group := range parse.Parse(&f.cr.Spec).Providers {
		for i := range group.Providers {
			own[document.ProviderName{API: group.API.Name, ID: group.Providers[i].EffectiveID()}] = true
		}
	}
	var list []provider
	for entry := range f.config.Edit().Providers() {
		id := entry.Identity()
		p := provider{API: entry.API, ID: id.ID, Type: entry.Type(), From: "base", State: stateOn}
		if own[document.ProviderName{API: entry.API, ID: id.ID}] {
			p.From = "spec"
		}
		switch {
		case given.Enables(id):
		case id.Presence == document.Disabled:
			p.State = stateOff
		case given.MissingSwitch(id) != "":
			p.State, p.Variable = stateOff, given.MissingSwitch(id)
		default:
			p.State = stateUnknown
			if refs := document.References(id.Raw); len(refs) > 0 {
				p.Variable = refs[0].Name
			}
		}
		if p.ID == "" {
			p.ID = id.Raw
		}
		list = append(list, p)
	}
	rank := func(p provider) int {
		switch {
		case p.From == "spec":
			return 0
		case p.State == stateOn:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b provider) int { return rank(a) - rank(b) })
	return list
}

// models are the registered models that the server has, by the names that clients write.
func (f *facts) models(given document.Variables) []model {
	if f.config == nil || f.cr.Status.ResolvedDistribution == nil {
		return nil
	}
	line, known := catalog.Get(f.cr.Status.ResolvedDistribution.ServerLine)
	if !known {
		return nil
	}
	var list []model
	doc := f.config.Edit()
	for _, entry := range document.Items(doc.Registered("models")) {
		id := document.Text(document.Child(entry, "model_id"))
		provider := document.IdentityOf(document.Child(entry, "provider_id"))
		if id == "" || document.HasReference(id) || provider.ID == "" || !given.MayEnable(provider) {
			continue
		}
		found, there := doc.Lookup("inference", given).Find(provider.ID)
		if there && !given.MayEnable(found) {
			continue
		}
		list = append(list, model{
			Name: resource.ServedName(line, provider.ID, id, document.Text(document.Child(entry, "provider_model_id"))),
			Type: string(resource.ModelTypeOf(entry)),
		})
	}
	return list
}

// try are the commands that ask the first model that can chat.
func try(cr *v1alpha2.LlamaStackDistribution, models []model) []string {
	at := slices.IndexFunc(models, func(m model) bool { return m.Type == string(v1alpha2.ModelTypeLLM) })
	if at < 0 || cr.Status.AvailableReplicas == 0 {
		return nil
	}
	scheme, insecure := "http", ""
	if strings.HasPrefix(cr.Status.ServiceURL, "https:") {
		scheme, insecure = "https", "--insecure "
	}
	port := objects.Port(&cr.Spec)
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{models[at].Name, []message{{"user", "Hello"}}})
	if err != nil {
		return nil
	}
	return []string{
		fmt.Sprintf("kubectl -n %s port-forward service/%s %d", cr.Namespace, objects.ServiceName(cr.Name), port),
		fmt.Sprintf("curl %s%s://localhost:%d/v1/chat/completions -H 'Content-Type: application/json' -d '%s'",
			insecure, scheme, port, strings.ReplaceAll(string(body), "'", `'\''`)),
	}
}
