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
