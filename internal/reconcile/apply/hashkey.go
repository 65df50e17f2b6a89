// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

const (
	// HashKeySecretName is the Secret with the operator's hash key; its loss causes one rollout of each server.
	HashKeySecretName = "llama-stack-operator-hash-key"

	hashKeyField = "key"
	hashKeySize  = 32
)

// EnsureHashKey returns the operator's hash key, and creates it if necessary, also in several replicas at once.
func EnsureHashKey(ctx context.Context, reader client.Reader, writer client.Writer, namespace string) (secret.Value,
	error) {
	key := types.NamespacedName{Namespace: namespace, Name: HashKeySecretName}
	var s corev1.Secret
	err := reader.Get(ctx, key, &s)
	if apierrors.IsNotFound(err) {
		random := make([]byte, hashKeySize)
		_, _ = rand.Read(random) // never fails: crypto/rand ends the program instead
		created := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: HashKeySecretName},
			Immutable:  new(true),
			Data:       map[string][]byte{hashKeyField: random},
		}
		if err = writer.Create(ctx, created); err == nil {
			return secret.New(random), nil
		}
		if apierrors.IsAlreadyExists(err) { // another replica created it
			err = reader.Get(ctx, key, &s)
		}
	}
	if err != nil {
		return secret.Value{}, fmt.Errorf("hash key in Secret %s: %w", key, err)
	}
	if len(s.Data[hashKeyField]) < hashKeySize {
		return secret.Value{}, fmt.Errorf("hash key in Secret %s: the key %q holds fewer than %d bytes: delete the Secret, "+
			"and the operator creates a new one",
			key, hashKeyField, hashKeySize)
	}
	return secret.New(s.Data[hashKeyField]), nil
}
