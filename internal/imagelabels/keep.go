// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"context"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
)

// Kept is an answer that survives a restart.
type Kept struct {
	// ID is the keyed hash of the image and the credentials with which it was read.
	ID string `json:"id"`
	// Image is the image, in full.
	Image string `json:"image"`
	// Digest is the digest that the image had.
	Digest string `json:"digest"`
	// Labels is what its labels say; nil where a file was asked for.
	Labels *oci.Labels `json:"labels,omitempty"`
	// Content is that of the file; nil where the labels were asked for.
	Content []byte `json:"content,omitempty"`
}

// Store keeps answers across restarts.
type Store interface {
	// Load returns what is kept.
	Load(ctx context.Context) ([]Kept, error)
	// Keep adds an answer, or replaces the one with the same id.
	Keep(ctx context.Context, answer *Kept) error
	// Drop removes an answer.
	Drop(ctx context.Context, id string) error
}

// load reads what is kept, once. Without it, registries are asked again: that is logged, and harms nobody.
func (r *Reader) load() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded || r.options.Store == nil {
		return
	}
	r.loaded = true
	ctx, cancel := context.WithTimeout(r.ctx, askTimeout)
	defer cancel()
	list, err := r.options.Store.Load(ctx)
	if err != nil {
		logf.FromContext(r.ctx).Error(err, "kept labels of images could not be read; registries are asked again")
		return
	}
	for k := range list {
		answer := Answer{Digest: list[k].Digest, Labels: list[k].Labels, Content: list[k].Content}
		if answer.kept() && r.images[list[k].ID] == nil {
			r.images[list[k].ID] = &image{id: list[k].ID, answer: answer}
		}
	}
}

// keep and drop change what is kept off the caller's goroutine, which holds the lock.
func (r *Reader) keep(answer *Kept) {
	r.store(func(ctx context.Context, s Store) error { return s.Keep(ctx, answer) })
}

func (r *Reader) drop(id string) {
	r.store(func(ctx context.Context, s Store) error { return s.Drop(ctx, id) })
}

func (r *Reader) store(change func(context.Context, Store) error) {
	if r.options.Store == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(r.ctx, askTimeout)
		defer cancel()
		if err := r.changed(ctx, change); err != nil && r.ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "kept labels of images could not be changed; after a restart, registries are asked again")
		}
	}()
}

// changed makes a panic a change that failed.
func (r *Reader) changed(ctx context.Context, change func(context.Context, Store) error) (err error) {
	defer panics.Catch(logf.FromContext(ctx), "keeping the labels of an image panicked", &err)
	return change(ctx, r.options.Store)
}
