// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

const (
	// keptLabel marks the ConfigMaps of a ConfigMaps, and keptPrefix begins their names.
	keptLabel  = "llamastack.io/image-labels"
	keptPrefix = "llama-stack-image-labels-"
	// keptKey is the key of an answer as compressed JSON; keptBytes bounds it on both sides of the compression.
	keptKey         = "labels.json.gz"
	keptBytes       = 900_000
	keptPlainBytes  = 4 << 20
	annotationImage = "llamastack.io/image"
)

// ConfigMaps is a Store of one ConfigMap for each answer, in the operator's namespace.
type ConfigMaps struct {
	// Live reads from the API server, and Writer writes to it.
	Live   client.Reader
	Writer client.Writer
	// Namespace is the operator's.
	Namespace string
}

// Load returns what is kept. A ConfigMap that cannot be read is left out.
func (s *ConfigMaps) Load(ctx context.Context) ([]Kept, error) {
	var list corev1.ConfigMapList
	if err := s.Live.List(ctx, &list, client.InNamespace(s.Namespace), client.HasLabels{keptLabel}); err != nil {
		return nil, err
	}
	var kept []Kept
	for i := range list.Items {
		if k, err := unpack(list.Items[i].BinaryData[keptKey]); err == nil && list.Items[i].Name == keptPrefix+k.ID {
			kept = append(kept, *k)
		}
	}
	return kept, nil
}

// Keep replaces the ConfigMap of an answer. One that is too large for a ConfigMap is not kept.
func (s *ConfigMaps) Keep(ctx context.Context, answer *Kept) error {
	packed, err := pack(answer)
	if err != nil || len(packed) > keptBytes {
		return err
	}
	if err := s.Drop(ctx, answer.ID); err != nil {
		return err
	}
	return s.Writer.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: keptPrefix + answer.ID, Labels: map[string]string{keptLabel: "kept"},
			Annotations: map[string]string{annotationImage: answer.Image + " " + answer.Digest},
		},
		Immutable:  new(true),
		BinaryData: map[string][]byte{keptKey: packed},
	})
}

// Drop deletes the ConfigMap of an answer.
func (s *ConfigMaps) Drop(ctx context.Context, id string) error {
	return client.IgnoreNotFound(s.Writer.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: keptPrefix + id}}))
}

func pack(answer *Kept) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) (*Kept, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, keptPlainBytes))
	if err != nil {
		return nil, err
	}
	limits := bounds.Limits{Bytes: keptPlainBytes, Levels: bounds.DocumentLevels, Nodes: bounds.DocumentNodes}
	if _, excess := bounds.Scan(raw, limits); excess != nil {
		return nil, excess
	}
	var kept Kept
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, err
	}
	if kept.Labels == nil && kept.Content == nil || kept.Digest == "" {
		return nil, fmt.Errorf("nothing is kept for %s", kept.Image)
	}
	return &kept, nil
}
