// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

const alwaysExcepted = "localhost,127.0.0.1,::1,.svc,.cluster.local,kubernetes.default,$(KUBERNETES_SERVICE_HOST)," +
	"plain-stack-service,plain-stack-service.ai"

// Proves: R106.
func TestProxyVariables(t *testing.T) {
	const models = "providers: {inference: [{id: a, provider: vllm, endpoint: 'http://vllm:8000'}, {id: b, provider: vllm, endpoint: 'https://models.example.com'}]}\n" +
		"storage: {sql: {type: postgres, host: db, user: u, password: {name: a, key: b}}}\n"
	const own = "networking: {proxy: {httpProxy: 'http://p:1', noProxy: '.example.com'}}\n"
	const computed = alwaysExcepted + ",db,vllm"
	for name, c := range map[string]struct {
		spec     string
		defaults *v1alpha2.ProxySpec
		want     string
	}{
		"none":            {spec: models},
		"of the resource": {models + own, nil, "HTTP_PROXY=http://p:1 NO_PROXY=.example.com," + computed},
		"of the settings": {models, &v1alpha2.ProxySpec{HTTPSProxy: new("http://s:2"), NoProxy: new("a")}, "HTTPS_PROXY=http://s:2 NO_PROXY=a," + computed},
		"of both": {
			models + own, &v1alpha2.ProxySpec{HTTPProxy: new("http://s:1"), HTTPSProxy: new("http://s:2"), NoProxy: new("a")},
			"HTTP_PROXY=http://p:1 HTTPS_PROXY=http://s:2 NO_PROXY=.example.com," + computed,
		},
		"turned off": {models + "networking: {proxy: {httpProxy: '', httpsProxy: ''}}", &v1alpha2.ProxySpec{HTTPProxy: new("http://s:1")}, ""},
		"of a variable": {
			models + "workload: {overrides: {env: [{name: https_proxy, value: 'http://p:1'}]}}", nil, "NO_PROXY=" + computed,
		},
		"of a variable beside the settings": {
			models + "workload: {overrides: {env: [{name: https_proxy, value: 'http://p:1'}]}}", &v1alpha2.ProxySpec{HTTPSProxy: new("http://s:1")},
			"NO_PROXY=" + computed,
		},
		"with the user's exceptions": {
			models + own + "workload: {overrides: {env: [{name: NO_PROXY, value: 'x'}]}}", nil, "HTTP_PROXY=http://p:1",
		},
	} {
		in := inputsOf(t, "distribution: {name: starter}\n"+c.spec, "")
		refreshPods(in)
		before := in.CR.DeepCopy()
		theirs := in.CR
		in.CompleteProxy(c.defaults)
		if diff := cmp.Diff(before, theirs); diff != "" {
			t.Errorf("%s: the custom resource was changed:\n%s", name, diff)
		}
		var got []string
		values := map[string]string{}
		for _, v := range in.proxyVariables() {
			if values[v.Name] = v.Value; v.Name == strings.ToUpper(v.Name) {
				got = append(got, v.Name+"="+v.Value)
			} else if values[strings.ToUpper(v.Name)] != v.Value {
				t.Errorf("%s: %s differs from its other spelling", name, v.Name)
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Proves: R106, R7 (the pod has the variables; a proxy with a password in its URL is refused without quoting it).
func TestBuildWithAProxy(t *testing.T) {
	const spec = "distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}\nnetworking: {proxy: {httpProxy: '"
	in := inputsOf(t, spec+"http://proxy:3128'}}", "")
	env := map[string]string{}
	for _, v := range deployment(t, build(t, in).Objects).Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	if env["HTTP_PROXY"] != "http://proxy:3128" || env["http_proxy"] != "http://proxy:3128" || env["no_proxy"] != alwaysExcepted+",vllm" {
		t.Errorf("%v", env)
	}
	for _, wrong := range []string{"http://user:" + canary + "@proxy", "ftp://" + canary, canary} {
		_, problems := fail(t, inputsOf(t, spec+wrong+"'}}", ""))
		if text := problems.Message(); !strings.Contains(text, "spec.networking.proxy.httpProxy") || strings.Contains(text, canary) {
			t.Errorf("%s: %s", wrong, text)
		}
	}
}
