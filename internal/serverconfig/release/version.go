// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// The schema versions of config.yaml that this operator can edit.
const (
	PreviousVersion int32 = 1
	CurrentVersion  int32 = 2
)

// SchemaVersion returns the version of a document, by default the current one. It reports an unsupported one.
func SchemaVersion(doc *document.Document, problems *problem.Collector) int32 {
	version, given := doc.Version()
	switch {
	case !given, version == "2":
		return CurrentVersion
	case version == "1":
		return PreviousVersion
	case version == "":
		version = "(not a number)"
	}
	problems.Add(problem.Problem{
		Reason: problem.InvalidBaseConfig, Path: "config.yaml: version", Type: field.ErrorTypeNotSupported, Value: version,
		Detail: fmt.Sprintf("Unsupported config.yaml version %s. Supported versions: %d, %d", version, PreviousVersion,
			CurrentVersion), // FR-029
		Fix: "use a distribution whose configuration has one of these versions, or an operator that supports this one",
	})
	return 0
}
