// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyTelemetry is the key of a YAML Telemetry.
const KeyTelemetry = "telemetry"

// Telemetry is what all servers that export telemetry report.
type Telemetry struct {
	// ClusterName is the resource attribute k8s.cluster.name; empty means none.
	ClusterName string `json:"clusterName,omitempty"`
}

// clusterName needs no encoding in a list of resource attributes.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/:-]{0,251}[A-Za-z0-9])?$`)

func parseTelemetry(text string) (Telemetry, error) {
	var t Telemetry
	err := decode([]byte(text), &t)
	if err == nil && t.ClusterName != "" && !clusterName.MatchString(t.ClusterName) {
		err = field.Invalid(field.NewPath("clusterName"), limits.Message(t.ClusterName), "must be at most 253 letters, "+
			"digits and . _ / : -, and begin and end with a letter or digit")
	}
	if err != nil {
		return Telemetry{}, fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyTelemetry, err)
	}
	return t, nil
}
