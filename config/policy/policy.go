// SPDX-License-Identifier: Apache-2.0

package policy

import (
	_ "embed"
)

//go:embed policy.yaml
var spec []byte

// Spec returns the ValidatingAdmissionPolicy that validates the spec of v1alpha2 objects, as YAML. It must not be
// changed.
func Spec() []byte { return spec }
