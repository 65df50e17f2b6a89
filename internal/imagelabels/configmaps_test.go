// SPDX-License-Identifier: Apache-2.0

package imagelabels_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/llamastack/llama-stack-k8s-operator/internal/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/oci"
)

// Proves: FR-027d (what is kept can be read again; what somebody else put in its place is passed over, and nothing else is touched).
func TestConfigMapsKeepAnswers(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	label := map[string]string{"llamastack.io/image-labels": "kept"}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "foreign"}, Data: map[string]string{"a": "b"}}
	broken := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "llama-stack-image-labels-broken", Labels: label},
		BinaryData: map[string][]byte{"labels.json.gz": []byte("no gzip")},
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(foreign, broken).Build()
	store := &imagelabels.ConfigMaps{Live: c, Writer: c, Namespace: "operator"}
	first := imagelabels.Kept{
		ID: strings.Repeat("0a", 16), Image: tagged, Digest: "sha256:1", Labels: &oci.Labels{Config: []byte(content), ConfigLabel: oci.LabelConfigBase64},
	}
	second := first
	second.Digest = "sha256:2"
	file := first
	file.Labels, file.Content = nil, []byte("kind: ProviderPackage\n")
	for _, k := range []imagelabels.Kept{first, file, second} {
		if err := store.Keep(t.Context(), &k); err != nil {
			t.Fatal(err)
		}
		got, err := store.Load(t.Context())
		if diff := cmp.Diff([]imagelabels.Kept{k}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	large := first
	large.ID, large.Labels = strings.Repeat("0b", 16), &oci.Labels{Config: incompressible(1 << 20)}
	for range 2 {
		if err := store.Keep(t.Context(), &large); err != nil { // it is asked for again after a restart
			t.Error(err)
		}
		if err := store.Drop(t.Context(), first.ID); err != nil { // the second time, there is none
			t.Error(err)
		}
	}
	if got, err := store.Load(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	var list corev1.ConfigMapList
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 2 {
		t.Errorf("%d ConfigMaps, %v; want those of others", len(list.Items), err)
	}
}

// incompressible is text without patterns.
func incompressible(n int) []byte {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}
