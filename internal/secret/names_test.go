// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R7 (names with an encoded value or a large part of one are found; other names stay readable).
func TestNamesWithFindsValuesInNames(t *testing.T) {
	var canaries framework.Canaries
	canary := canaries.New()
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	const address = "https://llama-32-3b-instruct-predictor.models.svc.cluster.local:8443/v1"
	for name, c := range map[string]struct {
		value, name string
		want        bool
	}{
		"the value":                    {canary, canary, true},
		"with text around it":          {canary, "vllm/" + canary + "-x", true},
		"in base64":                    {canary, "vllm/" + encoded, true},
		"the first half":               {canary, canary[:len(canary)/2], true},
		"the second half":              {canary, "x" + canary[len(canary)/2:], true},
		"half of it in base64":         {canary, encoded[len(encoded)/2:], true},
		"a short password":             {"s3cr3t", "vllm/s3cr3t", true},
		"an ordinary word":             {"llama", "meta-llama/llama3", false},
		"half of a short one":          {"s3cr3t", "vllm/s3c", false},
		"too short to tell":            {"on", "vllm/on", false},
		"a host that is called so too": {address, "vllm/llama-32-3b-instruct", false},
		"the path of an address":       {address, "llama-32-3b-instruct-predictor.models", true},
		"without a cluster":            {secret.OnCluster, secret.OnCluster, false},
		"another name":                 {canary, "meta-llama/Llama-3.2-3B-Instruct", false},
	} {
		got := secret.NamesWith([]string{"other", c.name, c.name}, []secret.Value{secret.New(nil), secret.New([]byte(c.value))})
		if got[c.name] != c.want || got["other"] {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, size := range []int{8, 31, 32, 47, 48, 1000} {
		value := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 40)[:size]
		part := value[size/2 : size/2+min(size-size/2, 24)]
		if got := secret.NamesWith([]string{part}, []secret.Value{secret.New([]byte(value))}); !got[part] && size > 8 {
			t.Errorf("a part of %d of %d bytes is not found", len(part), size)
		}
	}
}
