// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

var errNoData = errors.New("neither a manifest of that ConfigMap nor its data as a map of texts")

// ConfigMapData reads the data of the ConfigMap of the given name from a file, which holds either its manifest, among
// others perhaps, or only the data: a map whose keys are some of the known ones and whose values are texts.
func ConfigMapData(file, name string, keys []string, stdin io.Reader) (map[string]string, error) {
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
		for key := range docs[0].Object {
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
	for key, value := range data {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%s: the value of key %q is not a text: write it as a block, %s: |", d.Place(), key, key)
		}
		out[key] = text
	}
	return out, nil
}
