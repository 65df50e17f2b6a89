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

// Question is about the labels of one image, or about one file of it.
type Question struct {
	// Image is where the image is found.
	Image string
	// File is the path of the file in a container of the image, or oci.ServerPackage; empty asks for the labels.
	File string
	// Keys are the credentials; nil means none.
	Keys authn.Keychain
	// Registries are the operator's settings for registries.
	Registries *settings.Registries
	// Generation is that of the custom resource: when it changes, a tag is asked again.
	Generation int64
}

// Answer is what is known of the labels, or of a file, of an image.
type Answer struct {
	// Pending is true until the registry has answered for the first time; Since is when the first custom resource asked.
	Pending bool      `json:"-"`
	Since   time.Time `json:"-"`
	// Digest is the digest that the image had when it was read; empty if it could not be read.
	Digest string `json:"digest"`
	// Labels are the labels, with the configuration of a layer in Config; nil without an answer.
	Labels *oci.Labels `json:"labels,omitempty"`
	// Content is that of the file; nil without an answer, or if the question is about the labels.
	Content []byte `json:"content,omitempty"`
	// Err is why nothing is known: a *registry.Error or a *ContentError.
	Err error `json:"-"`
}

// ContentError is an error in the labels of an image, or a file that the image does not have. It is the same each time.
type ContentError struct{ Err error }

// Error returns the message of the cause.
func (e *ContentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ContentError) Unwrap() error { return e.Err }

// settled reports whether the registry has answered: a label that cannot be used is an answer, too.
func (a *Answer) settled() bool { return a.Digest != "" }

// kept reports whether the answer has content that is worth keeping.
func (a *Answer) kept() bool { return a.settled() && (a.Labels != nil || a.Content != nil) }

// size is the memory that an answer counts for, in bytes.
func (a *Answer) size() int {
	switch {
	case !a.settled():
		return 0
	case a.Labels == nil:
		return answerBytes + len(a.Content)
	}
	return answerBytes + len(a.Labels.Config)
}

// Registry reads images. registry.Client does.
type Registry interface {
	Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error)
	Image(ctx context.Context, reference string, keys authn.Keychain) (*registry.Image, error)
	File(
		ctx context.Context, reference string, image *registry.Image, layer, file string, keys authn.Keychain,
	) ([]byte, error)
	FindFile(
		ctx context.Context, reference string, image *registry.Image, file string, keys authn.Keychain,
	) ([]byte, error)
	FindMatch(
		ctx context.Context, reference string, image *registry.Image, what string, matches func(string) bool,
		keys authn.Keychain,
	) ([]byte, error)
	Close()
}

// Read asks a registry for the labels of an image: one manifest, one configuration, and a layer if a label names one.
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

// ReadFile asks a registry for a file of an image: one manifest, one configuration, and layers from the highest one
// down.
func ReadFile(
	ctx context.Context, from Registry, image, file string, keys authn.Keychain,
) (digest string, content []byte, _ error) {
	found, err := from.Image(ctx, image, keys)
	if err != nil {
		return "", nil, err
	}
	if file == oci.ServerPackage {
		content, err = from.FindMatch(ctx, image, found, file, oci.IsServerPackage, keys)
		if registry.KindOf(err) == registry.NoFile { // an answer worth caching: all layers were read for it
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

// isContentError reports whether an error about layers of an image that was found is the same each time.
func isContentError(err error) bool {
	kinds := []registry.Kind{registry.NotFound, registry.NoFile, registry.TooLarge, registry.NotAnImage}
	return slices.Contains(kinds, registry.KindOf(err))
}

// identify returns a keyed hash of what questions with the same answer have in common: the image, the file, and the
// credentials for each location of the image.
func identify(key secret.Value, q *Question) (id string, ref name.Reference, _ error) {
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
			continue // no registry is asked at this location
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
