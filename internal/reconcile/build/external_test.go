// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// packaged returns inputs with two external providers, one of them with an inline package.
func packaged(t *testing.T, image string) *Inputs {
	t.Helper()
	in := found(t, func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.ExternalProviders = &apiextensionsv1.JSON{Raw: []byte(`{"toolRuntime": {"providerId": "a-tool", "image": "quay.io/team/tools:1"},
			"inference": {"providerId": "tiny", "image": "` + image + `", "package": {"packageName": "tiny", "providerType": "remote::tiny"}}}`)}
	})
	in.OperatorImage = "quay.io/operator:1"
	in.Packages = map[string]serverconfig.PackageResult{"quay.io/team/tools:1": {Package: &parse.ProviderPackage{
		Name: "tools", PackageName: "tools", ProviderType: "inline::tools", API: "tool_runtime", Wheels: []string{"/lls-provider/packages/tools.whl"},
	}}}
	return in
}

// Proves: FR-014, FR-090, R46, R48 (images come from their mirrors; an upgrade of the operator keeps the pods, and a
// change of the mirrors rolls them).
func TestExternalProvidersAreInstalled(t *testing.T) {
	in := packaged(t, "quay.io/team/tiny:1")
	in.Mirrors = settings.Mirrors{{Prefix: "quay.io/team", Location: "registry.example.com/mirror"}}
	d, problems := Build(t.Context(), in)
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	var images []string
	for _, c := range podSpecOf(d.Objects).InitContainers {
		images = append(images, c.Name+" "+c.Image)
	}
	want := []string{
		"prepare-providers quay.io/operator:1", "install-provider-tiny registry.example.com/mirror/tiny:1",
		"install-provider-a-tool registry.example.com/mirror/tools:1", "check-providers " + in.Distribution.Image,
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if command := strings.Join(podSpecOf(d.Objects).InitContainers[2].Command, " "); !strings.Contains(command, "--module tools --wheel /lls-provider/packages/tools.whl ") {
		t.Errorf("command %s", command)
	}
	hash := inputHash(in)
	in.OperatorImage = "quay.io/operator:2"
	if inputHash(in) != hash {
		t.Error("another image of the operator is another input")
	}
	in.Mirrors = nil
	if inputHash(in) == hash {
		t.Error("without the mirror, the pods have other images, and the input is the same")
	}
}

// Proves: R46, R74, FR-090 (an image that is not read is checked too; packages of disabled APIs are not needed).
func TestImagesOfExternalProvidersAreChecked(t *testing.T) {
	_, problems := Build(t.Context(), packaged(t, "NOT:AN:IMAGE"))
	if !slices.ContainsFunc(problems, func(p problem.Problem) bool {
		return p.Reason == problem.InvalidImage && p.Path == "spec.externalProviders.inference.image" && p.Value == "NOT:AN:IMAGE"
	}) {
		t.Error(problems.Message())
	}
	in := packaged(t, "quay.io/team/tiny:1")
	in.CR.Spec.Disabled = []string{"tool_runtime"}
	if list := in.ExternalProviders(); len(list) != 1 || list[0].ID != "tiny" {
		t.Errorf("%+v", list)
	}
	in.Forbidden = []settings.Restriction{settings.ForbidExternalProviders}
	if _, problems := Build(t.Context(), in); problems.Errors().Reason() != problem.ForbiddenBySettings {
		t.Error(problems.Message())
	}
}

// besideOverride returns the inputs of packaged with an overrideConfig of this content.
func besideOverride(t *testing.T, content string) *Inputs {
	t.Helper()
	in := packaged(t, "quay.io/team/tiny:1")
	in.CR.Spec.Providers, in.CR.Spec.Resources, in.CR.Spec.Storage = nil, nil, nil
	in.CR.Spec.ExternalProviders.Raw = []byte(strings.Replace(string(in.CR.Spec.ExternalProviders.Raw), `"package"`,
		`"apiKey": {"name": "keys", "key": "tiny"}, "secretRefs": {"clientSecret": {"name": "keys", "key": "client"}}, "package"`, 1))
	in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	findOverride(t, in, content)
	findSecrets(t, in)
	return in
}

// Proves: R96, R46 (the packages are installed, the Secrets are variables, and the file stays as it is).
func TestExternalProvidersAreInstalledBesideOverrideConfig(t *testing.T) {
	const content = complete + "apis: [inference, tool_runtime]\n"
	named := strings.Replace(content, "providers: {}", `providers:
  inference:
  - {provider_id: tiny, provider_type: "remote::tiny", module: tiny, config: {key: "${env.LLSD_TINY_API_KEY}", c: "${env.LLSD_TINY_CLIENT_SECRET}"}}
  tool_runtime:
  - {provider_id: tools, provider_type: "inline::tools", module: tools==1.0}`, 1)
	in := besideOverride(t, named)
	d := build(t, in)
	var images []string
	pod := podSpecOf(d.Objects)
	for _, c := range pod.InitContainers {
		images = append(images, c.Name+" "+c.Image)
	}
	if diff := cmp.Diff([]string{
		"prepare-providers quay.io/operator:1", "install-provider-tiny quay.io/team/tiny:1", "install-provider-a-tool quay.io/team/tools:1",
		"check-providers " + in.Distribution.Image,
	}, images); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var variables []string
	for _, v := range pod.Containers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			variables = append(variables, v.Name+" "+v.ValueFrom.SecretKeyRef.Name+" "+v.ValueFrom.SecretKeyRef.Key)
		}
	}
	if diff := cmp.Diff([]string{"LLSD_TINY_API_KEY keys tiny", "LLSD_TINY_CLIENT_SECRET keys client"}, variables); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(d.OverrideContent) != named || len(d.Warnings) > 0 {
		t.Errorf("warnings %s, content\n%s", d.Warnings.Message(), d.OverrideContent)
	}
}

// Proves: R96 (a file that does not name a package, and fields that only a generated configuration has).
func TestOverrideThatDoesNotNameAPackageIsWarnedOf(t *testing.T) {
	in := besideOverride(t, strings.Replace(complete, "providers: {}", `providers:
  inference: [{provider_id: tiny, provider_type: "remote::tiny"}]`, 1)+"server: {insecure: true}\n")
	in.CR.Spec.ExternalProviders.Raw = []byte(strings.Replace(string(in.CR.Spec.ExternalProviders.Raw), `"apiKey"`,
		`"endpoint": "http://a", "config": {"a": 1}, "apiKey"`, 1))
	got := build(t, in).Warnings.Message()
	for _, want := range []string{
		`spec.externalProviders.toolRuntime: the server ignores this: the configuration in spec.overrideConfig does not name the package ` +
			`tools: add to its providers.tool_runtime: - {provider_id: a-tool, provider_type: inline::tools, module: tools}`,
		`providers.inference[0].provider_type: the server does not start with this: release line 0.7 has no type "remote::tiny" of inference ` +
			`providers: add module: tiny`,
		`spec.externalProviders.inference.endpoint: has no effect with spec.overrideConfig, whose configuration decides`,
		`spec.externalProviders.inference.config: has no effect with spec.overrideConfig, whose configuration decides`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "name the package tiny") {
		t.Errorf("two warnings of one package: %s", got)
	}
}

// Proves: R96, R46 (faults of an entry are those beside a generated configuration).
func TestExternalProvidersBesideOverrideConfigAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Inputs)
		want   string
	}{
		"field":   {func(in *Inputs) { in.CR.Spec.ExternalProviders.Raw = []byte(`{"inference": {"imag": "a"}}`) }, "spec.externalProviders.inference.imag"},
		"package": {func(in *Inputs) { in.Packages = nil }, "spec.externalProviders.toolRuntime.image: reading from the registry"},
		"API":     {func(in *Inputs) { in.Packages["quay.io/team/tools:1"].Package.API = "eval" }, "Provider API type mismatch"},
		"release line": {func(in *Inputs) {
			in.CR.Spec.ExternalProviders.Raw = []byte(`{"interactions": {"providerId": "a", "image": "b"}}`)
		}, "release line 0.7"},
	} {
		in := besideOverride(t, complete)
		c.change(in)
		if _, faults := fail(t, in); !strings.Contains(faults.Message(), c.want) {
			t.Errorf("%s: no %q in %s", name, c.want, faults.Message())
		}
	}
	in := besideOverride(t, complete)
	in.Packages, in.PackagesUnread = nil, true
	build(t, in)
}
