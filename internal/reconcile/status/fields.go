// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Status is the status of a custom resource.
type Status = v1alpha2.LlamaStackDistributionStatus

// Sources of the image's digest.
const (
	digestOfNode     = "node"
	digestOfRegistry = "registry"
)

// setResolvedDistribution reports the running distribution; a failing edit does not change it.
func setResolvedDistribution(f *Facts, s *Status) {
	if f.isRolledBack() {
		s.ResolvedDistribution = formerDistribution(f, s.ResolvedDistribution)
		return
	}
	if !f.isApplied() {
		return
	}
	d := f.Distribution
	if last := s.ResolvedDistribution; f.Desired.IsHeld() && last != nil && last.Image != d.Image {
		kept := *last // this build's patch release applies with the next edit
		kept.NewerServerLine = d.Newer
		s.ResolvedDistribution = &kept
		return
	}
	r := &v1alpha2.ResolvedDistributionStatus{
		Name: d.Name, NameSource: d.NameSource, Image: d.Image, ImageSource: d.ImageSource,
		ConfigSource:    v1alpha2.ConfigSourceImage,
		NewerServerLine: d.Newer,
	}
	r.ServerLine, r.ServerLineSource = serverLine(f, s.ResolvedDistribution)
	switch {
	case f.Desired.Override != nil:
		sum := sha256.Sum256(f.Desired.OverrideContent)
		r.ConfigSource, r.ConfigHash = v1alpha2.ConfigSourceOverride, "sha256:"+hex.EncodeToString(sum[:])
	case f.Desired.Config != nil:
		r.ConfigSource, r.ConfigHash = d.Source, d.Base.Hash()
	}
	// Keep the digest of the same image while pods are not ready.
	if last := s.ResolvedDistribution; last != nil && last.Image == r.Image && last.ImageDigestSource != digestOfRegistry {
		r.ImageDigest, r.ImageDigestSource = last.ImageDigest, last.ImageDigestSource
	}
	if r.ImageDigest == "" && d.Digest != "" {
		r.ImageDigest, r.ImageDigestSource = d.Digest, digestOfRegistry
	}
	if f.Pods.ImageDigest != "" && RolledOut(f.Deployment) {
		r.ImageDigest, r.ImageDigestSource = f.Pods.ImageDigest, digestOfNode
	}
	s.ResolvedDistribution = r
}

// formerDistribution returns the distribution of the former pod template after a rollback.
func formerDistribution(f *Facts, last *v1alpha2.ResolvedDistributionStatus) *v1alpha2.ResolvedDistributionStatus {
	containers := f.Deployment.Spec.Template.Spec.Containers
	if last == nil || len(containers) == 0 {
		return last
	}
	former := *last
	if image := containers[0].Image; image != former.Image {
		former.Image, former.ImageDigest, former.ImageDigestSource = image, "", ""
	}
	if line := f.Deployment.Annotations[names.AnnotationServerLine]; line != "" {
		former.ServerLine = line
	}
	if f.Pods.ImageDigest != "" && RolledOut(f.Deployment) {
		former.ImageDigest, former.ImageDigestSource = f.Pods.ImageDigest, digestOfNode
	}
	return &former
}

// serverLine returns the running server's release line and its source; a server's last report about the image counts.
func serverLine(f *Facts, last *v1alpha2.ResolvedDistributionStatus) (line, source string) {
	d := f.Distribution
	if d.Line != nil {
		line, source = d.Line.Name, d.LineSource
	}
	known := &v1alpha2.ResolvedDistributionStatus{ServerLine: line, ServerLineSource: source}
	if line != "" && !settings.IsReported(known) {
		return line, source
	}
	if f.Server != nil {
		if reported, by := settings.ReportedLine(f.Server.Version); reported != "" {
			return reported, by
		}
	}
	if line == "" && settings.IsReported(last) && last.Image == d.Image {
		return last.ServerLine, last.ServerLineSource
	}
	return line, source
}

// setConfigGeneration reports the running configuration; a failing edit does not change it.
func setConfigGeneration(f *Facts, s *Status) {
	if f.isRolledBack() && s.ConfigGeneration != nil {
		s.ConfigGeneration.ConfigMapName = objects.MountedConfigMap(&f.Deployment.Spec.Template.Spec)
	}
	if !f.isApplied() || f.Desired.IsHeld() {
		return
	}
	g := &v1alpha2.ConfigGenerationStatus{ConfigMapName: f.Desired.ConfigMapName, GeneratedAt: new(metav1.NewTime(f.Now))}
	switch c := f.Desired.Config; {
	case f.Desired.Override != nil:
		g.ConfigVersion = f.Desired.Override.Version
	case c == nil:
		s.ConfigGeneration = nil
		return
	default:
		g.ProviderCount, g.ResourceCount, g.ConfigVersion = c.ProviderCount, c.ResourceCount, c.Version
	}
	if last := s.ConfigGeneration; last != nil && last.ConfigMapName == g.ConfigMapName {
		g.GeneratedAt = last.GeneratedAt
	}
	s.ConfigGeneration = g
}

func setDistributionConfig(f *Facts, s *Status) {
	d := ptr.Deref(s.DistributionConfig, v1alpha2.DistributionConfig{})
	if f.isApplied() {
		d.ActiveDistribution = f.Distribution.Name
		if d.ActiveDistribution == "" {
			d.ActiveDistribution = f.Distribution.Image
		}
	}
	if f.Images != nil {
		d.AvailableDistributions = truncateDistributions(f.Images)
	}
	held := f.Desired != nil && f.Desired.IsHeld() // the running configuration is not this build's
	if f.Server != nil && (!held || len(d.Providers) == 0) {
		d.Providers = providers(f)
	}
	setRegistered(f, &d)
	s.DistributionConfig = &d
}

// providers returns the server's providers, those of the spec first, with the generated config instead of the server's,
// which may show secrets.
func providers(f *Facts) []v1alpha2.ProviderInfo {
	type key struct{ api, id string }
	own, rank, configMap := map[key][]byte{}, map[key]int{}, ""
	if f.Desired != nil && f.Desired.Config != nil {
		configMap = f.Desired.ConfigMapName
		for i, p := range f.Desired.Config.Providers {
			own[key{p.API, p.ID}], rank[key{p.API, p.ID}] = p.Config, i-len(f.Desired.Config.Providers)
		}
	}
	var list []v1alpha2.ProviderInfo
	for _, p := range f.Server.Providers {
		info := v1alpha2.ProviderInfo{API: p.API, ProviderID: p.ID, ProviderType: p.Type}
		switch config, generated := own[key{p.API, p.ID}]; {
		case !generated:
		case len(config) > maxProviderConfig:
			info.Config = omittedConfig(len(config), configMap)
		default:
			info.Config = &apiextensionsv1.JSON{Raw: slices.Clone(config)}
		}
		list = append(list, info)
	}
	slices.SortStableFunc(list, func(a, b v1alpha2.ProviderInfo) int {
		return cmp.Compare(rank[key{a.API, a.ProviderID}], rank[key{b.API, b.ProviderID}])
	})
	return list
}

func setVersion(f *Facts, s *Status) {
	v := v1alpha2.VersionInfo{OperatorVersion: f.OperatorVersion, LastUpdated: new(metav1.NewTime(f.Now))}
	last := ptr.Deref(s.Version, v1alpha2.VersionInfo{})
	v.LlamaStackServerVersion = last.LlamaStackServerVersion
	if f.Server != nil {
		v.LlamaStackServerVersion = f.Server.Version
	}
	if last.OperatorVersion == v.OperatorVersion && last.LlamaStackServerVersion == v.LlamaStackServerVersion {
		v.LastUpdated = last.LastUpdated
	}
	s.Version = &v
}

func setReplicas(f *Facts, s *Status) {
	s.Selector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: names.Selector(f.CR.Name)})
	if f.DeploymentUnknown {
		return
	}
	s.Replicas, s.AvailableReplicas = 0, 0
	if f.Deployment != nil {
		s.Replicas, s.AvailableReplicas = f.Deployment.Status.Replicas, f.Deployment.Status.AvailableReplicas
	}
}

// setServiceURL reports the running server's URL; a failing edit does not change it.
func setServiceURL(f *Facts, s *Status) {
	if f.isApplied() {
		s.ServiceURL = names.ServiceURL(f.Desired.Scheme(), f.CR.Name, f.CR.Namespace, objects.Port(&f.CR.Spec))
	}
}

// setRouteURL reports the public URL: nil if the server is not exposed, empty until the edge admits it.
func setRouteURL(f *Facts, s *Status) {
	if !f.isApplied() {
		return
	}
	s.RouteURL = nil
	if f.Desired.Expose.Enabled {
		s.RouteURL = &f.Exposure.URL
	}
}

// setPhase sets the phase of the running server; a failing edit changes conditions, not the phase.
func setPhase(f *Facts, s *Status) {
	available, desiresPods := isAvailable(f), f.Deployment != nil && ptr.Deref(f.Deployment.Spec.Replicas, 1) > 0
	switch {
	case f.DeploymentUnknown && s.Phase != "":
	case isPaused(f):
		s.Phase = v1alpha2.PhasePending
	case available || (f.Deployment != nil && !desiresPods && !f.Problems.Has(problem.Terminal)):
		s.Phase = v1alpha2.PhaseReady
	case f.Problems.Has(problem.Terminal) || IsStuck(f.Deployment):
		s.Phase = v1alpha2.PhaseFailed
	case f.Deployment != nil && desiresPods:
		s.Phase = v1alpha2.PhaseInitializing
	default:
		s.Phase = v1alpha2.PhasePending
	}
}

// setObservedGeneration reports that the spec was processed, unless an error is transient.
func setObservedGeneration(f *Facts, s *Status) {
	if !f.Problems.Has(problem.Transient) {
		s.ObservedGeneration = f.CR.Generation
	}
}
