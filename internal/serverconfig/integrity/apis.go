// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// apis checks that the release line has all APIs in the configuration, and that required APIs have a provider. An image
// with external_apis_dir is not checked.
func (c *check) apis() {
	c.oneProvider()
	if c.doc.Section("external_apis_dir") != nil {
		return
	}
	for i, n := range document.Items(c.doc.APIs()) {
		api := document.Text(n)
		served, ok := c.line.APIOf(api)
		switch {
		case document.HasReference(api) || slices.Contains(c.line.InternalAPIs, api):
		case !ok:
			c.unknownAPI(api, fmt.Sprintf("apis[%d]", i))
		case c.line.APIs[served].Table == "" && c.line.APIsMustBeServed && !c.doc.HasProvider(served):
			c.inconsistent(fmt.Sprintf("apis[%d]", i), fmt.Sprintf("the API %s has no enabled provider", served),
				c.disable("it"))
		}
	}
	for _, api := range document.Keys(c.doc.Section("providers")) {
		if _, ok := c.line.APIs[api]; !ok {
			c.unknownAPI(api, "providers."+api)
		}
	}
}

// oneProvider reports further providers of the spec for an API that has only one.
func (c *check) oneProvider() {
	for _, group := range c.groups {
		if len(group.Providers) < 2 || !c.line.HasOneProvider(group.API.Name) {
			continue
		}
		c.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: group.Providers[1].Path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the API %s has one provider, which is that of %s", group.API.Name, group.Providers[0].Path),
			Fix:    "keep one of them",
		})
	}
}

// unknownAPI reports an API that the release line does not have, at its field in the spec if possible.
func (c *check) unknownAPI(api, path string) {
	for _, group := range c.groups {
		if group.API.Name == api {
			at := "spec.providers." + group.API.Field
			if !slices.ContainsFunc(c.problems.List(), func(p problem.Problem) bool {
				return p.Reason == problem.UnsupportedByRelease && p.Path == at
			}) {
				c.problems.Add(release.MissingAPI(c.line, api, at))
			}
			return
		}
	}
	c.inconsistent(path, fmt.Sprintf("release line %s has no API %q", c.line.Name, api),
		"there are "+strings.Join(c.line.APINames(), ", "))
}

// needs checks that the APIs that providers need are served.
func (c *check) needs() {
	for entry := range c.doc.Providers() {
		id := entry.Identity()
		row, known := c.line.Provider(entry.API, entry.Type())
		if !known || id.Presence == document.Disabled {
			continue
		}
		if missing := slices.DeleteFunc(slices.Clone(row.Needs), c.serves); len(missing) > 0 {
			c.reportNeeds(entry.API, entry.Path(), id.ID, row, missing)
		}
	}
}

func (c *check) reportNeeds(api, path, id string, row *catalog.Provider, missing []string) {
	if at := c.configuredAt(api, id); at != "" {
		for _, need := range missing {
			c.problems.Add(problem.Problem{
				Reason: problem.BrokenReference, Path: at + ".provider", Type: field.ErrorTypeInvalid,
				Detail: fmt.Sprintf("%s needs the API %s, which the base configuration %s does not serve", row.Type, need,
					c.doc.Base().Name()),
				Fix: "choose a distribution that serves it, or another provider",
			})
		}
		return
	}
	c.inconsistent(path, fmt.Sprintf("a provider of type %s needs APIs that are not served: %s", row.Type,
		strings.Join(missing, ", ")),
		"add providers for these APIs, or "+c.disable(api))
}

// serves reports whether the configuration serves an API by its name in Provider.Needs. Unknown APIs count.
func (c *check) serves(name string) bool {
	api, ok := c.line.APIOf(name)
	if !ok {
		return true
	}
	if c.line.APIs[api].Table == "" {
		return c.doc.HasProvider(api)
	}
	apis := document.Items(c.doc.APIs())
	if len(apis) == 0 {
		return true
	}
	for _, n := range apis {
		if n.Value == api || document.HasReference(n.Value) {
			return true
		}
	}
	return false
}
