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

const withOverride = `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: own}
spec:
  distribution: {name: starter}
  overrideConfig: {configMapName: mine}
`

const overridden = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: mine}
data:
  config.yaml: "{version: 2, image_name: mine, apis: [inference], providers: {}, server: {insecure: true, auth: {provider_config: {type: github_token}}}}"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
`

// Proves: R83, NFR-004 (the note says which ConfigMap is missing and how to pass it).
func TestRenderWithoutTheConfigMapOfAnOverrideNamesIt(t *testing.T) {
	const note = ": ConfigMap mine (namespace default) was not given, so its content is not checked: pass it with -f\n"
	for _, c := range []struct{ spec, at string }{
		{withOverride, "stdin:6: note: own: spec.overrideConfig.configMapName"},
		{"apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: own}\nspec:\n  server:\n    distribution: {name: starter}\n" +
			"    userConfig: {configMapName: mine}\n", "stdin:7: note: own: spec.server.userConfig.configMapName"},
	} {
		for _, args := range [][]string{{"render", "-o", "access"}, {"render", "-o", "config"}, {"validate"}} {
			r := run(t, c.spec, append(args, "-f", "-")...)
			if r.code != cli.ExitOK || strings.Count(r.err, c.at+note) != 1 || strings.Contains(r.err, "error:") {
				t.Errorf("%v: exit code %d:\n%s%s\nwant %s", args, r.code, r.out, r.err, c.at+note)
			}
			if r := run(t, c.spec+overridden, append(args, "-f", "-")...); r.code != cli.ExitOK || strings.Contains(r.err, "was not given") {
				t.Errorf("%v with the ConfigMap: exit code %d:\n%s", args, r.code, r.err)
			}
		}
	}
	// The rules of other custom resources are shown.
	second := strings.Replace(strings.Replace(withOverride, "name: own", "name: second", 1), "  overrideConfig: {configMapName: mine}\n", "", 1)
	if r := run(t, withOverride+"---\n"+second, "render", "-o", "access", "-f", "-"); !strings.HasPrefix(r.out, "second: ") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}

// Proves: NFR-004 (only ConfigMaps that nothing reads are skipped).
func TestReadConfigMapsAreNotSkipped(t *testing.T) {
	const bundle = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca}\ndata: {ca-bundle.crt: ''}\n"
	spec := withOverride + "  networking: {tls: {caBundle: {configMapName: ca}}}\n"
	rendered := run(t, spec+overridden+bundle, "render", "-f", "-")
	if strings.Contains(rendered.err, "skipped ConfigMap mine") || strings.Contains(rendered.err, "skipped ConfigMap ca") ||
		!strings.Contains(rendered.err, "skipped ConfigMap other: not a LlamaStackDistribution\n") {
		t.Errorf("exit code %d:\n%s", rendered.code, rendered.err)
	}
	if r := run(t, spec+overridden+bundle, "validate", "-f", "-"); !strings.Contains(r.err, ", 1 of other kinds skipped\n") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}
