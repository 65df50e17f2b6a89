// SPDX-License-Identifier: Apache-2.0

package endpointwatch

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// A watch that was ended takes no event away from the one that was begun after it.
//
// Proves: R20.
func TestAnEndedWatchNotesNothing(t *testing.T) {
	referrer := types.NamespacedName{Namespace: "ai", Name: "one"}
	id := parse.Addressed{Kind: parse.KindService, Namespace: "ai", Name: "a"}
	w := New(t.Context(), nil, nil)
	w.objects[id] = &object{referrers: map[types.NamespacedName]bool{referrer: true}, version: unknown}
	seen := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name, ResourceVersion: "2"}}
	ended, end := context.WithCancel(t.Context())
	end()
	before := &store{watcher: w, ctx: ended, kind: id.Kind, namespace: metav1.NamespaceAll}
	for name, noted := range map[string]error{"an update": before.Update(seen), "a list": before.Replace(nil, "")} {
		if now := w.objects[id].version; noted != nil || now != unknown {
			t.Errorf("%s of an ended watch: version %q, %v", name, now, noted)
		}
	}
	if got := w.note(t.Context(), id, "2"); !slices.Equal(got, []types.NamespacedName{referrer}) {
		t.Errorf("the next watch finds %v to report, want %v", got, referrer)
	}
}
