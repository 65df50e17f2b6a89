// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Source is an image in its registry.
type Source struct {
	// Image is the reference of the image.
	Image string
	// ServerVersion is the release of its server; empty if unknown.
	ServerVersion string
	// FindRelease searches the layers for an unknown release even if the image has no base configuration.
	FindRelease bool
	// PlainHTTP connects to the registry without TLS.
	PlainHTTP bool
}

// Read reads the labels of the image, and the server's Python package if the release is still unknown; nil otherwise.
func (s *Source) Read(ctx context.Context, known *settings.Settings) (*oci.Labels, *oci.Package, error) {
	ref, err := name.ParseReference(s.Image)
	if err != nil {
		return nil, nil, err
	}
	named := []string{ref.Context().RegistryStr()}
	options := registry.Options{Local: named, UserAgent: "kubectl-llamastack"}
	if s.PlainHTTP {
		options.PlainHTTP = named
	}
	client := registry.New(options)
	_, labels, err := imagelabels.Read(ctx, client, s.Image, authn.DefaultKeychain)
	if err != nil {
		return nil, nil, err
	}
	hints := settings.Hints{Version: s.ServerVersion, Labels: labels}
	d, p := known.ResolveWithHints(&v1alpha2.DistributionSpec{Image: &s.Image}, hints)
	if p != nil || !d.NeedsPackage() && (!s.FindRelease || d.Release != "") {
		return labels, nil, nil // the caller reports p
	}
	_, metadata, err := imagelabels.ReadFile(ctx, client, s.Image, oci.ServerPackage, authn.DefaultKeychain)
	if _, isContentError := errors.AsType[*imagelabels.ContentError](err); err != nil && !isContentError {
		return nil, nil, err
	}
	found, _ := oci.ReadPackage(metadata) // an error means an unknown release
	return labels, found, nil
}
