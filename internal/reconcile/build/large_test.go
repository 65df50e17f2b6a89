// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// Proves: R63 (few workers build large custom resources at a time).
func TestLargeResourcesAreThoseWithLargeInputs(t *testing.T) {
	long := strings.Repeat("x", largeInputs)
	for name, c := range map[string]struct {
		change func(*Inputs)
		want   bool
	}{
		"nothing": {func(*Inputs) {}, false},
		"spec": {func(in *Inputs) {
			in.CR.Spec.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: fmt.Appendf(nil, "%q", long)}}}
		}, true},
		"override": {func(in *Inputs) { in.Override = &OverrideFact{Content: []byte(long)} }, true},
		"secret":   {func(in *Inputs) { in.Secrets = []SecretFact{{Value: secret.New([]byte(long))}} }, true},
		"volume": {func(in *Inputs) {
			in.PodReferences = []PodReferenceFact{{Values: []secret.Value{secret.New([]byte(long))}}}
		}, true},
		"bundle": {func(in *Inputs) { in.CABundle = &CABundleFact{Data: map[string]string{"ca.crt": long}} }, true},
	} {
		in := &Inputs{CR: &v1alpha2.LlamaStackDistribution{}}
		c.change(in)
		if got := IsLarge(in); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
