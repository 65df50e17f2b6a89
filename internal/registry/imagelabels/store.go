// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

const (
	storeName = "llama-stack-image-labels"
	// storeBytes bounds the ConfigMap, plainBytes one uncompressed answer.
	storeBytes, plainBytes = 900_000, 4 << 20
	savePause              = 10 * time.Second
)

// Store is the ConfigMap that keeps answers across restarts, as gzipped JSON by the hash of the question.
type Store struct {
	// Live reads from the API server, Writer writes to it.
	Live   client.Reader
	Writer client.Writer
	// Namespace is the operator's namespace.
	Namespace string
}

func (r *Reader) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var stored corev1.ConfigMap
	err := r.options.Store.Live.Get(ctx, client.ObjectKey{Namespace: r.options.Store.Namespace, Name: storeName}, &stored)
	if client.IgnoreNotFound(err) != nil {
		logf.FromContext(ctx).Error(err, "cannot read kept labels of images; registries are asked again")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, packed := range stored.BinaryData {
		var answer Answer
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil && json.NewDecoder(io.LimitReader(unpacked, plainBytes)).Decode(&answer) == nil && answer.kept() {
			r.images[id] = &image{answer: answer}
		}
	}
}

func (r *Reader) keepSaving(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-r.unsaved:
			if err := r.save(ctx); err != nil && ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "cannot keep labels of images; after a restart, registries are asked again")
			}
		}
	}, savePause)
}

// save replaces the ConfigMap. Answers that do not fit are left out.
func (r *Reader) save(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer problem.CatchPanic(logf.FromContext(ctx), "keeping the labels of images panicked", &err)
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.options.Store.Namespace, Name: storeName},
		Immutable:  new(true), BinaryData: map[string][]byte{},
	}
	size := 0
	for id, answer := range r.keptAnswers() {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if size+packed.Len() <= storeBytes {
			size += packed.Len()
			stored.BinaryData[id] = packed.Bytes()
		}
	}
	if err := client.IgnoreNotFound(r.options.Store.Writer.Delete(ctx, stored.DeepCopy())); err != nil {
		return err
	}
	return r.options.Store.Writer.Create(ctx, stored)
}

func (r *Reader) keptAnswers() map[string]Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := map[string]Answer{}
	for id, i := range r.images {
		if i.answer.kept() {
			kept[id] = i.answer
		}
	}
	return kept
}
