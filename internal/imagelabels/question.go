// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
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
	// Pending is true as long as the registry has not answered for the first time; Since is when the first custom resource asked.
	Pending bool
	Since   time.Time
	// Digest is the digest that the image had when it was read; empty where it could not be read.
	Digest string
	// Labels is what the labels say. A configuration in a layer is in Config, as one in a label is. Nil without an answer.
	Labels *oci.Labels
	// Content is that of the file; nil without an answer, or where the question is about the labels.
	Content []byte
	// Err is why nothing is known: a *registry.Error, a *LabelError or a *FileError.
	Err error
}

// LabelError is a label that cannot be used.
type LabelError struct{ Err error }

// Error is what is wrong with the label.
func (e *LabelError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LabelError) Unwrap() error { return e.Err }

// FileError is a file that the image does not have, or that cannot be read from it.
type FileError struct{ Err error }

// Error is what is wrong.
func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

func isLabelError(err error) bool {
	_, is := errors.AsType[*LabelError](err)
	return is
}

// settled reports whether the registry has answered: a label that cannot be used is an answer, too.
func (a *Answer) settled() bool { return a.Digest != "" }

// kept reports whether the answer has content that is worth keeping.
func (a *Answer) kept() bool { return a.Labels != nil || a.Content != nil }

// size is how many bytes of content are kept.
func (a *Answer) size() int {
	if a.Labels == nil {
		return len(a.Content)
	}
	return len(a.Labels.Config)
}

// Registry reads images. registry.Client does.
type Registry interface {
	Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error)
	Image(ctx context.Context, reference string, keys authn.Keychain) (*registry.Image, error)
	File(ctx context.Context, reference string, image *registry.Image, layer, file string, keys authn.Keychain) ([]byte, error)
	FindFile(ctx context.Context, reference string, image *registry.Image, file string, keys authn.Keychain) ([]byte, error)
	FindMatch(ctx context.Context, reference string, image *registry.Image, what string, matches func(string) bool, keys authn.Keychain) ([]byte, error)
}

// Read asks a registry for the labels of an image: one manifest and one configuration, and a layer where a label says that the configuration is
// in it.
func Read(ctx context.Context, from Registry, image string, keys authn.Keychain) (digest string, _ *oci.Labels, _ error) {
	found, err := from.Image(ctx, image, keys)
	if err != nil {
		return "", nil, err
	}
	labels, err := oci.Read(found.Labels)
	if err != nil {
		return found.Digest, nil, &LabelError{err}
	}
	if at := labels.Layer; at != nil {
		content, err := from.File(ctx, image, found, at.Digest, at.Path, keys)
		if err = layerError(err); isLabelError(err) {
			return found.Digest, nil, err
		}
		if err != nil {
			return "", nil, err
		}
		labels.Config, labels.ConfigLabel = content, oci.LabelConfigLayer
	}
	return found.Digest, labels, nil
}

// ReadFile asks a registry for a file of an image: one manifest and one configuration, and the layers from the highest one down to that of the file.
func ReadFile(ctx context.Context, from Registry, image, file string, keys authn.Keychain) (digest string, content []byte, _ error) {
	found, err := from.Image(ctx, image, keys)
	if err != nil {
		return "", nil, err
	}
	if file == oci.ServerPackage {
		content, err = from.FindMatch(ctx, image, found, file, oci.IsServerPackage, keys)
		if registry.KindOf(err) == registry.NoFile { // all layers were read for this answer: it is kept, and names no package
			content, err = []byte(err.Error()), nil
		}
	} else {
		content, err = from.FindFile(ctx, image, found, file, keys)
	}
	if err == nil && len(content) > bounds.PackageBytes { // so that the files of one custom resource fit into what is kept
		err = &registry.Error{Kind: registry.TooLarge, Reference: image, Err: fmt.Errorf("%s is larger than %d bytes", file, bounds.PackageBytes)}
	}
	if isContentError(err) {
		return found.Digest, nil, &FileError{err}
	}
	if err != nil {
		return "", nil, err
	}
	return found.Digest, content, nil
}

// layerError makes what is wrong with a layer a fault of the label that names it. What may pass stays as it is.
func layerError(err error) error {
	if isContentError(err) {
		return &LabelError{fmt.Errorf("label %s: %w", oci.LabelConfigLayer, err)}
	}
	return err
}

// isContentError reports whether an error about layers of an image that was found is the same each time.
func isContentError(err error) bool {
	switch registry.KindOf(err) {
	case registry.NotFound, registry.NoFile, registry.TooLarge, registry.NotAnImage:
		return true
	case registry.Unreachable, registry.RateLimited, registry.Unauthorized, registry.Corrupt, registry.Refused, registry.InvalidReference:
	}
	return false
}

// identify returns what questions with the same answer have in common: the image and the credentials for it. It is a keyed hash.
func identify(key secret.Value, q *Question) (id string, ref name.Reference, _ error) {
	ref, err := name.ParseReference(q.Image)
	if err != nil {
		return "", nil, &registry.Error{Kind: registry.InvalidReference, Reference: q.Image, Err: err}
	}
	h := secret.NewHash(key)
	h.Text("labels of an image")
	if q.File != "" {
		h.Text("file")
		h.Text(q.File)
	}
	h.Text(ref.Name())
	if q.Keys == nil {
		return h.Sum(), ref, nil
	}
	for _, location := range q.Registries.Locations(q.Image) {
		at := ref
		if location != q.Image {
			if at, err = name.ParseReference(location); err != nil {
				continue // no registry is asked at this location
			}
			h.Text("at " + at.Name())
		}
		if err := addCredentials(h, q.Keys, at.Context()); err != nil {
			return "", nil, &registry.Error{Kind: registry.Unauthorized, Reference: q.Image, Err: err}
		}
	}
	return h.Sum(), ref, nil
}

// addCredentials adds what the keys have for a repository to a hash.
func addCredentials(h *secret.Hash, keys authn.Keychain, at name.Repository) error {
	who, err := keys.Resolve(at)
	if err != nil {
		return err
	}
	credentials, err := who.Authorization()
	if err != nil {
		return err
	}
	if *credentials != (authn.AuthConfig{}) {
		h.Text(cmp.Or(credentials.Username, "-"))
		raw, _ := json.Marshal(credentials) //nolint:errchkjson // text fields alone
		h.Value(secret.New(raw))
	}
	return nil
}
