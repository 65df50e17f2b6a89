// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// PackageResult is the result of reading the package in an image. Exactly one field is set.
type PackageResult struct {
	// Package is the parsed file parse.PackageFile.
	Package *parse.ProviderPackage
	// Problem is the reason for a failure; Apply sets its Path for each entry with the image.
	Problem *problem.Problem
}

// Installed is an external provider to install in the pod.
type Installed struct {
	ID    string
	Path  string
	Image string
	// ImagePullPolicy is the pull policy in the spec, if any.
	ImagePullPolicy corev1.PullPolicy
	Package         *parse.ProviderPackage
}

// Input is the input of Apply.
type Input struct {
	// Document is the configuration with the providers of the spec.
	Document *document.Document
	Line     *catalog.Line
	// Environment receives the variables with Secrets.
	Environment *environment.Set
	// Providers are the entries of spec.externalProviders.
	Providers []parse.ExternalProvider
	// Packages are the packages by image. A missing one is still being read.
	Packages map[string]PackageResult
}

// Replace removes the providers that an external one with the same id and API replaces, with a warning for each.
func Replace(groups []parse.ProviderGroup, providers []parse.ExternalProvider,
	problems *problem.Collector) []parse.ProviderGroup {
	var kept []parse.ProviderGroup
	for _, group := range groups {
		group.Providers = slices.DeleteFunc(slices.Clone(group.Providers), func(p parse.Provider) bool {
			at := slices.IndexFunc(providers, func(e parse.ExternalProvider) bool {
				return e.API == group.API && e.ID == p.EffectiveID()
			})
			if at >= 0 && problems != nil {
				problems.Add(problem.Problem{
					Reason: problem.DuplicateProviderID, Severity: problem.Warning, Path: p.Path,
					Detail: fmt.Sprintf("has no effect: the external provider %q of %s overrides it", p.EffectiveID(),
						providers[at].Path),
					Fix: "remove it, or give one of the two another id",
				})
			}
			return at >= 0
		})
		if len(group.Providers) > 0 {
			kept = append(kept, group)
		}
	}
	return kept
}

// Groups returns the providers of the spec together with the external ones.
func Groups(groups []parse.ProviderGroup, providers []parse.ExternalProvider,
	packages map[string]PackageResult) []parse.ProviderGroup {
	all := slices.Clone(groups)
	for i := range providers {
		e := &providers[i]
		p := e.Provider
		p.Type = typeOf(e, packages)
		at := slices.IndexFunc(all, func(g parse.ProviderGroup) bool { return g.API == e.API })
		if at < 0 {
			all = append(all, parse.ProviderGroup{API: e.API, Providers: []parse.Provider{p}})
			continue
		}
		all[at].Providers = append(slices.Clip(all[at].Providers), p)
	}
	return all
}

// packageOf returns the package description of an entry, or nil if it is unknown.
func packageOf(e *parse.ExternalProvider, packages map[string]PackageResult) *parse.ProviderPackage {
	if e.Package != nil {
		return e.Package
	}
	return packages[e.Image].Package
}

// typeOf returns the provider type of an entry, or a placeholder type if it is unknown.
func typeOf(e *parse.ExternalProvider, packages map[string]PackageResult) string {
	if known := packageOf(e, packages); known != nil {
		return known.ProviderType
	}
	return "remote::" + e.ID
}

// Apply adds the external providers to the configuration, and returns status entries and packages in spec order.
func Apply(ctx context.Context, in *Input, problems *problem.Collector) ([]provider.Entry, []Installed) {
	var entries []provider.Entry
	var installed []Installed
	for i := range in.Providers {
		e := &in.Providers[i]
		if ctx.Err() != nil {
			return nil, nil
		}
		if !in.check(e, problems) {
			continue
		}
		known := packageOf(e, in.Packages)
		in.warnOverridden(e, known, problems)
		in.Document.EnableAPI(e.API.Name)
		spec := e.Provider
		spec.Type = typeOf(e, in.Packages)
		entry := &provider.PackagedEntry{API: e.API, Spec: &spec, Package: known}
		entries = append(entries, entry.Put(in.Document, in.Line, in.Environment, problems))
		installed = append(installed, newInstalled(e, known))
	}
	in.checkTypes(problems)
	return entries, installed
}

// check reports an entry whose API, package or API of the package does not fit. It returns false for a missing API.
func (in *Input) check(e *parse.ExternalProvider, problems *problem.Collector) bool {
	if in.Line != nil {
		if _, ok := in.Line.APIs[e.API.Name]; !ok {
			problems.Add(release.MissingAPI(in.Line, e.API.Name, "spec.externalProviders."+e.API.Field))
			return false
		}
	}
	switch known := packageOf(e, in.Packages); {
	case known == nil && e.Image != "":
		problems.Add(in.unknownPackage(e))
	case known != nil && !known.IsFor(e.API):
		problems.Add(wrongAPI(e, known))
	}
	return true
}

func newInstalled(e *parse.ExternalProvider, known *parse.ProviderPackage) Installed {
	return Installed{ID: e.ID, Path: e.Path, Image: e.Image, ImagePullPolicy: e.ImagePullPolicy, Package: known}
}

// unknownPackage returns the problem of an entry whose package is unknown.
func (in *Input) unknownPackage(e *parse.ExternalProvider) problem.Problem {
	path := e.Path + ".image"
	if found, ok := in.Packages[e.Image]; ok && found.Problem != nil {
		p := *found.Problem
		p.Path = path
		return p
	}
	return problem.Problem{
		Reason: problem.ReadingImageLabels, Path: path,
		Detail: "reading from the registry the package in image " + e.Image, Fix: "waiting for its answer",
	}
}

// wrongAPI returns the problem of an entry under another API than that of its package.
func wrongAPI(e *parse.ExternalProvider, known *parse.ProviderPackage) problem.Problem {
	p := problem.Problem{
		Reason: problem.InvalidField, Path: e.Path, Type: field.ErrorTypeInvalid,
		Detail: fmt.Sprintf("Provider API type mismatch: the package %s is for the API %s", known.PackageName, known.API),
		Fix:    "use another image: no release of the server has this API",
	}
	if placement := known.Placement(); placement != "" {
		p.Fix = "move it to " + placement
	}
	return p
}

// warnOverridden warns if an entry replaces a provider of the base.
func (in *Input) warnOverridden(e *parse.ExternalProvider, known *parse.ProviderPackage, problems *problem.Collector) {
	id, found := document.FindIdentity(in.Document.Identities(e.API.Name), e.ID)
	if !found || known == nil {
		return
	}
	problems.Add(problem.Problem{
		Reason: problem.DuplicateProviderID, Severity: problem.Warning, Path: e.Path + ".providerId",
		Detail: fmt.Sprintf("the external provider %q of type %s overrides the provider of the base configuration with "+
			"this id in API %s, of type %s",
			e.ID, known.ProviderType, e.API.Name, in.Document.TypeOf(e.API.Name, id)),
		Fix: "give it another id to keep both",
	})
}

// checkTypes reports packages and providers with the same type, for which the server uses only one package.
func (in *Input) checkTypes(problems *problem.Collector) {
	type key struct{ api, name string }
	first := map[key]*parse.ExternalProvider{}
	for i := range in.Providers {
		e := &in.Providers[i]
		known := packageOf(e, in.Packages)
		if known == nil {
			continue
		}
		at := key{e.API.Name, known.ProviderType}
		if other := first[at]; other == nil {
			first[at] = e
		} else if packageOf(other, in.Packages).PackageName != known.PackageName {
			problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: e.Path, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("its package provides the provider type %s, as does that of %s", known.ProviderType,
					other.Path), Fix: "keep one of them",
			})
		}
	}
	for entry := range in.Document.Providers() {
		e := first[key{entry.API, entry.Type()}]
		if e == nil || document.Child(entry.Node, "module") != nil || entry.Identity().Presence == document.Disabled {
			continue
		}
		problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Severity: problem.Warning, Path: e.Path,
			Detail: fmt.Sprintf("the server also runs its package for the provider %s of %s, which has the same type %s",
				entry.Identity().Raw, entry.API, entry.Type()),
			Fix: "replace that provider too, or use a package with a type of its own",
		})
	}
}
