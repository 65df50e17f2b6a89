// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// Provider is a provider in the configuration.
type Provider struct {
	API  string `json:"api"`
	ID   string `json:"id"`
	Type string `json:"type"`
	// From is "spec" or "base".
	From string `json:"from"`
	// State is On or Off, Unknown if it depends on the image's environment, or Pending if the spec is not applied.
	State string `json:"state"`
	// Variable is the environment variable that determines the state.
	Variable string `json:"variable,omitempty"`
}

// The states of a provider.
const (
	On      = "on"
	Off     = "off"
	Unknown = "unknown"
	Pending = "pending"
)

// Model is a registered model.
type Model struct {
	// Name is the name that clients use.
	Name string `json:"name"`
	// Type is llm, embedding or rerank.
	Type string `json:"type"`
}

// Config is a configuration with its release line and environment.
type Config struct {
	// Base is the configuration; nil if unknown.
	Base *serverconfig.Base
	// Line is the release line; nil if unknown.
	Line *catalog.Line
	// Variables are the variables of the server's container.
	Variables document.Variables
	// Unapplied reports that Base has nothing of the spec.
	Unapplied bool
}

// FromBuild returns the configuration of a build.
func FromBuild(d *build.Desired) (*Config, error) {
	c := &Config{Variables: document.Variables{}}
	if d.Distribution != nil {
		c.Base, c.Line = d.Distribution.Base, d.Distribution.Line
	}
	for _, o := range d.Objects {
		if deployment, ok := o.(*appsv1.Deployment); ok {
			c.Variables = PodVariables(&deployment.Spec.Template.Spec)
		}
	}
	var text []byte
	switch {
	case d.Config != nil:
		text = d.Config.YAML
	case d.Override != nil:
		text = d.OverrideContent
	default:
		return c, nil
	}
	var err error
	c.Base, err = serverconfig.ParseBase("config.yaml", text)
	return c, err
}

// PodVariables returns the variables set in the server's container, the first one. Empty values count as unset, as in
// the server.
func PodVariables(pod *corev1.PodSpec) document.Variables {
	given := document.Variables{}
	for i := range pod.Containers[:min(1, len(pod.Containers))] {
		for _, v := range pod.Containers[i].Env {
			if v.Value != "" || v.ValueFrom != nil {
				given[v.Name] = true
			}
		}
	}
	return given
}

// Providers returns the providers: those of the spec, then enabled ones, then others. A provider of the spec is Pending
// unless the configuration enables it.
func (c *Config) Providers(spec *v1alpha2.LlamaStackDistributionSpec) []Provider {
	if c.Base == nil && !c.Unapplied {
		return nil
	}
	list := c.desired(spec)
	places := map[document.ProviderName]int{}
	for i := range list {
		places[document.ProviderName{API: list[i].API, ID: list[i].ID}] = i
	}
	if c.Base != nil {
		for entry := range c.Base.Edit().Providers() {
			p := c.provider(entry)
			i, fromSpec := places[document.ProviderName{API: p.API, ID: p.ID}]
			switch {
			case !fromSpec:
				list = append(list, p)
			case p.State == On && !c.Unapplied:
				list[i].Type, list[i].State, list[i].Variable = p.Type, On, p.Variable
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Provider) int { return a.rank() - b.rank() })
	return list
}

// desired returns the providers of the spec, as Pending.
func (c *Config) desired(spec *v1alpha2.LlamaStackDistributionSpec) (list []Provider) {
	parsed := parse.Parse(spec)
	add := func(api string, p *parse.Provider, id string) {
		providerType := p.Type
		if c.Line != nil && providerType != "" {
			providerType = c.Line.FullType(api, providerType)
		}
		list = append(list, Provider{API: api, ID: id, Type: providerType, From: "spec", State: Pending})
	}
	for _, group := range parsed.Providers {
		for i := range group.Providers {
			add(group.API.Name, &group.Providers[i], group.Providers[i].EffectiveID())
		}
	}
	for i := range parsed.External {
		add(parsed.External[i].API.Name, &parsed.External[i].Provider, parsed.External[i].ID)
	}
	return list
}

func (p Provider) rank() int {
	switch {
	case p.From == "spec":
		return 0
	case p.State == On:
		return 1
	}
	return 2
}

func (c *Config) provider(entry document.Entry) Provider {
	id := entry.Identity()
	p := Provider{API: entry.API, ID: id.ID, Type: entry.Type(), From: "base", State: On}
	switch {
	case c.Variables.Enables(id):
		p.Variable = firstVariable(id)
	case id.Presence == document.Disabled:
		p.State = Off
	case c.Variables.MissingSwitch(id) != "":
		p.State, p.Variable = Off, c.Variables.MissingSwitch(id)
	default:
		p.State, p.Variable = Unknown, firstVariable(id)
	}
	if p.ID == "" {
		p.ID = id.Raw
	}
	return p
}

// firstVariable returns the first variable of a provider_id, or "".
func firstVariable(id document.Identity) string {
	if refs := document.References(id.Raw); len(refs) > 0 {
		return refs[0].Name
	}
	return ""
}

// Models returns the registered models whose provider is or may be enabled.
func (c *Config) Models() []Model {
	if c.Base == nil || c.Line == nil {
		return nil
	}
	var list []Model
	doc := c.Base.Edit()
	inference := doc.Lookup("inference", c.Variables)
	for _, entry := range document.Items(doc.Registered("models")) {
		id := document.Text(document.Child(entry, "model_id"))
		provider := document.IdentityOf(document.Child(entry, "provider_id"))
		if id == "" || document.HasReference(id) || provider.ID == "" || !c.Variables.MayEnable(provider) {
			continue
		}
		if found, there := inference.Find(provider.ID); there && !c.Variables.MayEnable(found) {
			continue
		}
		list = append(list, Model{
			Name: resource.ServedName(c.Line, provider.ID, id, document.Text(document.Child(entry, "provider_model_id"))),
			Type: string(resource.ModelTypeOf(entry)),
		})
	}
	return list
}

// FirstChat returns the first model of type llm; empty if none exists.
func FirstChat(models []Model) string {
	for _, m := range models {
		if m.Type == string(v1alpha2.ModelTypeLLM) {
			return m.Name
		}
	}
	return ""
}
