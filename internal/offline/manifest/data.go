// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

var errNoData = errors.New("neither a manifest of that ConfigMap, nor one with the label " +
	settings.LabelDistribution +
	" and the key image, nor a map of strings with the data of the former")

// ReadSettings reads the operator's settings from a file: its ConfigMap, registering ConfigMaps, or only the data of
// the former. An empty name means no settings.
func ReadSettings(file string, stdin io.Reader) (*settings.Settings, error) {
	var data map[string]string
	var registered []*settings.Registered
	if file != "" {
		var err error
		if data, registered, err = settingsData(file, stdin); err != nil {
			return nil, fmt.Errorf("--settings: %w", err)
		}
	}
	s, err := settings.Parse(data, registered...)
	if err != nil {
		return nil, fmt.Errorf("--settings: %w", err)
	}
	return s, nil
}

func settingsData(file string, stdin io.Reader) (data map[string]string, registered []*settings.Registered, _ error) {
	docs, errs := readFile(file, stdin)
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	found := false
	for _, d := range docs {
		if d.Kind() != "ConfigMap" {
			continue
		}
		content, _ := d.Object["data"].(map[string]any)
		values, err := stringData(d, content)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: d.Name()}, Data: values, BinaryData: d.binaryKeys()}
		name, labeled := d.label(settings.LabelDistribution)
		if labeled {
			cm.Labels = map[string]string{settings.LabelDistribution: name}
		}
		switch {
		case err != nil && (labeled || d.Name() == settings.ConfigMapName):
			return nil, nil, err
		case settings.IsRegistration(cm):
			found = true
			registered = append(registered, settings.ParseRegistration(cm))
		case d.Name() == settings.ConfigMapName:
			if err := checkKeys(d, values); err != nil {
				return nil, nil, err
			}
			found, data = true, values
		}
	}
	if found {
		return data, registered, nil
	}
	if len(docs) != 1 || docs[0].Kind() != "" {
		return nil, nil, fmt.Errorf("%s: ConfigMap %s: %w", file, settings.ConfigMapName, errNoData)
	}
	if err := checkKeys(docs[0], docs[0].Object); err != nil {
		return nil, nil, err
	}
	data, err := stringData(docs[0], docs[0].Object)
	return data, nil, err
}

// checkKeys returns an error for keys that the operator would ignore.
func checkKeys[V any](d *Document, data map[string]V) error {
	known := settings.Keys()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: ConfigMap %s: unknown key %q: %sthe keys are %s", d.Position(), settings.ConfigMapName,
				limits.Message(key),
				problem.DidYouMean(key, known), strings.Join(known, ", "))
		}
	}
	return nil
}

func (d *Document) label(key string) (string, bool) {
	metadata, _ := d.Object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	value, ok := labels[key].(string)
	return value, ok
}

// binaryKeys returns the keys of binaryData without values.
func (d *Document) binaryKeys() map[string][]byte {
	binary, _ := d.Object["binaryData"].(map[string]any)
	keys := make(map[string][]byte, len(binary))
	for key := range binary {
		keys[key] = nil
	}
	return keys
}

func stringData(d *Document, data map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[key].(string)
		if !ok {
			return nil, fmt.Errorf("%s: the value of key %q is not a string: write it as a block, %s: |", d.Position(), key, key)
		}
		out[key] = text
	}
	return out, nil
}
