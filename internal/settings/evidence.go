// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

type evidence struct{ version, source string }

// NeedsPackage reports whether the server's Python package can change the result: the release is not known otherwise,
// and a base configuration exists.
func (d *Distribution) NeedsPackage() bool {
	return d.assumed && (d.Base != nil || len(EmbeddedLines(d.Embedded)) > 0)
}

func packageEvidence(p *oci.Package) evidence {
	if p == nil {
		return evidence{}
	}
	return evidence{p.Version, "package " + p.Name + " in the image"}
}

// reportedByServer is the LineSource of a version reported by the running server.
const reportedByServer = "version that the running server reports"

// ReportedLine returns the release line and LineSource of a version that a server reports; empty if the version is of
// an unknown release line.
func ReportedLine(version string) (line, source string) {
	known, _ := catalog.ForVersion(version)
	if known == nil {
		return "", ""
	}
	return known.Name, reportedByServer
}

// IsReported reports whether the release line in the status comes from the running server.
func IsReported(r *v1alpha2.ResolvedDistributionStatus) bool {
	return r != nil && strings.HasPrefix(r.ServerLineSource, reportedByServer)
}

// statusEvidence returns the version that the server reported with this image.
func statusEvidence(s *v1alpha2.LlamaStackDistributionStatus, image string) evidence {
	if s == nil || !IsReported(s.ResolvedDistribution) || s.ResolvedDistribution.Image != image {
		return evidence{}
	}
	return evidence{ptr.Deref(s.Version, v1alpha2.VersionInfo{}).LlamaStackServerVersion, reportedByServer}
}

// setLine sets the release line from the first clue that is a version, even of an unknown release line. Without one, it
// uses the config schema of the base configuration.
func (d *Distribution) setLine(e *entry, version string, hints Hints, labels *oci.Labels) {
	all := []evidence{
		{hints.Version, hints.VersionSource},
		{e.serverVersion, e.lineSource},
		{version, pathVersion},
		{labels.Version, "label " + labels.VersionLabel + " of the image"},
		{tagOf(e, hints), "tag of the image"},
		packageEvidence(hints.Package),
	}
	fromImage := len(all)
	all = append(all, statusEvidence(hints.Status, d.Image))
	for i, c := range all {
		d.assumed = i >= fromImage
		line, standing := catalog.ForVersion(c.version)
		if standing == catalog.NoVersion {
			continue
		}
		d.Line, d.Standing, d.Release, d.LineSource = line, standing, c.version, c.source
		if standing == catalog.Newer {
			d.LineSource += fmt.Sprintf(": release %s, which this operator does not know", c.version)
		}
		return
	}
	d.assumed = true
	if d.Base == nil {
		return
	}
	if d.Candidates = release.Lines(d.Base); len(d.Candidates) == 1 {
		d.Line, _ = catalog.Get(d.Candidates[0])
		d.LineSource, d.Candidates = "config schema of the base configuration", nil
	}
}

// tagOf returns the tag of the image. If the settings do not know the name, tags of unknown releases are ignored,
// because products use their own versions.
func tagOf(e *entry, hints Hints) string {
	tag := ImageTag(e.image)
	if _, match := catalog.ForVersion(tag); hints.Image != "" && match == catalog.Newer {
		return ""
	}
	return tag
}
