// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const packageFile = `apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {name: tiny, version: 1.0.0, vendor: example}
spec: {packageName: tiny_provider, providerType: "remote::tiny", api: inference, wheelPath: /lls-provider/packages/tiny_provider-1.0.0-py3-none-any.whl}
`

// withProviders returns a custom resource with external providers of these images.
func withProviders(entries string) *v1alpha2.LlamaStackDistribution {
	cr := resource()
	cr.Spec.ExternalProviders = &apiextensionsv1.JSON{Raw: []byte(entries)}
	return cr
}

// packagesOf gathers until no registry request is pending.
func packagesOf(t *testing.T, s *fakeRegistry, c *cluster, cr *v1alpha2.LlamaStackDistribution) (*gather.Gathered, problem.List) {
	t.Helper()
	g := newGatherer(c, c)
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
	g.OperatorImage = "registry.example.com/operator:1"
	return answered(t, g, cr)
}

// Proves: R46, FR-090 (each image is read once, from its mirror, with the custom resource's credentials, and only if
// the entry has no package).
func TestPackagesComeFromTheImages(t *testing.T) {
	s := &fakeRegistry{file: packageFile}
	cr := withProviders(`{"inference": [{"providerId": "a", "image": "quay.io/team/tiny:1"}, {"providerId": "b", "image": "quay.io/team/tiny:1"}],
		"toolRuntime": [{"providerId": "c", "image": "quay.io/team/tools:1", "package": {"packageName": "tools", "providerType": "remote::tools"}}],
		"safety": [{"providerId": "d", "image": "quay.io/team/off:1"}]}`)
	cr.Spec.Disabled = []string{"safety"}
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
	c := newCluster(t, pullSecret("pull", "somebody"), operatorSettings(map[string]string{settings.KeyRegistries: "mirrors: [{prefix: quay.io/team, location: registry.example.com/mirror}]"}))
	got, problems := packagesOf(t, s, c, cr)
	if problems.HasErrors() {
		t.Error(problems.Message())
	}
	in := got.Inputs
	if len(in.Packages) != 1 || in.Packages["quay.io/team/tiny:1"].Package == nil || in.Packages["quay.io/team/tiny:1"].Package.PackageName != "tiny_provider" {
		t.Errorf("%+v", in.Packages)
	}
	if in.OperatorImage != "registry.example.com/operator:1" || len(in.Mirrors) != 1 {
		t.Errorf("operator image %q, mirrors %v", in.OperatorImage, in.Mirrors)
	}
	if diff := cmp.Diff([]string{"somebody registry.example.com/mirror/tiny:1"}, s.asked); diff != "" {
		t.Error(diff)
	}
}

// Proves: R14, R19, R46.
func TestPackagesThatCannotBeRead(t *testing.T) {
	const image = "registry.example.com/team/tiny:1"
	fails := func(kind registry.Kind) *fakeRegistry {
		return &fakeRegistry{err: &registry.Error{Kind: kind, Err: errors.New("it says no")}}
	}
	for name, c := range map[string]struct {
		site     *fakeRegistry
		image    string
		settings string
		want     problem.Reason
		says     string
	}{
		"no file":      {&fakeRegistry{}, image, "", problem.InvalidImage, "Missing /lls-provider/lls-provider-spec.yaml in image " + image},
		"a wrong file": {&fakeRegistry{file: "kind: Other"}, image, "", problem.InvalidImage, "/lls-provider/lls-provider-spec.yaml: "},
		"no reference": {&fakeRegistry{}, "NOT:AN:IMAGE", "", problem.InvalidImage, "is not an image reference"},
		"unreachable":  {fails(registry.Unreachable), image, "", problem.RegistryUnavailable, "describe the package in the entry itself"},
		"unauthorized": {fails(registry.Unauthorized), image, "", problem.ImageNotAccessible, "spec.workload.imagePullSecrets"},
		"no such tag":  {fails(registry.NotFound), image, "", problem.ImageNotAccessible, "correct the image, or push it"},
		"not an image": {fails(registry.NotAnImage), image, "", problem.InvalidImage, "use another image"},
		"not allowed":  {fails(registry.Refused), image, "", problem.ForbiddenBySettings, "ask the administrator to allow this one"},
		"forbidden":    {&fakeRegistry{}, image, "readLabels: false", problem.ForbiddenBySettings, "readLabels is false"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, operatorSettings(map[string]string{settings.KeyRegistries: c.settings}))
			got, _ := packagesOf(t, c.site, cluster, withProviders(`{"inference": [{"providerId": "a", "image": "`+c.image+`"}]}`))
			p := got.Inputs.Packages[c.image].Problem
			if p == nil || p.Reason != c.want || !strings.Contains(p.String(), c.says) || strings.Contains(p.String(), "overrideConfig") {
				t.Errorf("%v, want %s with %q", p, c.want, c.says)
			}
		})
	}
}

// Proves: R46 (the pod or the flag has the image; without it, only resources with external providers have a problem).
func TestOperatorFindsItsImage(t *testing.T) {
	own := types.NamespacedName{Namespace: "operator", Name: "manager-0"}
	pod := func(containers ...corev1.Container) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: own.Namespace, Name: own.Name}, Spec: corev1.PodSpec{Containers: containers}}
	}
	manager, sidecar := corev1.Container{Name: "manager", Image: "operator@sha256:1"}, corev1.Container{Name: "proxy", Image: "proxy:1"}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		name string
		at   types.NamespacedName
		want string
	}{
		"the flag":         {pod(manager), "operator:flag", own, "operator:flag"},
		"its pod":          {pod(manager), "", own, "operator@sha256:1"},
		"beside a sidecar": {pod(sidecar, manager), "", own, "operator@sha256:1"},
		"of another name":  {pod(sidecar), "", own, "proxy:1"},
		"not in the pod":   {pod(sidecar, sidecar), "", own, ""},
		"no such pod":      {pod(manager), "", types.NamespacedName{Namespace: "operator", Name: "other"}, ""},
		"not known":        {pod(manager), "", types.NamespacedName{}, ""},
	} {
		if got, err := gather.OperatorImage(t.Context(), newCluster(t, c.pod), c.name, c.at); err != nil || got != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	for _, external := range []bool{true, false} {
		g := newGatherer(newCluster(t), newCluster(t))
		g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: (&fakeRegistry{file: packageFile}).Client, Key: secret.New(make([]byte, 32))})
		cr := resource()
		if external {
			cr = withProviders(`{"inference": [{"providerId": "a", "image": "registry.example.com/a:1"}]}`)
		}
		_, problems := g.Gather(t.Context(), cr)
		if got := slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.UnsupportedByOperator }); got != external {
			t.Errorf("external providers %v: %s", external, problems.Message())
		}
	}
}
