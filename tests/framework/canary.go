// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Canaries are secret values that tests put into Secrets. They must be nowhere else. The zero value is ready to use,
// from several goroutines.
type Canaries struct {
	mu     sync.Mutex
	values []string
}

// New returns a unique value that differs from its base64, percent-encoded and hashed forms.
func (c *Canaries) New() string { return c.Add("canary/+=" + rand.Text()) }

// Add adds a value that a test chose, and returns it.
func (c *Canaries) Add(value string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.values, value) {
		c.values = append(c.values, value)
	}
	return value
}

// Len is the number of values.
func (c *Canaries) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}

// Find describes each occurrence of a value in the text, in any of its Encodings, without the value itself.
func (c *Canaries) Find(text string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
	for i, value := range c.values {
		forms := Encodings(value)
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			if at := strings.Index(text, forms[form]); at >= 0 {
				found = append(found, fmt.Sprintf("the secret value number %d, %s, after …%s", i, form, text[max(0, at-200):at]))
			}
		}
	}
	return found
}

// Encodings returns the forms in which a secret value could leave a Secret, by name.
func Encodings(value string) map[string]string {
	sum := sha256.Sum256([]byte(value))
	return map[string]string{
		"in plain":           value,
		"in base64":          base64.StdEncoding.EncodeToString([]byte(value)),
		"in base64 for URLs": base64.URLEncoding.EncodeToString([]byte(value)),
		"percent-encoded":    url.QueryEscape(value),
		"as a path":          url.PathEscape(value),
		"hashed":             hex.EncodeToString(sum[:])[:10],
	}
}

// NonSecretObjects returns all objects of the cluster except Secrets, with their status and managed fields.
func (c *Cluster) NonSecretObjects(ctx context.Context) (string, error) {
	names, err := c.KubectlRun(ctx, "api-resources", "--verbs=list", "-o", "name")
	if err != nil {
		return "", err
	}
	kinds := slices.DeleteFunc(strings.Fields(names), func(kind string) bool { return kind == "secrets" })
	if len(kinds) < 20 {
		return "", fmt.Errorf("only %d kinds are known: %q", len(kinds), kinds)
	}
	// JSON without line breaks: with indentation, an object of 10,000 levels has 100 MB.
	text, err := c.KubectlRun(ctx, "get", strings.Join(kinds, ","), "-A", "-o", "jsonpath={.items}")
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(text), err
}
