// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R83 (exposure without authentication or without TLS gets a warning; a Route always encrypts).
func TestBuildWarnsOfOpenServers(t *testing.T) {
	const kubernetes = "\nauth: {provider: kubernetes}"
	for name, c := range map[string]struct {
		spec  string
		apis  objects.EdgeAPIs
		edge  settings.Edge
		alpha bool
		want  string
	}{
		"not exposed":               {spec: "networking: {expose: false}"},
		"exposed":                   {spec: "networking: {expose: {hostname: a.example}}", want: "the server has no authentication"},
		"exposed by nothing":        {spec: "networking: {expose: true}", edge: settings.Edge{Kind: settings.EdgeNone}},
		"of v1alpha1":               {spec: "networking: {expose: true}", alpha: true},
		"routes alone":              {spec: "networking: {expose: {hostname: a.example}}\nauth: {routePolicy: [{permit: {paths: '*'}}]}", want: "the server has no authentication"},
		"with auth, plain":          {spec: "networking: {expose: {hostname: a.example}}" + kubernetes, want: "without encryption"},
		"with auth, TLS of edge":    {spec: "networking: {expose: {hostname: a.example}}" + kubernetes, edge: settings.Edge{TLSSecretName: "x"}},
		"with auth, through Routes": {spec: "networking: {expose: true}" + kubernetes, apis: objects.EdgeAPIs{Route: true}},
		"without auth, by a Route":  {spec: "networking: {expose: true}", apis: objects.EdgeAPIs{Route: true}, want: "the server has no authentication"},
	} {
		annotation := ""
		if c.alpha {
			annotation = fromV1alpha1
		}
		in := inputsOf(t, "distribution: {name: starter}\n"+c.spec, annotation)
		in.EdgeAPIs, in.Edge = c.apis, c.edge
		checkUnprotected(t, name, in, c.want)
	}
}

// checkUnprotected calls Build and compares the warnings of reason Unprotected.
func checkUnprotected(t *testing.T, name string, in *Inputs, want string) {
	t.Helper()
	got := ""
	for _, warning := range build(t, in).Warnings {
		if warning.Reason == problem.Unprotected {
			got += warning.String()
		}
	}
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// Proves: R83.
func TestBuildWarnsOfUnprotectedServersWithKnownConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		image, base, override string
		want                  string
	}{
		"the configuration of the distribution":     {want: "has no authentication"},
		"one of the operator's settings, with auth": {base: "version: 2, server: {auth: {provider_config: {type: custom}}}", want: "without encryption"},
		"an image whose configuration is not known": {image: "registry.example/any@sha256:0"},
		"a configuration of the user's own":         {image: "registry.example/any@sha256:0", override: ownConfig, want: "has no authentication"},
		"one that only the cluster has":             {override: secret.OnCluster},
	} {
		in := inputs(t, "distribution-only")
		in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte(`{"hostname":"a.example"}`)}}
		if c.image != "" {
			in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: &c.image}
			resolve(t, in, nil)
		}
		if c.base != "" {
			resolve(t, in, map[string]string{"distributions": "starter: {image: 'docker.io/llamastack/distribution-starter:0.7.1', config: '{" + c.base + "}'}"})
		}
		if c.override != "" {
			in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
			findOverride(t, in, c.override)
		}
		checkUnprotected(t, name, in, c.want)
	}
}

// Proves: R83, FR-061 (other servers do not get the CA certificates, and no token comes with them).
func TestBuildMountsTheClusterCAForTokensOfTheCluster(t *testing.T) {
	for spec, want := range map[string]bool{
		"auth: {provider: kubernetes}": true,
		"auth: {provider: kubernetes, settings: {api_server_url: 'https://a.example', tls_cafile: /etc/mine/ca.crt}}": false,
		"auth: {provider: custom, settings: {endpoint: 'https://a.example'}}":                                         false,
		"disabled: [eval]": false,
	} {
		pod := podSpecOf(build(t, inputsOf(t, "distribution: {name: starter}\n"+spec, "")).Objects)
		if got := objects.MountsConfigMap(pod, "kube-root-ca.crt"); got != want {
			t.Errorf("%s: mounted %v", spec, got)
		}
		mounted := false
		for _, m := range pod.Containers[0].VolumeMounts {
			mounted = mounted || m.MountPath == "/etc/llama-stack-cluster" && m.ReadOnly
		}
		if mounted != want || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: mounts %+v, automount %v", spec, pod.Containers[0].VolumeMounts, pod.AutomountServiceAccountToken)
		}
	}
}

// Proves: R83 (each override that can bypass the configuration gets a warning, and no other does).
func TestBuildWarnsOfOverridesThatBypassAuthentication(t *testing.T) {
	const auth = "auth: {provider: kubernetes}\n"
	for name, c := range map[string]struct {
		overrides string
		without   bool // authentication
		paths     []string
	}{
		"nothing":                    {overrides: "env: [{name: A, value: a}], volumeMounts: [{name: v, mountPath: /mnt/v}, {name: v, mountPath: /etc/llama-stack-x}]"},
		"a command":                  {overrides: "command: [python3, -m, x]", paths: []string{"command"}},
		"a command without auth":     {overrides: "command: [python3, -m, x]", without: true},
		"arguments":                  {overrides: "args: [--providers, inference=x]", paths: []string{"args"}},
		"another configuration":      {overrides: "env: [{name: A}, {name: RUN_CONFIG_PATH, value: /mnt/x}]", paths: []string{"env[1]"}},
		"another one, from a Secret": {overrides: "env: [{name: OGX_CONFIG, valueFrom: {secretKeyRef: {name: s, key: k}}}]", paths: []string{"env[0]"}},
		"other code":                 {overrides: "env: [{name: PYTHONPATH, value: /mnt}, {name: LD_PRELOAD, value: /mnt/x}, {name: PYTHONUNBUFFERED, value: x}]", paths: []string{"env[0]", "env[1]"}},
		"of envFrom": {
			overrides: "envFrom: [{configMapRef: {name: harmless}}, {prefix: PYTHON, secretRef: {name: other}}]", paths: []string{"envFrom[1]"},
		},
		"the file itself":   {overrides: "volumeMounts: [{name: v, mountPath: /etc/llama-stack/config.yaml, subPath: x}]", paths: []string{"volumeMounts[0].mountPath"}},
		"programs":          {overrides: "volumeMounts: [{name: v, mountPath: /usr/local/bin}]", paths: []string{"volumeMounts[0].mountPath"}},
		"all of them":       {overrides: "volumeMounts: [{name: v, mountPath: /usr}, {name: v, mountPath: /user}]", paths: []string{"volumeMounts[0].mountPath"}},
		"a module":          {overrides: "volumeMounts: [{name: v, mountPath: /.local/lib/python3.12/site-packages/usercustomize.py}]", paths: []string{"volumeMounts[0].mountPath"}},
		"below, in a guise": {overrides: "volumeMounts: [{name: v, mountPath: /etc//x/../llama-stack/./config.yaml}]", paths: []string{"volumeMounts[0].mountPath"}},
	} {
		spec := "distribution: {name: starter}\nworkload: {overrides: {" + c.overrides + ", volumes: [{name: v, emptyDir: {}}]}}\n"
		if !c.without {
			spec += auth
		}
		in := inputsOf(t, spec, "")
		in.Spec = parse.Parse(&in.CR.Spec)
		for _, ref := range objects.PodReferences(in.CR) {
			in.PodReferences = append(in.PodReferences, PodReferenceFact{Ref: ref, Keys: []string{"PATH", "k"}})
			if ref.Name == "harmless" {
				in.PodReferences[len(in.PodReferences)-1].Keys = []string{"A"}
			}
		}
		var paths []string
		_, problems := Build(t.Context(), in)
		for _, p := range problems {
			if p.Reason == problem.Unprotected {
				paths = append(paths, strings.TrimPrefix(p.Path, "spec.workload.overrides."))
			}
			if p.Severity == problem.Error {
				t.Errorf("%s: %s", name, p)
			}
		}
		if diff := cmp.Diff(c.paths, paths); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
