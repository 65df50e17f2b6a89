// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R52, API-VAL (the API server enforces the limits of v1alpha1: it admits values within them, and rejects
// others with the field).
func TestV1alpha1Limits(t *testing.T) {
	t.Parallel()
	s := serveOne(t)
	bundle := func(keys ...string) string {
		list, err := json.Marshal(keys)
		framework.NoError(t, err)
		return spoke("limits", `,"tlsConfig":{"caBundle":{"configMapName":"c","configMapKeys":`+string(list)+`}}`)
	}
	const keys = "spec.server.tlsConfig.caBundle.configMapKeys"
	pattern := " in body should match '^[a-zA-Z0-9]([a-zA-Z0-9\\-_.]*[a-zA-Z0-9])?$'"
	for name, c := range map[string]struct {
		manifest, want string
	}{
		"50 keys":                         {bundle(slices.Repeat([]string{"ca.crt"}, 50)...), ""},
		"51 keys":                         {bundle(slices.Repeat([]string{"ca.crt"}, 51)...), keys + ": Too many: 51: must have at most 50 items"},
		"every character that a key has":  {bundle("a", "Z9", "a-b_c.d", "0.0"), ""},
		"a key with a path":               {bundle("ca.crt", "../ca.crt"), keys + "[1]: Invalid value: \"../ca.crt\": " + keys + "[1]" + pattern},
		"a key that begins with a period": {bundle(".ca"), keys + "[0]" + pattern},
		"a key that ends with a dash":     {bundle("ca-"), keys + "[0]" + pattern},
		"an empty key":                    {bundle(""), keys + "[0]" + pattern},
		"a key with a line break":         {bundle("a\nb"), keys + "[0]" + pattern},
		"a key of 253 characters":         {bundle(strings.Repeat("k", 253)), ""},
		"a key of 254 characters":         {bundle(strings.Repeat("k", 254)), keys + "[0]: Too long: may not be"},
		"a bundle without a name":         {spoke("limits", `,"tlsConfig":{"caBundle":{}}`), "spec.server.tlsConfig.caBundle.configMapName: Required value"},
		"a configuration without a name":  {spoke("limits", `,"userConfig":{"configMapNamespace":"a"}`), "spec.server.userConfig.configMapName: Required value"},
		"an autoscaler without a limit":   {spoke("limits", `,"autoscaling":{"minReplicas":1}`), "spec.server.autoscaling.maxReplicas: Required value"},
		"one worker":                      {spoke("limits", `,"workers":1`), ""},
		"no worker":                       {spoke("limits", `,"workers":0`), "spec.server.workers: Invalid value: 0: spec.server.workers in body should be greater than or equal to 1"},
		"neither name nor image":          {strings.Replace(spoke("limits", ""), `{"name":"starter"}`, `{}`, 1), ""},
		"an empty image beside a name":    {strings.Replace(spoke("limits", ""), `"starter"`, `"starter","image":""`, 1), ""},
		"name and image":                  {strings.Replace(spoke("limits", ""), `"starter"`, `"starter","image":"a/b:1"`, 1), "name and image are mutually exclusive: keep one of them"},
		"no server":                       {`{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":"limits"},"spec":{}}`, "spec.server: Required value"},
	} {
		out, err := s.Cluster.KubectlInput(t.Context(), c.manifest, "create", "--dry-run=server", "-n", "default", "-f", "-")
		if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v: got\n%swant %s", name, err, out, c.want)
		}
	}
}
