// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
)

const hashKeyNamespace = "llama-stack-k8s-operator-system"

func withSecrets(t *testing.T, secrets ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(secrets...).Build()
}

func hashKeySecret(key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: hashKeyNamespace, Name: apply.HashKeySecretName},
		Data:       map[string][]byte{"key": []byte(key)},
	}
}

// Proves: R54 (the operator creates one random key).
func TestEnsureHashKey(t *testing.T) {
	c := withSecrets(t)
	first, err := apply.EnsureHashKey(t.Context(), c, c, hashKeyNamespace)
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
	second, err := apply.EnsureHashKey(t.Context(), c, c, hashKeyNamespace)
	if err != nil || !bytes.Equal(second.Reveal(), first.Reveal()) {
		t.Errorf("another key on the second call (%v): all servers would restart", err)
	}
	other := withSecrets(t)
	third, err := apply.EnsureHashKey(t.Context(), other, other, hashKeyNamespace)
	if err != nil || bytes.Equal(third.Reveal(), first.Reveal()) {
		t.Errorf("another cluster has the same key (%v)", err)
	}
}

// racer is a replica that creates the Secret between the read and the write.
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

// Two replicas that start together use the same key.
func TestEnsureHashKeyRace(t *testing.T) {
	theirs := strings.Repeat("t", 32)
	c := withSecrets(t)
	got, err := apply.EnsureHashKey(t.Context(), c, &racer{c, hashKeySecret(theirs)}, hashKeyNamespace)
	if err != nil || string(got.Reveal()) != theirs {
		t.Errorf("error %v, want the key of the replica that was faster", err)
	}
}

func TestEnsureHashKeyFails(t *testing.T) {
	short := withSecrets(t, hashKeySecret("sk-canary-7f3a"))
	errTimeout := errors.New("the server timed out")
	failing := interceptor.NewClient(withSecrets(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errTimeout
		},
	})
	for name, c := range map[string]struct {
		cluster client.Client
		want    string
	}{
		"short key": {short, "fewer than 32 bytes"},
		"API error": {failing, errTimeout.Error()},
	} {
		got, err := apply.EnsureHashKey(t.Context(), c.cluster, c.cluster, hashKeyNamespace)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), hashKeyNamespace+"/"+apply.HashKeySecretName) {
			t.Errorf("%s: error %v, want it to name the Secret and %q", name, err, c.want)
		}
		if !got.Empty() || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: a key in spite of the error, or in it", name)
		}
	}
	if _, err := apply.EnsureHashKey(t.Context(), failing, failing, hashKeyNamespace); !errors.Is(err, errTimeout) {
		t.Errorf("error %v does not wrap its cause", err)
	}
}
