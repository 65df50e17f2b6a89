// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// Proves: R83 (the table lists the rules of the spec and of the operator, the server's defaults, and an open server).
func TestRenderAccessTable(t *testing.T) {
	r := run(t, "", "render", "-f", "testdata/access/stacks.yaml", "-o", "access")
	expect.File(t, "testdata/access/stacks.txt", r.out)
	if r.code != cli.ExitOK || !strings.Contains(r.err, "note: open: no configuration is generated") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// Proves: R83 (the table includes the rules of an overrideConfig; an unreadable one is an error).
func TestRenderAccessOfOwnConfiguration(t *testing.T) {
	const stack = `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: own}
spec:
  distribution: {name: starter}
  overrideConfig: {configMapName: mine}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mine}
data:
  config.yaml: |
    version: 2
    apis: [inference]
    providers: {}
    server:
      auth:
`
	for rules, want := range map[string]string{
		"{provider_config: {type: github_token}, access_policy: [{forbid: {actions: delete}, unless: [user is owner, resource is unowned]}]}": "unless user is owner and resource is unowned",
		"{route_policy: [{permit: {paths: [/v1/models]}}]}": "no authentication: everyone who reaches the server may call it",
		"{access_policy: all}":                              "the access rules of the configuration are invalid",
		"{provider_config: {type: '${env.AUTH_TYPE:=}'}}":   "no authentication: everyone who reaches the server may call it",
		"{provider_config: {type: github_token}, access_policy: [{permit: {actions: read}, description: \"a\\n2\\tpermit\\tall\\e[1m\"}]}": "a 2 permit all [1m\n",
		"{provider_config: {type: github_token}, access_policy: [{description: x}]}":                                                       "invalid   -         all        every user      x\n",
	} {
		r := run(t, stack+"        "+rules+"\n", "render", "-f", "-", "-o", "access")
		if !strings.Contains(r.out+r.err, want) {
			t.Errorf("%s: want %q in:\n%s%s", rules, want, r.out, r.err)
		}
	}
}
