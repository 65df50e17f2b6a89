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

// Document returns the custom resource that the cluster has under the name of a document, as if it was read from a
// file; nil where the cluster has none. The ConfigMaps are those of the cluster that either of the two names: without
// them, offline knows no content.
func (c *Connection) Document(
	ctx context.Context, namespace string, d *manifest.Document,
) (live *manifest.Document, configMaps []*manifest.Document, err error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	found := false
	if d.Name() != "" { // the API server makes another name of generateName each time
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

// AsDocument returns an object of the cluster as if it was read from a file: without what only the API server sets, and
// of its status only the release line of the server, which decides what the operator makes of an edit.
func AsDocument(object map[string]any) *manifest.Document {
	line, _, _ := unstructured.NestedString(object, pathServerLine...)
	delete(object, "status")
	if line != "" {
		_ = unstructured.SetNestedField(object, line, pathServerLine...) // there is no status that it could contradict
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

// ServerLine returns the release line of the server that runs, as AsDocument keeps it; empty without a document.
func ServerLine(live *manifest.Document) string {
	if live == nil {
		return ""
	}
	line, _, _ := unstructured.NestedString(live.Object, pathServerLine...)
	return line
}

// namedConfigMaps adds the names of the ConfigMaps whose content decides what is made of a custom resource, in either
// version.
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
