// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// credentials are the flags of the token that the server requires.
type credentials struct {
	token, from string
}

var errTwoTokens = errors.New("--token and --token-from are mutually exclusive")

func (f *credentials) check() error {
	name, key, _ := strings.Cut(f.from, "/")
	switch {
	case f.token != "" && f.from != "":
		return errTwoTokens
	case f.from != "" && (name == "" || key == "" || strings.Contains(key, "/")):
		return fmt.Errorf("--token-from %q: write SECRET/KEY, the names of a Secret and of its key", f.from)
	}
	return nil
}

// read returns the token, empty without flags. The user needs permission to read the Secret.
func (f *credentials) read(ctx context.Context, c *cluster.Connection) (secret.Value, error) {
	source, token := "--token", secret.New([]byte(f.token))
	if f.from != "" {
		name, key, _ := strings.Cut(f.from, "/")
		source = fmt.Sprintf("key %s of Secret %s", key, name)
		s := &corev1.Secret{}
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, s); err != nil {
			if apierrors.IsNotFound(err) {
				return secret.Value{}, fmt.Errorf("there is no Secret %q in namespace %s", name, c.Namespace)
			}
			return secret.Value{}, fmt.Errorf("read Secret %s/%s: %w", c.Namespace, name, err)
		}
		value, found := s.Data[key]
		if !found {
			return secret.Value{}, fmt.Errorf("the Secret %s in namespace %s has no key %q: it has %s", name, c.Namespace, key,
				limits.Names(slices.Sorted(maps.Keys(s.Data))))
		}
		token = secret.New(bytes.TrimRight(value, "\r\n"))
	}
	if problem := token.BearerProblem(); problem != "" && (f.from != "" || f.token != "") {
		return secret.Value{}, fmt.Errorf("%s: %s", source, problem)
	}
	return token, nil
}

// authorize adds the token to a request.
func authorize(request *http.Request, token secret.Value) {
	if !token.Empty() {
		request.Header.Set("Authorization", "Bearer "+string(token.Reveal()))
	}
}
