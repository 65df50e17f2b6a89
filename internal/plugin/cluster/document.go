// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

// Document returns the custom resource with the name of a document; nil if it does not exist. It also returns the
// existing ConfigMaps to which either of them refers.
func (c *Connection) Document(
	ctx context.Context, namespace string, d *manifest.Document,
) (live *manifest.Document, configMaps []*manifest.Document, err error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	found := false
	if d.Name() != "" { // generateName gives a new name each time
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.Name()}, o)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("read LlamaStackDistribution %s/%s: %w", namespace, d.Name(), err)
		}
		found = err == nil
	}
	named := namedConfigMaps(d.Object, nil)
	if found {
		live = AsDocument(o.Object)
		named = namedConfigMaps(live.Object, named)
	}
	for name := range named {
		cm := &corev1.ConfigMap{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cm)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, name, err)
		}
		data := map[string]any{}
		for key, text := range cm.Data {
			data[key] = text
		}
		configMaps = append(configMaps, &manifest.Document{File: "cluster", Line: 1, Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": name},
			"data": data,
		}})
	}
	return live, configMaps, nil
}

// AsDocument returns an object as a document, without fields set by the API server. It keeps only the release line of
// the status.
func AsDocument(object map[string]any) *manifest.Document {
	line, _, _ := unstructured.NestedString(object, pathServerLine...)
	delete(object, "status")
	if line != "" {
		_ = unstructured.SetNestedField(object, line, pathServerLine...) // cannot fail: there is no status
	}
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp",
		"deletionGracePeriodSeconds",
	} {
		delete(metadata, field)
	}
	return &manifest.Document{File: "cluster", Line: 1, Object: object}
}

var pathServerLine = []string{"status", "resolvedDistribution", "serverLine"}

// ServerLine returns the running release line of a document; empty for nil.
func ServerLine(live *manifest.Document) string {
	if live == nil {
		return ""
	}
	line, _, _ := unstructured.NestedString(live.Object, pathServerLine...)
	return line
}

// namedConfigMaps adds the names of the ConfigMaps that a custom resource of either version refers to.
func namedConfigMaps(object map[string]any, names map[string]bool) map[string]bool {
	if names == nil {
		names = map[string]bool{}
	}
	for _, path := range [][]string{
		{"spec", "overrideConfig", "configMapName"}, {"spec", "networking", "tls", "caBundle", "configMapName"},
		{"spec", "server", "userConfig", "configMapName"}, {"spec", "server", "tlsConfig", "caBundle", "configMapName"},
	} {
		if name, _, _ := unstructured.NestedString(object, path...); name != "" {
			names[name] = true
		}
	}
	return names
}
