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
	// storeBytes bounds the ConfigMap, plainBytes one uncompressed result.
	storeBytes, plainBytes = 900_000, 4 << 20
	saveInterval           = 10 * time.Second
)

// Store is the ConfigMap that keeps results across restarts, as gzipped JSON by the hash of the request.
type Store struct {
	// Live reads from the API server, Writer writes to it.
	Live   client.Reader
	Writer client.Writer
	// Namespace is the operator's namespace.
	Namespace string
}

func (r *Reader) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var stored corev1.ConfigMap
	err := r.options.Store.Live.Get(ctx, client.ObjectKey{Namespace: r.options.Store.Namespace, Name: storeName}, &stored)
	if client.IgnoreNotFound(err) != nil {
		logf.FromContext(ctx).Error(err, "cannot load cached image labels; they are read from registries again")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, packed := range stored.BinaryData {
		var result Result
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil && json.NewDecoder(io.LimitReader(unpacked, plainBytes)).Decode(&result) == nil && result.storable() {
			r.images[id] = &image{result: result}
		}
	}
}

func (r *Reader) keepSaving(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-r.unsaved:
			if err := r.save(ctx); err != nil && ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "cannot save image labels; after a restart, they are read from registries again")
			}
		}
	}, saveInterval)
}

// save replaces the ConfigMap. Results that do not fit are left out.
func (r *Reader) save(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	defer problem.CatchPanic(logf.FromContext(ctx), "panic while saving image labels", &err)
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.options.Store.Namespace, Name: storeName},
		Immutable:  new(true), BinaryData: map[string][]byte{},
	}
	size := 0
	for id, result := range r.storableResults() {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if err := json.NewEncoder(w).Encode(result); err != nil {
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

func (r *Reader) storableResults() map[string]Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := map[string]Result{}
	for id, i := range r.images {
		if i.result.storable() {
			kept[id] = i.result
		}
	}
	return kept
}
