// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// inputHash is a keyed hash of everything that the objects are made from, the build of the operator left out: the
// spec, what it refers to, and what the operator's settings resolve it to.
func inputHash(in *Inputs) string {
	h := secret.NewHash(in.HashKey)
	h.Text(canonicalJSON(&in.CR.Spec))
	h.Text(secretsHash(in))
	hashEndpoints(h, in.Endpoints)
	if in.CABundle != nil {
		h.Text(canonicalJSON(in.CABundle))
	}
	if in.ServiceCA != "" {
		h.Text("service CA")
		h.Text(in.ServiceCA)
	}
	if in.Certificate != nil {
		h.Text("certificate")
		h.Text(string(in.Certificate.content()))
	}
	d := in.Distribution
	h.Text(d.Name)
	if d.Listed && d.Line != nil {
		// Where it is pulled from: a build that has a newer patch release must roll nothing.
		h.Text(d.Image[:strings.LastIndex(d.Image, ":")])
		h.Text(d.Line.Name)
	} else {
		h.Text(d.Image)
		h.Text(d.Release) // not the release line: a build that knows a newer one must roll nothing
	}
	if kept := adopted(in); kept != nil {
		h.Text("adopted image")
		h.Text(kept.Image) // a mirror of it
	}
	if d.Base != nil && d.Source != v1alpha2.ConfigSourceEmbedded {
		h.Text(d.Base.Hash()) // an embedded base is part of the build: a newer one alone must roll nothing
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
		h.Text(string(in.Override.Content))
	}
	if legacy := &in.Legacy; legacy.FromV1alpha1 || legacy.ContainerName != "" {
		h.Text("legacy")
		h.Text(legacy.ContainerName)
		h.Text(strconv.FormatBool(legacy.FromV1alpha1))
	}
	if in.ClusterAssignsUserIDs {
		h.Text("the cluster assigns user ids")
	}
	return h.Sum()
}

// packages are what is known of the packages of external providers, by image.
func (in *Inputs) packages() map[string]*parse.ProviderPackage {
	known := map[string]*parse.ProviderPackage{}
	for image, found := range in.Packages {
		if found.Package != nil {
			known[image] = found.Package
		}
	}
	return known
}
