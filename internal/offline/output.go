// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// ImageConfigNote is the message if no configuration is generated.
const ImageConfigNote = "no configuration is generated: the image uses its own"

// Configuration returns the generated config.yaml or that of overrideConfig; nil if the image runs its own.
func (r *Resource) Configuration() []byte {
	if r.Desired.Config != nil {
		return r.Desired.Config.YAML
	}
	return r.Desired.OverrideContent
}

// Contents returns the objects of all resources, in the form sent to the API server.
func Contents(resources []*Resource) ([]any, error) {
	var list []any
	for _, r := range resources {
		for _, o := range r.Desired.Objects {
			content, err := objects.Content(o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name(), err)
			}
			list = append(list, content)
		}
	}
	return list, nil
}

// YAML returns Contents as YAML documents.
func YAML(resources []*Resource) ([]byte, error) {
	list, err := Contents(resources)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, content := range list {
		text, err := yaml.Marshal(content)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
