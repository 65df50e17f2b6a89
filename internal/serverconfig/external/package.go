// SPDX-License-Identifier: Apache-2.0

package external

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// ReadPackage parses the file parse.PackageFile of an image. The error lists the invalid fields.
func ReadPackage(data []byte) (*parse.ProviderPackage, error) {
	if len(data) > limits.PackageBytes {
		return nil, fmt.Errorf("is larger than %d bytes", limits.PackageBytes)
	}
	root, err := document.Read(data)
	if err != nil {
		return nil, err
	}
	values, _ := document.Plain(root).(map[string]any) // Read returns only maps
	p, problems := parse.ReadPackage(values)
	if len(problems) == 0 {
		return p, nil
	}
	texts := make([]string, 0, len(problems))
	for i := range problems[:min(len(problems), limits.NamesInMessage)] {
		texts = append(texts, problems[i].String())
	}
	return nil, errors.New(limits.Message(strings.Join(texts, "; ")))
}
