// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// called returns the names of the events that were sent, in order.
func called(t *Turns) string {
	var names []string
	for {
		select {
		case e := <-t.Next():
			names = append(names, e.Object.GetName())
		default:
			return strings.Join(names, " ")
		}
	}
}

// Proves: R63 (large resources hold some workers at most; each that waits is called once, in order).
func TestTurnsGoRound(t *testing.T) {
	turns := New(t.Context(), 2)
	for name, want := range map[string]bool{"a": true, "b": true} {
		if turns.Take(named(name)) != want {
			t.Errorf("%s has no turn", name)
		}
	}
	for _, name := range []string{"c", "d", "c", "e"} {
		if turns.Take(named(name)) || !turns.Waits(named(name)) {
			t.Errorf("%s does not wait", name)
		}
		turns.Release(named(name)) // as each reconcile does: it has nothing to give
	}
	if got := called(turns); got != "" {
		t.Errorf("called %s, though nobody is through", got)
	}
	turns.Release(named("b"))
	if got := called(turns); got != "c" || turns.Waits(named("c")) {
		t.Errorf("called %q, want c alone", got)
	}
	if turns.Take(named("d")) {
		t.Error("d takes the turn that c was promised")
	}
	if !turns.Take(named("c")) {
		t.Error("c was called and has no turn")
	}
	turns.Release(named("a"))
	turns.Release(named("c"))
	turns.Release(named("d")) // it was deleted before it was called, or is small now: the turn goes on
	turns.Release(named("e"))
	if got := called(turns); got != "d e" {
		t.Errorf("called %q, want d and e", got)
	}
	if !turns.Take(named("f")) || !turns.Take(named("g")) || turns.Take(named("h")) {
		t.Error("two turns are free again, and no third")
	}
}

func TestLargeResourcesAreThoseWithLargeInputs(t *testing.T) {
	long := strings.Repeat("x", largeInputs)
	for name, c := range map[string]struct {
		change func(*desired.Inputs)
		want   bool
	}{
		"nothing": {func(*desired.Inputs) {}, false},
		"spec": {func(in *desired.Inputs) {
			in.CR.Spec.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: fmt.Appendf(nil, "%q", long)}}}
		}, true},
		"override": {func(in *desired.Inputs) { in.Override = &desired.OverrideFact{Content: []byte(long)} }, true},
		"secret":   {func(in *desired.Inputs) { in.Secrets = []desired.SecretFact{{Value: secret.New([]byte(long))}} }, true},
		"volume": {func(in *desired.Inputs) {
			in.PodReferences = []desired.PodReferenceFact{{Values: []secret.Value{secret.New([]byte(long))}}}
		}, true},
		"bundle": {func(in *desired.Inputs) { in.CABundle = &desired.CABundleFact{Data: map[string]string{"ca.crt": long}} }, true},
	} {
		in := &desired.Inputs{CR: &v1alpha2.LlamaStackDistribution{}}
		c.change(in)
		if got := IsLarge(in); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
