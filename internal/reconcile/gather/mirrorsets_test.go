// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// sets is a reader that lists only mirror sets.
type sets struct {
	client.Reader
	lists map[string][]unstructured.Unstructured
	err   error
}

func (s *sets) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*unstructured.UnstructuredList)
	if !ok {
		return s.Reader.List(context.Background(), into, client.InNamespace(operatorNamespace), client.HasLabels{settings.LabelDistribution})
	}
	list.Items = s.lists[strings.TrimSuffix(list.GetKind(), "List")]
	return s.err
}

var digestMirrors = schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"}

// Proves: FR-027f (absent or forbidden kinds do not count, and a failed list is retried at the next start).
func TestMirrorSets(t *testing.T) {
	m, s := &mapper{}, &sets{}
	if got, err := gather.MirrorSets(t.Context(), m, s); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	m.set(nil, "ImageDigestMirrorSet.config.openshift.io", "ImageContentSourcePolicy.operator.openshift.io")
	if got, err := gather.MirrorSets(t.Context(), m, s); err != nil || len(got) != 2 || got[0] != digestMirrors {
		t.Errorf("%v, %v", got, err)
	}
	resource := schema.GroupResource{Group: "config.openshift.io", Resource: "imagedigestmirrorsets"}
	for _, err := range []error{apierrors.NewForbidden(resource, "", errors.New("no role")), apierrors.NewNotFound(resource, "")} {
		s.err = err
		if got, err := gather.MirrorSets(t.Context(), m, s); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
	}
	s.err = errTimeout
	if got, err := gather.MirrorSets(t.Context(), m, s); !errors.Is(err, errTimeout) {
		t.Errorf("%v, %v", got, err)
	}
	m.set(errTimeout)
	if got, err := gather.MirrorSets(t.Context(), m, s); !errors.Is(err, errTimeout) {
		t.Errorf("%v, %v", got, err)
	}
}

// hostMap records the requested references and the keychain.
type hostMap struct {
	*fakeRegistry
	asked []string
	keys  authn.Keychain
}

func (w *hostMap) Image(ctx context.Context, reference string, keys authn.Keychain) (*registry.Image, error) {
	w.keys = keys
	return w.fakeRegistry.Image(ctx, reference, nil)
}

// userAt returns the user name for a registry.
func (w *hostMap) userAt(t *testing.T, host string) string {
	t.Helper()
	repository, err := name.NewRepository(host + "/team/server")
	if err != nil {
		t.Fatal(err)
	}
	who, err := w.keys.Resolve(repository)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := who.Authorization()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Username
}

func (*hostMap) Close() {}

func (w *hostMap) Client(r *settings.Registries) imagelabels.Registry {
	w.asked = r.Locations(mine)
	return w
}

// Proves: FR-027c, FR-027f, NFR-003 (each mirror gets its own credentials and none of another registry).
func TestMirrorsUseTheirOwnCredentials(t *testing.T) {
	secrets := pullSecret("pull", "source")
	secrets.Data[".dockerconfigjson"] = []byte(`{"auths":{"registry.example.com":{"username":"source","password":"a"},"mirror.example.com":{"username":"mirror","password":"b"}}}`)
	c := newCluster(t, secrets)
	cached := &sets{Reader: c, lists: map[string][]unstructured.Unstructured{"ImageTagMirrorSet": {{Object: map[string]any{
		"spec": map[string]any{"imageTagMirrors": []any{map[string]any{"source": "registry.example.com", "mirrors": []any{"mirror.example.com", "other.example.com"}}}},
	}}}}}
	g := newGatherer(c, cached)
	g.MirrorSets = []schema.GroupVersionKind{{Group: "config.openshift.io", Version: "v1", Kind: "ImageTagMirrorSet"}}
	w := &hostMap{fakeRegistry: &fakeRegistry{labels: map[string]string{oci.LabelDistributionVersion: "0.7.1"}}}
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: w.Client, Key: secret.New(make([]byte, 32))})
	cr := served(mine)
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
	answered(t, g, cr)
	for host, want := range map[string]string{"registry.example.com": "source", "mirror.example.com": "mirror", "other.example.com": ""} {
		if got := w.userAt(t, host); got != want {
			t.Errorf("%s is asked as %q, want %q", host, got, want)
		}
	}
}

// Proves: FR-027f (the pods' image stays unchanged).
func TestImagesAreReadFromMirrorsOfTheCluster(t *testing.T) {
	c := newCluster(t)
	cached := &sets{Reader: c, lists: map[string][]unstructured.Unstructured{"ImageTagMirrorSet": {{Object: map[string]any{
		"spec": map[string]any{"imageTagMirrors": []any{map[string]any{"source": "registry.example.com", "mirrors": []any{"mirror.example.com/r"}}}},
	}}}}}
	g := newGatherer(c, cached)
	g.MirrorSets = []schema.GroupVersionKind{{Group: "config.openshift.io", Version: "v1", Kind: "ImageTagMirrorSet"}}
	w := &hostMap{fakeRegistry: &fakeRegistry{labels: map[string]string{oci.LabelDistributionVersion: "0.7.1"}}}
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: w.Client, Key: secret.New(make([]byte, 32))})
	got, _ := answered(t, g, served(mine))
	if strings.Join(w.asked, " ") != "mirror.example.com/r/team/server:1 "+mine || got.Inputs.Distribution.Image != mine {
		t.Errorf("asked at %v for %s", w.asked, got.Inputs.Distribution.Image)
	}
	cached.err = errTimeout
	if _, problems := g.Gather(t.Context(), served(mine)); problems.Errors().Reason() != problem.LookupFailed || !strings.Contains(problems.Message(), "ImageTagMirrorSets could not be read") {
		t.Errorf("%s", problems.Message())
	}
}
