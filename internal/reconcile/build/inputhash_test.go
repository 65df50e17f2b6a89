// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R48, FR-026, L-23 (which changes change the input hash).
func TestInputHash(t *testing.T) {
	before := hashOf(inputs(t, "simple"))
	for name, c := range map[string]struct {
		change  func(*testing.T, *Inputs)
		changes bool
	}{
		"nothing":               {func(*testing.T, *Inputs) {}, false},
		"build of the operator": {func(_ *testing.T, in *Inputs) { in.Build = "9.9.9" }, false},
		"live Deployment":       {func(t *testing.T, in *Inputs) { in.Live = deployment(t, build(t, in).Objects) }, false},
		"metadata and status": {func(_ *testing.T, in *Inputs) {
			in.CR.Labels, in.CR.Generation, in.CR.Status.Phase = map[string]string{"a": "b"}, 7, "Ready"
		}, false},
		"order of keys and white space": {func(_ *testing.T, in *Inputs) {
			in.CR.Spec.Providers.Inference = open("{ \"apiKey\" : {\"secretKeyRef\": {\"key\":\"token\",\n\"name\":\"vllm-creds\"}}," +
				"\"provider\":\"vllm\", \"endpoint\":\"http://vllm:8000\" }")
		}, false},
		"a field": {func(_ *testing.T, in *Inputs) {
			in.CR.Spec.Providers.Inference = open(`{"provider":"vllm","endpoint":"http://vllm:8001"}`)
		}, true},
		"a large integer": {func(_ *testing.T, in *Inputs) {
			in.CR.Spec.Providers.Inference = open(`{"provider":"vllm","endpoint":"http://vllm:8000","settings":{"n":9007199254740993}}`)
		}, true},
		"secret value":                          {func(_ *testing.T, in *Inputs) { in.Secrets[0].Value = secret.New([]byte("rotated")) }, true},
		"hash key":                              {func(_ *testing.T, in *Inputs) { in.HashKey = secret.New([]byte("another")) }, true},
		"name of the cluster without telemetry": {func(_ *testing.T, in *Inputs) { in.ClusterName = "production" }, false},
		"user ids":                              {func(_ *testing.T, in *Inputs) { in.ClusterAssignsUserIDs = true }, true},
		"image of the distribution": {func(t *testing.T, in *Inputs) {
			resolve(t, in, map[string]string{"image-overrides": "starter: mirror.example/starter:0.7.1"})
		}, true},
		"embedded base of another build": {func(t *testing.T, in *Inputs) {
			d := *in.Distribution
			base, err := serverconfig.ParseBase("starter", []byte("version: 2"))
			framework.NoError(t, err)
			d.Base, in.Distribution = base, &d
		}, false},
		"base configuration": {func(t *testing.T, in *Inputs) {
			resolve(t, in, map[string]string{"distributions": "starter: {image: 'docker.io/ogxai/distribution-starter:0.7.1', config: 'version: 2'}"})
		}, true},
		"release": {func(t *testing.T, in *Inputs) {
			resolve(t, in, map[string]string{"distributions": "starter: {image: 'docker.io/ogxai/distribution-starter:0.7.1', serverVersion: '0.7.2'}"})
		}, true},
		"release line": {func(_ *testing.T, in *Inputs) {
			d := *in.Distribution
			d.Line, _ = catalog.Get("0.8")
			in.Distribution = &d
		}, true},
		"a build with another patch release": {func(_ *testing.T, in *Inputs) {
			d := *in.Distribution
			d.Release, d.Image = "0.7.9", "docker.io/ogxai/distribution-starter:0.7.9"
			in.Distribution = &d
		}, false},
		"a build that pulls it from elsewhere": {func(_ *testing.T, in *Inputs) {
			d := *in.Distribution
			d.Image = "docker.io/other/distribution-starter:0.7.1"
			in.Distribution = &d
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			c.change(t, in)
			if got := hashOf(in) != before; got != c.changes {
				t.Errorf("the hash changes: %v, want %v", got, c.changes)
			}
		})
	}
	traced, named := inputs(t, "simple"), inputs(t, "simple")
	for _, in := range []*Inputs{traced, named} {
		in.CR.Spec.Providers.Telemetry = open(`{"provider":"otel","endpoint":"http://otel:4318"}`)
	}
	if named.ClusterName = "production"; hashOf(traced) == hashOf(named) {
		t.Error("the name of the cluster does not reach a server with telemetry")
	}
	large := inputs(t, "simple")
	large.CR.Spec.Providers.Inference = open(`{"n":9007199254740993}`)
	larger := inputs(t, "simple")
	larger.CR.Spec.Providers.Inference = open(`{"n":9007199254740992}`)
	if hashOf(large) == hashOf(larger) {
		t.Error("two integers beyond the precision of a float have the same hash")
	}
}

// Proves: R48, R22, L-23.
func TestInputHashCoversReferencedObjects(t *testing.T) {
	kept := func(path, value string) func(*Inputs) {
		return func(in *Inputs) {
			in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"kept":{"` + path + `":{"was":` + value + `}}}`}
		}
	}
	for name, changes := range map[string][2]func(*Inputs){
		"CA bundle": {
			func(in *Inputs) { trust(in, map[string]string{"ca.crt": certificate}) },
			func(in *Inputs) { trust(in, map[string]string{"ca.crt": otherCertificate}) },
		},
		"certificate": {
			func(in *Inputs) { in.Certificate = &CertificateFact{Certificate: []byte("a")} },
			func(in *Inputs) { in.Certificate = &CertificateFact{Certificate: []byte("b")} },
		},
		"configuration of the user's own": {
			func(in *Inputs) { in.Override = &OverrideFact{Content: []byte("a")} },
			func(in *Inputs) { in.Override = &OverrideFact{Content: []byte("b")} },
		},
		"name of the container in v1alpha1": {
			kept("spec.server.containerSpec.name", `"main"`), kept("spec.server.containerSpec.name", `"other"`),
		},
	} {
		hashes := map[string]bool{hashOf(inputs(t, "distribution-only")): true}
		for _, change := range changes {
			in := inputs(t, "distribution-only")
			change(in)
			hashes[hashOf(in)] = true
		}
		if len(hashes) != 3 {
			t.Errorf("%s: %d hashes of absence and two contents", name, len(hashes))
		}
	}
}

// Proves: R54, FR-026, L-23 (hashes of secret content are keyed).
func TestSecretsHash(t *testing.T) {
	annotation := func(in *Inputs) string {
		return deployment(t, build(t, in).Objects).Spec.Template.Annotations[names.AnnotationSecretsHash]
	}
	in := inputs(t, "simple")
	before := annotation(in)
	if before == "" {
		t.Fatal("no hash of the secret values in the pod template")
	}
	if again := annotation(inputs(t, "simple")); again != before {
		t.Error("the same values have another hash")
	}
	in.HashKey = secret.New([]byte("another"))
	if annotation(in) == before {
		t.Error("the hash does not depend on the key: a short password could be guessed from it")
	}
	in = inputs(t, "simple")
	in.Secrets[0].Value = secret.New([]byte("rotated"))
	if annotation(in) == before {
		t.Error("a rotated value has the same hash: the pods would keep the old one")
	}
	if got := annotation(inputs(t, "distribution-only")); got != "" {
		t.Errorf("a hash of no values: %q", got)
	}
}

// Proves: WAIT (the status names a changed ConfigMap of any CA bundle as the cause of a rollout).
func TestConfigMapsHashHasEveryBundle(t *testing.T) {
	in := inputs(t, "simple")
	none := configMapsHash(in)
	in.CABundles = []CABundleFact{{Name: "a", Data: map[string]string{"ca.crt": "1"}}, {Name: "b"}}
	first := configMapsHash(in)
	in.CABundles[1].Data = map[string]string{"ca.crt": "2"}
	if second := configMapsHash(in); none != "" || first == "" || second == first {
		t.Errorf("the hashes are %q without a bundle, %q, and %q after a change", none, first, second)
	}
}
