// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Proves: STAT, R29, R50, R60 (all fields of an applied resource).
func TestFields(t *testing.T) {
	f := serving(t, resource())
	s := compute(t, f)
	at := new(metav1.NewTime(now))
	equal(t, "resolvedDistribution", &v1alpha2.ResolvedDistributionStatus{
		Name: "starter", NameSource: "spec.distribution.name", Image: image, ImageSource: "the operator's list of distributions",
		ConfigSource: v1alpha2.ConfigSourceEmbedded, ConfigHash: f.Distribution.Base.Hash(),
		ServerLine: "0.7", ServerLineSource: "spec.distribution.version",
	}, s.ResolvedDistribution)
	equal(t, "configGeneration", &v1alpha2.ConfigGenerationStatus{
		ConfigMapName: f.Desired.ConfigMapName, GeneratedAt: at, ProviderCount: 1, ResourceCount: 1, ConfigVersion: 2,
	}, s.ConfigGeneration)
	equal(t, "version", &v1alpha2.VersionInfo{OperatorVersion: "1.0.0", LlamaStackServerVersion: "0.7.1", LastUpdated: at}, s.Version)
	equal(t, "availableDistributions", f.Images, s.DistributionConfig.AvailableDistributions)
	if got := s.DistributionConfig.ActiveDistribution; got != "starter" {
		t.Errorf("activeDistribution %q", got)
	}
	if s.ServiceURL != "http://my-stack-service.ai.svc:8321" || s.RouteURL != nil {
		t.Errorf("serviceURL %q, routeURL %v", s.ServiceURL, s.RouteURL)
	}
	if s.Selector != "app=llama-stack,app.kubernetes.io/instance=my-stack" || s.Replicas != 1 || s.AvailableReplicas != 1 {
		t.Errorf("selector %q, %d of %d pods", s.Selector, s.AvailableReplicas, s.Replicas)
	}
	if s.ObservedGeneration != 1 {
		t.Errorf("observedGeneration %d", s.ObservedGeneration)
	}
}

// Proves: R29, R7 (configs come from the operator, with placeholders, and only for generated providers).
func TestProviders(t *testing.T) {
	f := serving(t, resource())
	f.Server.Providers = f.Server.Providers[:2]
	s := compute(t, f)
	list := s.DistributionConfig.Providers
	if len(list) != 2 {
		t.Fatalf("providers %+v, want what the server lists", list)
	}
	if p := list[0]; p.API != "inference" || p.ProviderID != "vllm" || p.ProviderType != "remote::vllm" || p.Health != nil ||
		p.Config == nil || !strings.Contains(string(p.Config.Raw), "${env.LLSD_VLLM_API_KEY}") || !strings.Contains(string(p.Config.Raw), "http://vllm:8000/v1") {
		t.Errorf("provider %+v", p)
	}
	if p := list[1]; p.ProviderID != "llama-guard" || p.Config != nil {
		t.Errorf("provider %+v: a config that the operator did not generate", p)
	}
}

// Proves: STAT (the text of the feature spec, with the other resources of the spec).
func TestConfigGeneratedCountsProvidersAndModels(t *testing.T) {
	f := serving(t, resource())
	for _, c := range []struct {
		result serverconfig.Result
		want   string
	}{
		{serverconfig.Result{ProviderCount: 3, ModelCount: 2}, "Generated config.yaml with 3 providers and 2 models for server release 0.7"},
		{serverconfig.Result{ProviderCount: 1}, "Generated config.yaml with 1 provider and 0 models for server release 0.7"},
		{
			serverconfig.Result{ProviderCount: 1, ModelCount: 1, ShieldCount: 1, VectorStoreCount: 2, ToolCount: 2},
			"Generated config.yaml with 1 provider, 1 model, 1 shield, 2 vector stores and 2 tools for server release 0.7",
		},
	} {
		f.Desired.Config, f.Problems, f.Server = &c.result, nil, nil
		s := compute(t, f)
		if got := condition(t, &s, v1alpha2.ConditionConfigGenerated).Message; got != c.want {
			t.Errorf("%s, want: %s", got, c.want)
		}
	}
}

// Proves: R76 (the digest comes from the pods, stays while none is ready, and is removed for another image).
func TestImageDigestIsThatOfThePods(t *testing.T) {
	cr := ready(t)
	if got := cr.Status.ResolvedDistribution.ImageDigest; got != "" {
		t.Errorf("digest %q before any pod reported one", got)
	}
	f := serving(t, cr)
	f.Pods = pods.Observation{ImageDigest: "sha256:1"}
	cr.Status = compute(t, f)
	if r := cr.Status.ResolvedDistribution; r.ImageDigest != "sha256:1" || r.ImageDigestSource != "node" || r.Image != image {
		t.Errorf("%+v", r)
	}
	f = serving(t, cr)
	f.Deployment = deployment(1, 0)
	cr.Status = compute(t, f)
	if got := cr.Status.ResolvedDistribution.ImageDigest; got != "sha256:1" {
		t.Errorf("digest %q while no pod is ready", got)
	}
	f = serving(t, cr)
	other := *f.Distribution
	other.Image = "docker.io/ogxai/distribution-starter:0.7.2"
	f.Distribution, f.Deployment = &other, deployment(1, 0)
	if got := compute(t, f).ResolvedDistribution.ImageDigest; got != "" {
		t.Errorf("digest %q of another image", got)
	}
}

// Proves: STAT (the registry's digest counts until a pod reports one).
func TestImageDigestOfPodsTakesPrecedence(t *testing.T) {
	cr := ready(t)
	for _, step := range []struct {
		deployment   *appsv1.Deployment
		observed     string
		digest, from string
	}{
		{deployment(1, 0), "", "sha256:registry", "registry"},
		{deployment(1, 1), "sha256:node", "sha256:node", "node"},
		{deployment(1, 0), "", "sha256:node", "node"},
	} {
		f := serving(t, cr)
		asked := *f.Distribution
		asked.Digest = "sha256:registry"
		f.Distribution, f.Deployment, f.Pods = &asked, step.deployment, pods.Observation{ImageDigest: step.observed}
		cr.Status = compute(t, f)
		if r := cr.Status.ResolvedDistribution; r.ImageDigest != step.digest || r.ImageDigestSource != step.from {
			t.Errorf("with %q of the pods: %s of the %s, want %s of the %s", step.observed, r.ImageDigest, r.ImageDigestSource, step.digest, step.from)
		}
	}
}

// Proves: R50 (the providers of the earlier build and their configs stay).
func TestProvidersStayWhileABuildIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		held, known bool
		want        int
	}{
		"not held": {false, true, 1}, "held": {true, true, 2}, "held, and none is known": {true, false, 1},
	} {
		cr := resource()
		f := serving(t, cr)
		f.Server.Providers = f.Server.Providers[:2]
		if c.known {
			cr.Status = compute(t, f)
		}
		f = serving(t, cr)
		f.Server.Providers = f.Server.Providers[:1]
		if c.held {
			f.Desired.HeldBuild = "1.0.1"
		}
		s := compute(t, f)
		if got := s.DistributionConfig.Providers; len(got) != c.want {
			t.Errorf("%s: %+v, want %d providers", name, got, c.want)
		}
	}
}

// Proves: R91 (another build that holds the pods does not change this).
func TestNewerReleaseLineIsReported(t *testing.T) {
	cr := resource()
	for _, step := range []struct{ held, newer, image string }{
		{"", "", image}, {"", "9.8", image}, {"1.0.1", "9.9", "docker.io/ogxai/distribution-starter:0.7.9"}, {"", "", image},
	} {
		f := serving(t, cr)
		f.Desired.HeldBuild, f.Distribution.Newer, f.Distribution.Image = step.held, step.newer, step.image
		cr.Status = compute(t, f)
		if r := cr.Status.ResolvedDistribution; r.NewerServerLine != step.newer || r.Image != image || r.ServerLine != "0.7" {
			t.Errorf("%+v: %+v", step, r)
		}
	}
}

// Proves: STAT, R29 (the base has many other providers).
func TestProvidersOfTheSpecComeFirst(t *testing.T) {
	cr := resource()
	cr.Spec.Providers.Inference = open(`[{"id":"zeta","provider":"vllm","endpoint":"http://a"},{"id":"alpha","provider":"vllm","endpoint":"http://b"}]`)
	cr.Spec.Resources = nil
	f := serving(t, cr)
	f.Server.Providers = []serverprobe.Provider{
		{API: "agents", ID: "meta-reference", Type: "inline::meta-reference"}, {API: "inference", ID: "alpha", Type: "remote::vllm"},
		{API: "inference", ID: "openai", Type: "remote::openai"}, {API: "inference", ID: "zeta", Type: "remote::vllm"},
	}
	s := compute(t, f)
	var got []string
	for _, p := range s.DistributionConfig.Providers {
		got = append(got, p.ProviderID)
	}
	equal(t, "providers", []string{"zeta", "alpha", "meta-reference", "openai"}, got)
}

// Proves: R82, R35, R50 (models of the spec's model servers come first; without a new list the last one stays).
func TestModelsThatTheServerListsAreReported(t *testing.T) {
	cr := resource()
	f := serving(t, cr)
	f.Server.Models.Entries = []serverprobe.Entry{{Provider: "openai", Name: "openai/gpt"}, {Provider: "vllm", Name: "vllm/a"}, {Provider: "vllm", Name: "vllm/b"}}
	want := []v1alpha2.ModelInfo{{Name: "vllm/a", ProviderID: "vllm"}, {Name: "vllm/b", ProviderID: "vllm"}, {Name: "openai/gpt", ProviderID: "openai"}}
	cr.Status = compute(t, f)
	equal(t, "models", want, cr.Status.DistributionConfig.Models)

	f = serving(t, cr)
	f.Server.Models = serverprobe.List{Error: "GET /v1/models: the server requires credentials", Hidden: true}
	cr.Status = compute(t, f)
	equal(t, "models while the server does not tell", want, cr.Status.DistributionConfig.Models)
	f = serving(t, cr)
	f.Server.Models.Entries = nil
	equal(t, "models of a server without models", []v1alpha2.ModelInfo(nil), compute(t, f).DistributionConfig.Models)
}

// Proves: R92 (the reported line stays while the server is silent, and is removed with the image).
func TestReleaseLineOfASilentImageIsTheServers(t *testing.T) {
	cr := resource()
	cr.Spec = v1alpha2.LlamaStackDistributionSpec{Distribution: v1alpha2.DistributionSpec{Image: new("registry.example/mine")}}
	check := func(when, want, source string, change func(*status.Facts)) {
		t.Helper()
		f := serving(t, cr)
		change(f)
		cr.Status = compute(t, f)
		if r := cr.Status.ResolvedDistribution; r.ServerLine != want || r.ServerLineSource != source {
			t.Errorf("%s: %q, %q; want %q, %q", when, r.ServerLine, r.ServerLineSource, want, source)
		}
	}
	const reported = "version that the running server reports"
	check("at first", "", "", func(f *status.Facts) { f.Server = nil })
	check("when it answers", "1.4", reported, func(f *status.Facts) { f.Server.Version = "1.4.1" })
	check("while it is silent", "1.4", reported, func(f *status.Facts) { f.Server = nil })
	check("when the tag has moved", "1.3", reported, func(f *status.Facts) { f.Server.Version = "1.3.0" })
	check("a build without a release", "1.3", reported, func(f *status.Facts) { f.Server.Version = "main" })
	cr.Spec.Distribution.Image = new("registry.example/mine:other")
	check("another image", "", "", func(f *status.Facts) { f.Server = nil })
	cr.Spec.Distribution.Image = new("registry.example/mine:0.7.1")
	check("a tag counts more", "0.7", "tag of the image", func(f *status.Facts) { f.Server.Version = "1.4.1" })
}

// Proves: R50 (an image without a name is its own distribution).
func TestActiveDistributionOfAnImage(t *testing.T) {
	cr := resource()
	cr.Spec = v1alpha2.LlamaStackDistributionSpec{Distribution: v1alpha2.DistributionSpec{Image: new("registry.example/mine")}}
	f := serving(t, cr)
	f.Server = nil
	s := compute(t, f)
	if got := s.DistributionConfig.ActiveDistribution; got != "registry.example/mine" {
		t.Errorf("activeDistribution %q", got)
	}
	equal(t, "resolvedDistribution", &v1alpha2.ResolvedDistributionStatus{
		Image: "registry.example/mine", ImageSource: "spec.distribution.image", ConfigSource: v1alpha2.ConfigSourceImage,
	}, s.ResolvedDistribution)
}

// Proves: R50 (times change only with content, and unknown values keep their last state).
func TestTimesOfFields(t *testing.T) {
	later := now.Add(time.Hour)
	cr := ready(t)

	f := serving(t, cr)
	f.Now, f.Server, f.Images = later, nil, nil
	s := compute(t, f)
	equal(t, "the whole status", cr.Status, s)

	f = serving(t, cr)
	f.Now, f.OperatorVersion = later, "1.1.0"
	s = compute(t, f)
	equal(t, "version", &v1alpha2.VersionInfo{
		OperatorVersion: "1.1.0", LlamaStackServerVersion: "0.7.1", LastUpdated: new(metav1.NewTime(later)),
	}, s.Version)
	equal(t, "configGeneration", cr.Status.ConfigGeneration, s.ConfigGeneration)

	cr.Spec.Networking = &v1alpha2.NetworkingSpec{Port: new(int32(9000))}
	f = serving(t, cr)
	f.Now = later
	s = compute(t, f)
	if s.ConfigGeneration.ConfigMapName == cr.Status.ConfigGeneration.ConfigMapName || !s.ConfigGeneration.GeneratedAt.Time.Equal(later) {
		t.Errorf("configGeneration %+v after a change, was %+v", s.ConfigGeneration, cr.Status.ConfigGeneration)
	}
	if s.ServiceURL != "http://my-stack-service.ai.svc:9000" {
		t.Errorf("serviceURL %s", s.ServiceURL)
	}
	f.Desired.Override = &serverconfig.Override{TLS: serverconfig.TLS{CertificateFile: "/c", KeyFile: "/k"}}
	if got := compute(t, f).ServiceURL; got != "https://my-stack-service.ai.svc:9000" { // Proves: R39
		t.Errorf("serviceURL %s of a server with TLS", got)
	}
}

// A write to the status changes no fact.
func TestStatusSharesNothing(t *testing.T) {
	f := serving(t, resource())
	s := compute(t, f)
	s.DistributionConfig.AvailableDistributions["starter"] = "changed"
	s.DistributionConfig.Providers[0].Config.Raw[0] = 'x'
	s.Conditions[0].Reason = "changed"
	if f.Images["starter"] == "changed" || f.Desired.Config.Providers[0].Config[0] == 'x' {
		t.Error("the facts changed")
	}
	f.Server = &serverprobe.Observation{Version: "0.7.1"}
	compute(t, f)
}
