// SPDX-License-Identifier: Apache-2.0

package build

import (
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const pathExternal = "spec.externalProviders"

// ExternalProviders returns the effective entries of spec.externalProviders: without disabled APIs.
func (in *Inputs) ExternalProviders() []parse.ExternalProvider {
	disabledAPIs := map[string]bool{}
	for _, api := range disabled.APIs(in.CR.Spec.Disabled) {
		disabledAPIs[api] = true
	}
	var list []parse.ExternalProvider
	for i := range in.Spec.External {
		if e := &in.Spec.External[i]; !disabledAPIs[e.API.Name] && e.Image != "" {
			list = append(list, *e)
		}
	}
	return list
}

// checkExternal reports invalid image references; the reader of an image reports those that are read.
func (r *report) checkExternal(in *Inputs) {
	providers := in.ExternalProviders()
	for i := range providers {
		e := &providers[i]
		if e.Package == nil && !in.PackagesUnread {
			continue
		}
		if p := CheckProviderImage(e.Image); p != nil {
			p.Path = e.Path + ".image"
			r.AddFound(p)
		}
	}
}

// CheckProviderImage returns the problem of an invalid image reference, with path spec.externalProviders, or nil.
func CheckProviderImage(image string) *problem.Problem {
	_, err := name.ParseReference(image)
	if err == nil {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.InvalidImage, Path: pathExternal, Type: field.ErrorTypeInvalid, Value: image,
		Detail: "is not an image reference: " + err.Error(), Fix: "for example registry.example.com/provider:1",
		Err: err,
	})
}

func (in *Inputs) mirroredImage(image string) string {
	found, _ := in.Mirrors.Rewrite(image)
	return found
}

func (in *Inputs) externalImages() []string {
	var images []string
	for i := range in.Spec.External {
		images = append(images, in.mirroredImage(in.Spec.External[i].Image))
	}
	return images
}

// besideOverride adds the external providers that are installed beside the user's own configuration; content is nil if
// that is unknown. It returns them for further checks.
func (d *Desired) besideOverride(in *Inputs, content []byte) *serverconfig.ExternalInput {
	beside := &serverconfig.ExternalInput{
		Line: d.Distribution.Line, Providers: in.ExternalProviders(), Packages: in.Packages,
	}
	if in.CR.Spec.ExternalProviders == nil {
		return beside
	}
	if base, err := serverconfig.ParseBase("", content); err == nil {
		beside.Document = base.Edit()
	}
	d.problems.AddAll(serverconfig.CheckSpec(in.Spec))
	installed, problems := serverconfig.Beside(beside)
	d.problems.AddAll(in.withoutUnreadPackages(problems))
	d.beside = installed
	return beside
}

// externalVariables returns the variables with the Secrets of the external providers.
func (in *Inputs) externalVariables() []serverconfig.EnvVar {
	var variables []serverconfig.EnvVar
	uses, _ := serverconfig.SecretUses(in.Spec) // besideOverride reports the problems
	for _, use := range uses {
		variables = append(variables, serverconfig.EnvVar{Name: use.EnvName, Ref: use.Ref, Path: use.Path})
	}
	return variables
}

func (in *Inputs) installed(list []serverconfig.ExternalProvider) []objects.ExternalProvider {
	var providers []objects.ExternalProvider
	for i := range list {
		e := &list[i]
		providers = append(providers, objects.ExternalProvider{
			ID: e.ID, Image: in.mirroredImage(e.Image), PullPolicy: e.ImagePullPolicy, Module: e.Package.PackageName,
			Wheels: e.Package.Wheels,
		})
	}
	return providers
}
