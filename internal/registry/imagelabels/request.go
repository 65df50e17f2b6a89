// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Request asks for the labels of an image, or for one file of it.
type Request struct {
	// Image is the image reference.
	Image string
	// File is a path in the image, or oci.ServerPackage; empty asks for the labels.
	File string
	// Keys are the credentials; nil means anonymous.
	Keys authn.Keychain
	// Registries are the registry settings of the operator.
	Registries *settings.Registries
	// Generation is that of the custom resource; when it changes, a tag is checked again.
	Generation int64
}

// Result is the known content of an image.
type Result struct {
	// Pending is true until the first response of the registry; Since is the time of the first request.
	Pending bool      `json:"-"`
	Since   time.Time `json:"-"`
	// Digest is the digest when the image was read; empty if it could not be read.
	Digest string `json:"digest"`
	// Labels are the labels, with a configuration from a layer in Config; nil if unknown.
	Labels *oci.Labels `json:"labels,omitempty"`
	// Content is the content of the file; nil if unknown or not requested.
	Content []byte `json:"content,omitempty"`
	// Err is a *registry.Error or *ContentError if the image could not be read.
	Err error `json:"-"`
}

// ContentError is a permanent error in the content of an image.
type ContentError struct{ Err error }

// Error returns the message of the cause.
func (e *ContentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ContentError) Unwrap() error { return e.Err }

// settled reports whether the registry has responded, including with an unusable label.
func (a *Result) settled() bool { return a.Digest != "" }

// storable reports whether the result has content to store.
func (a *Result) storable() bool { return a.settled() && (a.Labels != nil || a.Content != nil) }

// size returns the memory that the result counts for, in bytes.
func (a *Result) size() int {
	switch {
	case !a.settled():
		return 0
	case a.Labels == nil:
		return resultBytes + len(a.Content)
	}
	return resultBytes + len(a.Labels.Config)
}

// Registry reads images; *registry.Client implements it.
type Registry interface {
	Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error)
	Image(ctx context.Context, reference string, keys authn.Keychain) (*registry.Image, error)
	File(
		ctx context.Context, reference string, image *registry.Image, layer, file string, keys authn.Keychain,
	) ([]byte, error)
	FindFile(
		ctx context.Context, reference string, image *registry.Image, file string, keys authn.Keychain,
	) ([]byte, error)
	FindMatch(ctx context.Context, reference string, image *registry.Image, what string, matches func(string) bool,
		keys authn.Keychain) ([]byte, error)
	Close()
}

// Read reads the labels of an image: one manifest, one configuration, and a layer if a label refers to one.
func Read(
	ctx context.Context, from Registry, image string, keys authn.Keychain,
) (digest string, _ *oci.Labels, _ error) {
	found, err := from.Image(ctx, image, keys)
	if err != nil {
		return "", nil, err
	}
	labels, err := oci.Read(found.Labels)
	if err != nil {
		return found.Digest, nil, &ContentError{err}
	}
	if at := labels.Layer; at != nil {
		labels.Config, err = from.File(ctx, image, found, at.Digest, at.Path, keys)
		if isContentError(err) {
			return found.Digest, nil, &ContentError{fmt.Errorf("label %s: %w", oci.LabelConfigLayer, err)}
		}
		if err != nil {
			return "", nil, err
		}
		labels.ConfigLabel = oci.LabelConfigLayer
	}
	return found.Digest, labels, nil
}

// ReadFile reads a file of an image: one manifest, one configuration, and layers from the highest down.
func ReadFile(
	ctx context.Context, from Registry, image, file string, keys authn.Keychain,
) (digest string, content []byte, _ error) {
	found, err := from.Image(ctx, image, keys)
	if err != nil {
		return "", nil, err
	}
	if file == oci.ServerPackage {
		content, err = from.FindMatch(ctx, image, found, file, oci.IsServerPackage, keys)
		if registry.KindOf(err) == registry.NoFile { // cached, because all layers were read for it
			content, err = []byte(err.Error()), nil
		}
	} else {
		content, err = from.FindFile(ctx, image, found, file, keys)
	}
	if err == nil && len(content) > limits.PackageBytes {
		err = &registry.Error{
			Kind: registry.TooLarge, Reference: image, Err: fmt.Errorf("%s is larger than %d bytes", file, limits.PackageBytes),
		}
	}
	switch {
	case isContentError(err):
		return found.Digest, nil, &ContentError{err}
	case err != nil:
		return "", nil, err
	}
	return found.Digest, content, nil
}

// isContentError reports whether an error about the layers of an image is permanent.
func isContentError(err error) bool {
	kinds := []registry.Kind{registry.NotFound, registry.NoFile, registry.TooLarge, registry.NotAnImage}
	return slices.Contains(kinds, registry.KindOf(err))
}

// identify returns a keyed hash of the image, the file and the credentials for each location of the image.
func identify(key secret.Value, q *Request) (id string, ref name.Reference, _ error) {
	ref, err := name.ParseReference(q.Image)
	if err != nil {
		return "", nil, &registry.Error{Kind: registry.InvalidReference, Reference: q.Image, Err: err}
	}
	h := secret.NewHash(key)
	h.Text("image")
	h.Text(ref.Name())
	h.Text(q.File)
	if q.Keys == nil {
		return h.Sum(), ref, nil
	}
	for _, location := range q.Registries.Locations(q.Image) {
		at, err := name.ParseReference(location)
		if err != nil {
			continue // this location is never used
		}
		credentials, err := credentialsFor(q.Keys, at.Context())
		if err != nil {
			return "", nil, &registry.Error{Kind: registry.Unauthorized, Reference: q.Image, Err: err}
		}
		h.Text(at.Name())
		h.Value(credentials)
	}
	return h.Sum(), ref, nil
}

func credentialsFor(keys authn.Keychain, at name.Repository) (secret.Value, error) {
	found, err := keys.Resolve(at)
	if err != nil {
		return secret.Value{}, err
	}
	credentials, err := found.Authorization()
	if err != nil {
		return secret.Value{}, err
	}
	raw, err := json.Marshal(credentials)
	return secret.New(raw), err
}
