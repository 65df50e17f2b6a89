// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const mine = "registry.example.com/team/server:1"

// fakeRegistry returns the same result for every image and records the credentials.
type fakeRegistry struct {
	mu     sync.Mutex
	labels map[string]string
	file   string // content of every file
	// metadata describes the server's package in searched images.
	metadata string
	search   error
	searched int
	err      error
	asked    []string
	silent   chan struct{} // requests block until it is closed; nil does not block
}

func (*fakeRegistry) Close() {}

func (s *fakeRegistry) Client(*settings.Registries) imagelabels.Registry { return s }

func (s *fakeRegistry) Digest(context.Context, string, authn.Keychain) (string, error) {
	return "sha256:1", s.err
}

func (s *fakeRegistry) Image(_ context.Context, reference string, keys authn.Keychain) (*registry.Image, error) {
	if s.silent != nil {
		<-s.silent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who := "anonymous"
	if keys != nil {
		ref, _ := name.ParseReference(reference)
		found, _ := keys.Resolve(ref.Context())
		credentials, _ := found.Authorization()
		who = credentials.Username
	}
	s.asked = append(s.asked, who+" "+reference)
	return &registry.Image{Digest: "sha256:1", Labels: s.labels}, s.err
}

func (*fakeRegistry) File(context.Context, string, *registry.Image, string, string, authn.Keychain) ([]byte, error) {
	return nil, &registry.Error{Kind: registry.NoFile, Err: errors.New("it has no such file")}
}

func (s *fakeRegistry) FindFile(_ context.Context, _ string, _ *registry.Image, file string, _ authn.Keychain) ([]byte, error) {
	if s.file == "" {
		return nil, &registry.Error{Kind: registry.NoFile, Err: errors.New("it has no regular file " + file)}
	}
	return []byte(s.file), nil
}

func (s *fakeRegistry) FindMatch(_ context.Context, _ string, _ *registry.Image, what string, matches func(string) bool, _ authn.Keychain) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searched++
	if s.search != nil {
		return nil, s.search
	}
	if s.metadata == "" || !matches("usr/lib/python3.12/site-packages/ogx-1.4.0.dist-info/METADATA") {
		return nil, &registry.Error{Kind: registry.NoFile, Err: errors.New("it has no regular file " + what)}
	}
	return []byte(s.metadata), nil
}

// withLabels returns the result of a Gatherer that reads labels, without pending requests.
func withLabels(t *testing.T, s *fakeRegistry, c *cluster, cr *v1alpha2.LlamaStackDistribution) (*gather.Gathered, problem.List) {
	t.Helper()
	g := newGatherer(c, c)
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
	return answered(t, g, cr)
}

// resourceWithImage returns a custom resource that needs a configuration for an image.
func resourceWithImage(image string) *v1alpha2.LlamaStackDistribution {
	cr := resource()
	cr.Spec.Distribution = v1alpha2.DistributionSpec{Image: &image}
	return cr
}

func pullSecret(called, user string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: called}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{"registry.example.com":{"username":%q,"password":%q}}}`, user, canary)},
	}
}

// Proves: FR-020, FR-027a, R14, R76 (the image's labels set base and release line).
func TestLabelsGiveTheBase(t *testing.T) {
	base, _ := distributions.Base("starter", "0.7")
	s := &fakeRegistry{labels: map[string]string{
		oci.LabelImageVersion: "0.7.1", oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base),
	}}
	got, problems := withLabels(t, s, newCluster(t), resourceWithImage(mine))
	d := got.Inputs.Distribution
	if problems.HasErrors() || got.Inputs.Unresolved || d.Source != v1alpha2.ConfigSourceOCILabel || d.Line == nil || d.Line.Name != "0.7" || d.Digest != "sha256:1" {
		t.Errorf("%+v, %s", d, problems.Message())
	}
	if diff := strings.Join(s.asked, ","); diff != "anonymous "+mine {
		t.Errorf("asked %s", diff)
	}
}

// Proves: FR-027, R16 (the message names a newer schema in a label and the supported versions, and nothing is
// generated).
func TestConfigOfANewerSchemaInALabelIsNamed(t *testing.T) {
	base, _ := distributions.Base("starter", "0.7")
	newer := strings.Replace(string(base), "version: 2", "version: 3", 1)
	s := &fakeRegistry{labels: map[string]string{oci.LabelImageVersion: "0.7.1", oci.LabelConfigBase64: base64.StdEncoding.EncodeToString([]byte(newer))}}
	got, problems := withLabels(t, s, newCluster(t), resourceWithImage(mine))
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	made, built := build.Build(t.Context(), got.Inputs)
	errs := built.Errors()
	if made.Config != nil || len(made.Objects) > 0 || errs.Reason() != problem.InvalidBaseConfig ||
		!strings.Contains(errs.Message(), "config.yaml: version: Unsupported value: \"3\": Unsupported config.yaml version 3. Supported versions: 1, 2: use a distribution") {
		t.Errorf("%s: %s", errs.Reason(), errs.Message())
	}
}

// Proves: FR-027c, R7 (the pod's own credentials come before those of its ServiceAccount, and invalid ones are
// skipped).
func TestLabelsAreReadWithTheCredentialsOfThePod(t *testing.T) {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-sa"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "of-account"}},
	}
	broken := pullSecret("broken", "x")
	broken.Data[corev1.DockerConfigJsonKey] = []byte("{" + canary)
	cr := resourceWithImage(mine)
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "gone"}, {Name: "broken"}, {Name: "own"}}}
	for want, c := range map[string]*cluster{
		"own":       newCluster(t, account, pullSecret("own", "own"), pullSecret("of-account", "account"), broken),
		"account":   newCluster(t, account, pullSecret("of-account", "account"), broken),
		"anonymous": newCluster(t, broken),
	} {
		s := &fakeRegistry{}
		got, problems := withLabels(t, s, c, cr)
		if diff := strings.Join(s.asked, ","); diff != want+" "+mine {
			t.Errorf("asked %s, want %s", diff, want)
		}
		if text := problems.Message() + fmt.Sprintf("%+v", got); strings.Contains(text, canary) {
			t.Error("a password is printed")
		}
	}
	s := &fakeRegistry{}
	c := newCluster(t, pullSecret("default", "default"), operatorSettings(map[string]string{settings.KeyPodDefaults: "imagePullSecrets: [{name: default}]"}))
	withLabels(t, s, c, resourceWithImage(mine))
	if diff := strings.Join(s.asked, ","); diff != "default "+mine {
		t.Errorf("with a default of the operator's settings: asked %s", diff)
	}
	refs := build.References(cr)
	if !slices.ContainsFunc(refs, func(r objects.Reference) bool { return r.Name == "own" && r.Optional }) {
		t.Errorf("a change of the pull secret is not noticed: %+v", refs)
	}
	c = newCluster(t, account)
	c.fails["Secret/of-account"] = errTimeout
	if _, problems := withLabels(t, &fakeRegistry{}, c, resourceWithImage(mine)); problems.Errors().Reason() != problem.LookupFailed {
		t.Errorf("%s", problems.Message())
	}
}

// Proves: FR-027c (only another ServiceAccount is read from the API server).
func TestServiceAccountOfThePodIsReadFromTheCache(t *testing.T) {
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "of-account"}},
		}
	}
	ofSpec := resourceWithImage(mine)
	ofSpec.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{ServiceAccountName: new("theirs")}}
	for name, c := range map[string]struct {
		cr     *v1alpha2.LlamaStackDistribution
		called string
		live   int
	}{
		"the operator's own": {resourceWithImage(mine), "my-stack-sa", 0}, "one that the spec names": {ofSpec, "theirs", 1},
	} {
		live, cached := newCluster(t, account("theirs"), pullSecret("of-account", "account")), newCluster(t, account("my-stack-sa"))
		g, s := newGatherer(live, cached), &fakeRegistry{}
		told := make(chan types.NamespacedName, 1)
		g.Labels = imagelabels.New(t.Context(), imagelabels.Options{
			Connect: s.Client, Key: secret.New(make([]byte, 32)), Notify: func(user types.NamespacedName) { told <- user },
		})
		g.Gather(t.Context(), c.cr)
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
		if got := live.reads["ServiceAccount/"+c.called]; got != c.live {
			t.Errorf("%s: %d live reads of it, want %d", name, got, c.live)
		}
		if diff := strings.Join(s.asked, ","); diff != "account "+mine {
			t.Errorf("%s: asked %s", name, diff)
		}
	}
}

// Proves: R14, R60, R15.
func TestRegistryIsNotRequestedUnnecessarily(t *testing.T) {
	overridden := resourceWithImage(mine)
	overridden.Spec.Providers = nil
	overridden.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	bare := resourceWithImage(mine)
	bare.Spec.Providers = nil
	for what, cr := range map[string]*v1alpha2.LlamaStackDistribution{
		"a name": resource(), "a built-in image": resourceWithImage("llamastack/distribution-starter:0.7.1"), "an override": overridden, "nothing to generate": bare,
	} {
		s := &fakeRegistry{}
		if _, _ = withLabels(t, s, newCluster(t), cr); len(s.asked) > 0 {
			t.Errorf("%s: asked %v", what, s.asked)
		}
	}
	off := newCluster(t, operatorSettings(map[string]string{settings.KeyRegistries: "readLabels: false"}))
	s := &fakeRegistry{}
	if _, _ = withLabels(t, s, off, resourceWithImage(mine)); len(s.asked) > 0 {
		t.Errorf("switched off: asked %v", s.asked)
	}
}

// Proves: R14, R74 (each registry error has its own reason with a fix).
func TestRegistryErrorsHaveReasons(t *testing.T) {
	failed := func(kind registry.Kind) *fakeRegistry {
		return &fakeRegistry{err: &registry.Error{Kind: kind, Err: errors.New("cause")}}
	}
	labeled := func(key, value string) *fakeRegistry { return &fakeRegistry{labels: map[string]string{key: value}} }
	layer := labeled(oci.LabelConfigLayer, "sha256:"+strings.Repeat("0a", 32))
	layer.labels[oci.LabelConfigPath] = "/config.yaml"
	for _, c := range []struct {
		site  *fakeRegistry
		want  problem.Reason
		class problem.Class
		says  string
	}{
		{failed(registry.Unreachable), problem.RegistryUnavailable, problem.WaitingForDependency, "readLabels: false"},
		{failed(registry.RateLimited), problem.RegistryUnavailable, problem.WaitingForDependency, "use overrideConfig"},
		{failed(registry.Corrupt), problem.RegistryUnavailable, problem.WaitingForDependency, "register the image"},
		{failed(registry.Unauthorized), problem.ImageNotAccessible, problem.WaitingForDependency, "imagePullSecrets"},
		{failed(registry.NotFound), problem.ImageNotAccessible, problem.WaitingForDependency, `Not found: "` + mine},
		{failed(registry.NotAnImage), problem.InvalidImage, problem.Terminal, "use another image"},
		{failed(registry.TooLarge), problem.InvalidImage, problem.Terminal, "use another image"},
		{failed(registry.Refused), problem.ForbiddenBySettings, problem.Terminal, "registries"},
		{labeled(oci.LabelConfigBase64, "%"), problem.InvalidImage, problem.Terminal, "not base64"},
		{labeled(oci.LabelConfigBase64, "LSBh"), problem.InvalidImage, problem.Terminal, "label io.llamastack.config.base64"},
		{labeled(oci.LabelConfigLayer, "x"), problem.InvalidImage, problem.Terminal, "label io.llamastack.config.path"},
		{layer, problem.InvalidImage, problem.Terminal, "no such file"},
	} {
		got, problems := withLabels(t, c.site, newCluster(t), resourceWithImage(mine))
		if !got.Inputs.Unresolved {
			t.Errorf("%s: what else is wrong is not reported", c.want)
		}
		errs := problems.Errors()
		if errs.Reason() != c.want || !errs.Has(c.class) || !strings.Contains(errs.Message(), c.says) {
			t.Errorf("%s is %s, want %s (%s) with %s", errs.Message(), errs.Reason(), c.want, c.class, c.says)
		}
	}
}

// Proves: R64, R14.
func TestAdmissionDoesNotKnowLabels(t *testing.T) {
	c := newCluster(t)
	in, problems := newGatherer(c, c).GatherForAdmission(t.Context(), resourceWithImage(mine))
	_, built := build.Build(t.Context(), in)
	if !in.LabelsUnread || problems.HasErrors() || built.HasErrors() {
		t.Errorf("%t, %s, %s", in.LabelsUnread, problems.Message(), built.Message())
	}
}

// Proves: R94 (before the only pod ends for another image, the registry knows that image, if it can be asked).
func TestImageOfANewOnlyPodExists(t *testing.T) {
	for name, c := range map[string]struct {
		strategy  appsv1.DeploymentStrategyType
		image     string
		available int32
		kind      registry.Kind
		want      problem.Reason
	}{
		"missing":                    {appsv1.RecreateDeploymentStrategyType, mine, 1, registry.NotFound, problem.ImageNotAccessible},
		"of a silent registry":       {appsv1.RecreateDeploymentStrategyType, mine, 1, registry.Unreachable, ""},
		"of a private registry":      {appsv1.RecreateDeploymentStrategyType, mine, 1, registry.Unauthorized, ""},
		"nothing runs":               {appsv1.RecreateDeploymentStrategyType, mine, 0, registry.NotFound, ""},
		"the old pod runs meanwhile": {appsv1.RollingUpdateDeploymentStrategyType, mine, 1, registry.NotFound, ""},
		"the same image":             {appsv1.RecreateDeploymentStrategyType, "", 1, registry.NotFound, ""},
	} {
		cr := resourceWithImage(mine)
		cr.Spec.Providers = nil // so that no label is needed
		cr.Status.Phase = v1alpha2.PhaseReady
		live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
		live.OwnerReferences = []metav1.OwnerReference{*names.ControllerRef(cr)}
		live.Spec.Strategy.Type, live.Status.AvailableReplicas = c.strategy, c.available
		live.Spec.Template.Spec.Containers = []corev1.Container{{Image: "registry.example.com/team/server:0"}}
		if c.image == "" {
			live.Spec.Template.Spec.Containers[0].Image = mine
		}
		s := &fakeRegistry{err: &registry.Error{Kind: c.kind, Err: errors.New("cause")}}
		_, problems := withLabels(t, s, newCluster(t, live), cr)
		if got := problems.Errors().Reason(); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, problems.Message())
		}
	}
}
