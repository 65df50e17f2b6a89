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

// clue is a version of the server, and where it stands.
type clue struct{ version, source string }

// PackageCounts reports whether the server's Python package in the image can change what is generated: not where the
// settings, the labels, the tag or the caller name the release, nor where no release line has a base configuration for
// the image.
func (d *Distribution) PackageCounts() bool {
	return d.assumed && (d.Base != nil || len(EmbeddedLines(d.Embedded)) > 0)
}

func packageClue(p *oci.Package) clue {
	if p == nil {
		return clue{}
	}
	return clue{p.Version, "package " + p.Name + " in the image"}
}

// reportedByServer is the source of a release line that the running server reports.
const reportedByServer = "version that the running server reports"

// ReportedLine returns the release line of the version that a running server reports, and the source of it for the
// status; empty where the version is of no known release line, nor of a newer one.
func ReportedLine(version string) (line, source string) {
	known, _ := catalog.ForVersion(version)
	if known == nil {
		return "", ""
	}
	return known.Name, reportedByServer
}

// IsReported reports whether the release line in a status is what the running server reported.
func IsReported(r *v1alpha2.ResolvedDistributionStatus) bool {
	return r != nil && strings.HasPrefix(r.ServerLineSource, reportedByServer)
}

// statusClue is the version that the server reported when it ran the image.
func statusClue(s *v1alpha2.LlamaStackDistributionStatus, image string) clue {
	if s == nil || !IsReported(s.ResolvedDistribution) || s.ResolvedDistribution.Image != image {
		return clue{}
	}
	return clue{ptr.Deref(s.Version, v1alpha2.VersionInfo{}).LlamaStackServerVersion, reportedByServer}
}

// setLine finds the release line: by the caller's hints, by what the settings say, by the spec, by the labels, the tag
// and the Python packages of the image, by what the running server reported, and by the config schema of its own base
// configuration. What names no version is passed over; the first that names one decides, even where no release line
// knows it.
func (d *Distribution) setLine(e *entry, version string, hints Hints, labels *oci.Labels) {
	clues := []clue{
		{hints.Version, hints.VersionSource},
		{e.serverVersion, e.lineSource},
		{version, pathVersion},
		{labels.Version, "label " + labels.VersionLabel + " of the image"},
		{tagOf(e, hints), "tag of the image"},
		packageClue(hints.Package),
	}
	ofImage := len(clues)
	clues = append(clues, statusClue(hints.Status, d.Image))
	for i, c := range clues {
		d.assumed = i >= ofImage
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

// tagOf is the tag of the image. Products tag their images with versions of their own: under a name that the settings
// do not know, a tag of an unknown release says nothing.
func tagOf(e *entry, hints Hints) string {
	tag := ImageTag(e.image)
	if _, standing := catalog.ForVersion(tag); hints.Image != "" && standing == catalog.Newer {
		return ""
	}
	return tag
}
