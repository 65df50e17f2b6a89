// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
)

func hashKeySecret(key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: gather.HashKeySecretName},
		Data:       map[string][]byte{"key": []byte(key)},
	}
}

// Proves: R54 (a random key of the operator's own, made once).
func TestEnsureHashKey(t *testing.T) {
	c := newCluster(t)
	first, err := gather.EnsureHashKey(t.Context(), c, c, operatorNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Reveal()) < 32 {
		t.Errorf("a key of %d bytes", len(first.Reveal()))
	}
	var s corev1.Secret
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hashKeySecret("")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Immutable == nil || !*s.Immutable || !bytes.Equal(s.Data["key"], first.Reveal()) {
		t.Error("the Secret is not immutable, or holds another key")
	}
	second, err := gather.EnsureHashKey(t.Context(), c, c, operatorNamespace)
	if err != nil || !bytes.Equal(second.Reveal(), first.Reveal()) {
		t.Errorf("another key on the second call (%v): all servers would restart", err)
	}
	other := newCluster(t)
	third, err := gather.EnsureHashKey(t.Context(), other, other, operatorNamespace)
	if err != nil || bytes.Equal(third.Reveal(), first.Reveal()) {
		t.Errorf("another cluster has the same key (%v)", err)
	}
}

// racer lets another replica create the Secret between our look and our write.
type racer struct {
	client.Client
	theirs *corev1.Secret
}

func (r *racer) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := r.Client.Create(ctx, r.theirs); err != nil {
		return err
	}
	return r.Client.Create(ctx, o, opts...)
}

// Two replicas that start at once agree on one key.
func TestEnsureHashKeyRace(t *testing.T) {
	theirs := strings.Repeat("t", 32)
	c := newCluster(t)
	got, err := gather.EnsureHashKey(t.Context(), c, &racer{c, hashKeySecret(theirs)}, operatorNamespace)
	if err != nil || string(got.Reveal()) != theirs {
		t.Errorf("error %v, want the key of the replica that was faster", err)
	}
}

func TestEnsureHashKeyFails(t *testing.T) {
	short := newCluster(t, hashKeySecret(canary))
	failing := newCluster(t)
	failing.fails["Secret/"+gather.HashKeySecretName] = errTimeout
	for name, c := range map[string]struct {
		cluster *cluster
		want    string
	}{
		"short key": {short, "fewer than 32 bytes"},
		"API error": {failing, errTimeout.Error()},
	} {
		got, err := gather.EnsureHashKey(t.Context(), c.cluster, c.cluster, operatorNamespace)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), operatorNamespace+"/"+gather.HashKeySecretName) {
			t.Errorf("%s: error %v, want it to name the Secret and %q", name, err, c.want)
		}
		if !got.Empty() || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: a key in spite of the error, or in it", name)
		}
	}
	if _, err := gather.EnsureHashKey(t.Context(), failing, failing, operatorNamespace); !errors.Is(err, errTimeout) {
		t.Errorf("error %v does not wrap its cause", err)
	}
}
