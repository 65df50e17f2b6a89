// SPDX-License-Identifier: Apache-2.0

package upgradecheck

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/inventory"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

type check struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Possible reports that the spec is valid for the other release.
	Possible bool `json:"possible"`
	// Errors and Warnings are those that only the other release has.
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Gone and New are providers enabled only in the old or new release, as "api/id".
	Gone []string `json:"providersGone,omitempty"`
	New  []string `json:"providersNew,omitempty"`
	// Models are the models whose client-facing name changes.
	Models []renamed `json:"models,omitempty"`
	// Fields are changed config fields of kept providers, without those in State.
	Fields []difference.Change `json:"fields,omitempty"`
	// State are the warnings about state that moves.
	State []string `json:"state,omitempty"`
	// Others counts the other differences.
	Others int `json:"otherDifferences"`

	// render is the command that prints the new configuration.
	render string
}

// renamed is the name of a model in each release; empty if it does not exist there.
type renamed struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

func compare(spec *v1alpha2.LlamaStackDistributionSpec, before, after *offline.Resource) (*check, error) {
	c := &check{Name: before.Name(), Possible: !after.Failed()}
	for _, p := range after.Problems {
		known := slices.ContainsFunc(before.Problems, func(old problem.Problem) bool { return same(&old, &p) })
		switch {
		case known:
		case p.Severity == problem.Warning:
			c.Warnings = append(c.Warnings, p.String())
		default:
			c.Errors = append(c.Errors, p.String())
		}
	}
	if d := before.Desired.Distribution; d != nil && d.Line != nil {
		c.From = d.Line.Name
	}
	if after.Desired == nil {
		return c, nil
	}
	old, err := inventory.FromBuild(before.Desired)
	if err != nil {
		return nil, err
	}
	now, err := inventory.FromBuild(after.Desired)
	if err != nil {
		return nil, err
	}
	was, is := enabledProviders(old.Providers(spec)), enabledProviders(now.Providers(spec))
	c.Gone, c.New = without(was, is), without(is, was)
	c.Models = renames(names(old.Models()), names(now.Models()))
	report, err := difference.Between(before.Desired, after.Desired)
	if err != nil {
		return nil, err
	}
	c.State = report.State
	for _, change := range report.Effective {
		if strings.Trim(change.Before+change.After, `"`) == "" {
			continue // empty and absent are equal
		}
		if provider := providerOf(change.Path); slices.Contains(was, provider) && slices.Contains(is, provider) {
			if !slices.ContainsFunc(c.State, func(text string) bool { return strings.HasPrefix(text, change.Path+" ") }) {
				c.Fields = append(c.Fields, change)
			}
			continue
		}
		c.Others++
	}
	return c, nil
}

// same reports whether two problems are equal except for their text, which may contain the release line.
func same(a, b *problem.Problem) bool {
	return a.Severity == b.Severity && a.Reason == b.Reason && a.Path == b.Path && reflect.DeepEqual(a.Value, b.Value)
}

// enabledProviders returns the enabled providers as "api/id".
func enabledProviders(providers []inventory.Provider) []string {
	var list []string
	for _, p := range providers {
		if p.State == inventory.On {
			list = append(list, p.API+"/"+p.ID)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func names(models []inventory.Model) []string {
	var list []string
	for _, m := range models {
		list = append(list, m.Name)
	}
	return list
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(others, name) })
}

// renames pairs the names that differ. Lists of equal length have the same order.
func renames(before, after []string) []renamed {
	var list []renamed
	if len(before) == len(after) {
		for i := range before {
			if before[i] != after[i] {
				list = append(list, renamed{before[i], after[i]})
			}
		}
		return list
	}
	for _, name := range without(before, after) {
		list = append(list, renamed{Before: name})
	}
	for _, name := range without(after, before) {
		list = append(list, renamed{After: name})
	}
	slices.SortFunc(list, func(a, b renamed) int { return cmp.Compare(a.Before+a.After, b.Before+b.After) })
	return list
}
