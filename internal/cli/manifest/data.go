// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

var errNoData = errors.New("neither a manifest of that ConfigMap nor its data as a map of texts")

// ReadSettings reads the operator's settings from a file that holds its ConfigMap: the manifest, among others perhaps, or
// only the data. An empty name stands for an operator without settings.
func ReadSettings(file string, stdin io.Reader) (*settings.Settings, error) {
	var data map[string]string
	if file != "" {
		var err error
		if data, err = configMapData(file, settings.ConfigMapName, settings.Keys(), stdin); err != nil {
			return nil, fmt.Errorf("--settings: %w", err)
		}
	}
	s, err := settings.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--settings: %w", err)
	}
	return s, nil
}

// configMapData reads the data of the ConfigMap of the given name from its manifest, or from a document that is the data: a
// map whose keys are some of the given ones.
func configMapData(file, name string, keys []string, stdin io.Reader) (map[string]string, error) {
	docs, errs := readFile(file, stdin)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, d := range docs {
		if d.Kind() == "ConfigMap" && d.Name() == name {
			data, _ := d.Object["data"].(map[string]any)
			return texts(d, data)
		}
	}
	if len(docs) == 1 && docs[0].Kind() == "" {
		for _, key := range slices.Sorted(maps.Keys(docs[0].Object)) {
			if !slices.Contains(keys, key) {
				return nil, fmt.Errorf("%s: ConfigMap %s has no key %q: the keys are %q", docs[0].Place(), name, key, keys)
			}
		}
		return texts(docs[0], docs[0].Object)
	}
	return nil, fmt.Errorf("%s: ConfigMap %s: %w", file, name, errNoData)
}

func texts(d *Document, data map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[key].(string)
		if !ok {
			return nil, fmt.Errorf("%s: the value of key %q is not a text: write it as a block, %s: |", d.Place(), key, key)
		}
		out[key] = text
	}
	return out, nil
}
