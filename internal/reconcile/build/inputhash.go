// SPDX-License-Identifier: Apache-2.0

package build

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// inputHash returns a keyed hash of everything that the objects are made from, except the operator's build.
func inputHash(in *Inputs) string {
	h := secret.NewHash(in.HashKey)
	h.Text(canonicalJSON(&in.CR.Spec))
	h.Text(secretsHash(in))
	hashEndpoints(h, in.Endpoints)
	if in.CABundle != nil {
		h.Text(canonicalJSON(in.CABundle))
	}
	if len(in.CABundles) > 0 {
		h.Text("CA bundles")
		h.Text(canonicalJSON(in.CABundles))
	}
	if in.ServiceCA != "" {
		h.Text("service CA")
		h.Text(in.ServiceCA)
	}
	if in.Certificate != nil {
		h.Text("certificate")
		h.Text(string(in.Certificate.content()))
	}
	if in.Claim != nil {
		h.Text("access modes")
		h.Text(canonicalJSON(in.Claim.AccessModes()))
	}
	if in.ModelCacheClaim != nil {
		h.Text("access modes of the model cache")
		h.Text(canonicalJSON(in.ModelCacheClaim.AccessModes()))
	}
	if image := in.modelCacheImage(); image != "" {
		h.Text("model cache")
		h.Text(image)
	}
	d := in.Distribution
	h.Text(d.Name)
	if d.Listed && d.Line != nil {
		// The repository only: a build with a newer patch release causes no rollout.
		h.Text(d.Image[:strings.LastIndex(d.Image, ":")])
		h.Text(d.Line.Name)
	} else {
		h.Text(d.Image)
		h.Text(d.Release) // not the release line: a build with a newer line causes no rollout
	}
	if kept := adopted(in); kept != nil {
		h.Text("adopted image")
		h.Text(kept.Image) // the mirrored image
	}
	if d.Base != nil && d.Source != v1alpha2.ConfigSourceEmbedded {
		h.Text(d.Base.Hash()) // an embedded base belongs to the build: a newer base causes no rollout
	}
	if packages := in.packages(); len(packages) > 0 {
		h.Text("packages")
		h.Text(canonicalJSON(packages))
	}
	if images := in.externalImages(); len(images) > 0 {
		h.Text("external images")
		h.Text(canonicalJSON(images))
	}
	if in.Override != nil {
		h.Text("override")
		hashOverride(h, in.Override)
	}
	if legacy := &in.Legacy; legacy.FromV1alpha1 || legacy.ContainerName != "" {
		h.Text("legacy")
		h.Text(legacy.ContainerName)
		h.Text(strconv.FormatBool(legacy.FromV1alpha1))
	}
	if p := in.CR.Spec.Providers; in.ClusterName != "" && p != nil && p.Telemetry != nil {
		h.Text("cluster name")
		h.Text(in.ClusterName)
	}
	if in.ClusterAssignsUserIDs {
		h.Text("the cluster assigns user ids")
	}
	return h.Sum()
}

func (in *Inputs) packages() map[string]*parse.ProviderPackage {
	known := map[string]*parse.ProviderPackage{}
	for image, found := range in.Packages {
		if found.Package != nil {
			known[image] = found.Package
		}
	}
	return known
}

func hashOverride(h *secret.Hash, f *OverrideFact) {
	h.Text(string(f.Content))
	for _, key := range slices.Sorted(maps.Keys(f.Files)) {
		h.Text(key)
		h.Bytes(f.Files[key])
	}
}

// configMapsHash returns a keyed hash of the content of all referenced ConfigMaps, or "" without any.
func configMapsHash(in *Inputs) string {
	referenced := slices.ContainsFunc(in.PodReferences, func(f PodReferenceFact) bool {
		return f.Ref.Kind == objects.KindConfigMap
	})
	if !referenced && in.Override == nil && !in.trustsBundle() && in.ServiceCA == "" {
		return ""
	}
	h := secret.NewHash(in.HashKey)
	if in.configMapsHash != nil {
		h.Text(in.configMapsHash.Sum())
	}
	if in.Override != nil {
		hashOverride(h, in.Override)
	}
	if in.CABundle != nil {
		h.Text(canonicalJSON(in.CABundle.Data))
	}
	for i := range in.CABundles {
		h.Text(canonicalJSON(in.CABundles[i].Data))
	}
	h.Text(in.ServiceCA)
	return h.Sum()
}
