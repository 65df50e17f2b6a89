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

// ExternalProviders returns the effective entries of spec.externalProviders: without overrideConfig and disabled APIs.
func (in *Inputs) ExternalProviders() []parse.ExternalProvider {
	if _, named := in.OverrideRef(); named {
		return nil
	}
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
