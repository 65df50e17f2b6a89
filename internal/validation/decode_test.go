// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// Proves: FR-074, FR-075 (a message names the field and the types as users know them).
func TestDecodeExplainsWrongTypes(t *testing.T) {
	for raw, want := range map[string]string{
		``:                              "sidecars[0]: Invalid value: is null: remove it, or write an object",
		`"x"`:                           "sidecars[0]: Invalid value: has a value of the wrong type: a string in place of an object: correct it",
		`{"image": true}`:               "sidecars[0]: Invalid value: has a value of the wrong type: image is a boolean in place of a string: quote it",
		`{"env": [{"value": 1}]}`:       "sidecars[0]: Invalid value: has a value of the wrong type: env.value is a number in place of a string: quote it",
		`{"ports": {}}`:                 "sidecars[0]: Invalid value: has a value of the wrong type: ports is an object in place of a list: correct it",
		`{"securityContext": []}`:       "sidecars[0]: Invalid value: has a value of the wrong type: securityContext is a list in place of an object: correct it",
		`{"stdin": "yes"}`:              "sidecars[0]: Invalid value: has a value of the wrong type: stdin is a string in place of a boolean: correct it",
		`{"ports":[{"hostPort": "1"}]}`: "sidecars[0]: Invalid value: has a value of the wrong type: ports.hostPort is a string in place of an integer: correct it",
		`{"imagePulPolicy": "Always"}`:  "sidecars[0].imagePulPolicy: Invalid value: unknown field: correct or remove it",
		`{"image": "b"}`:                "",
	} {
		_, problems := validation.Decode[corev1.Container]([]byte(raw), field.NewPath("sidecars").Index(0))
		got := ""
		for _, p := range problems {
			got += p.String()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, want)
		}
	}
}
