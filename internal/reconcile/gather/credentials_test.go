// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// crowdedPullSecret returns a pull Secret with the credentials of pullSecret and many others.
func crowdedPullSecret(called string, others int) *corev1.Secret {
	s := pullSecret(called, "own")
	text := strings.TrimSuffix(string(s.Data[corev1.DockerConfigJsonKey]), "}}")
	var all strings.Builder
	all.WriteString(text)
	for n := range others {
		fmt.Fprintf(&all, `,"r%d.io":{}`, n)
	}
	all.WriteString("}}")
	s.Data[corev1.DockerConfigJsonKey] = []byte(all.String())
	return s
}

// Proves: R63, FR-027c (the bound is for all Secrets together, and the message names the Secret and the field).
func TestPullSecretsHaveABound(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-sa"}}
	long := pullSecret("long", strings.Repeat("u", limits.CredentialBytes))
	deep := pullSecret("deep", "own")
	deep.Data[corev1.DockerConfigJsonKey] = []byte(`{"` + canary + `":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`)
	legacy := crowdedPullSecret("legacy", 65_000)
	legacy.Type, legacy.Data = corev1.SecretTypeDockercfg, map[string][]byte{corev1.DockerConfigKey: legacy.Data[corev1.DockerConfigJsonKey]}
	opaque := crowdedPullSecret("opaque", 65_000)
	opaque.Type = corev1.SecretTypeOpaque
	const values = "the Secrets with credentials for images have more than 10000 values in total, counted up to this one: keep only the credentials that the pods need"
	for name, c := range map[string]struct {
		secrets []client.Object
		account bool
		asks    string
		want    string
	}{
		"many registries": {secrets: []client.Object{crowdedPullSecret("a", 65_000)}, want: "spec.workload.imagePullSecrets[0]: Too many: Secret ai/a: " + values},
		"many in both": {secrets: []client.Object{crowdedPullSecret("a", 6_000), crowdedPullSecret("b", 6_000)},
			want: "spec.workload.imagePullSecrets[1]: Too many: Secret ai/b: " + values},
		"many of the ServiceAccount": {secrets: []client.Object{crowdedPullSecret("a", 65_000)}, account: true,
			want: "spec.distribution: Too many: Secret ai/a of ServiceAccount my-stack-sa: " + values},
		"the older form": {secrets: []client.Object{legacy}, want: values},
		"long credentials": {secrets: []client.Object{long}, want: "spec.workload.imagePullSecrets[0]: Too many: Secret ai/long: the credentials for the registry of image " +
			mine + " have more than 16384 bytes: keep only the credentials that the pods need"},
		"deep":              {secrets: []client.Object{deep}, want: "spec.workload.imagePullSecrets[0]: Too many: Secret ai/deep: it has more than 100 levels of nesting: "},
		"as many as may be": {secrets: []client.Object{crowdedPullSecret("a", 9_000)}, asks: "own " + mine},
		"no credentials":    {secrets: []client.Object{opaque}, asks: "anonymous " + mine},
	} {
		cr, s := resourceWithImage(mine), &fakeRegistry{}
		cr.Spec.Workload = &v1alpha2.WorkloadSpec{}
		refs := &cr.Spec.Workload.ImagePullSecrets
		if c.account {
			refs = &account.ImagePullSecrets
		}
		*refs = nil
		for _, o := range c.secrets {
			*refs = append(*refs, corev1.LocalObjectReference{Name: o.GetName()})
		}
		_, problems := withLabels(t, s, newCluster(t, append(c.secrets, account.DeepCopy())...), cr)
		account.ImagePullSecrets = nil
		errs := problems.Errors()
		if c.want != "" && (errs.Reason() != problem.TooLarge || !errs.Has(problem.Terminal) || !strings.Contains(errs.Message(), c.want)) || strings.Contains(errs.Message(), canary) {
			t.Errorf("%s: %s: %s", name, errs.Reason(), errs.Message())
		}
		if got := strings.Join(s.asked, ","); got != c.asks {
			t.Errorf("%s: asked %q, want %q", name, got, c.asks)
		}
	}
}

// Proves: R63 (during requests to registries only the credentials for each image are in memory, not their Secrets).
func TestOnlyTheCredentialsOfAnImageStayInMemory(t *testing.T) {
	const resources, limit = 50, 8 << 20
	cr := resourceWithImage(mine)
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "crowded"}}}
	c := newCluster(t, crowdedPullSecret("crowded", 9_000))
	s := &fakeRegistry{silent: make(chan struct{})}
	defer close(s.silent)
	g := newGatherer(c, c)
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
	before := heap()
	for n := range resources {
		image := fmt.Sprint(mine, n)
		cr.Name, cr.Spec.Distribution.Image = fmt.Sprint("s", n), &image
		if got, _ := g.Gather(t.Context(), cr); got.LabelsPending.IsZero() {
			t.Fatal("no registry is asked")
		}
	}
	if grown := heap() - before; grown > limit {
		t.Errorf("%d images that wait for a registry take %d KiB, want at most %d", resources, grown>>10, limit>>10)
	}
	runtime.KeepAlive(g)
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
