// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/oci"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// clue is a version of the server, and where it stands.
type clue struct{ version, source string }

// PackageCounts reports whether the server's Python package in the image can change what is generated: not where the settings, the labels, the tag or
// the caller name the release, nor where no release line has a base configuration for the image.
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

// ReportedLine returns the release line of the version that a running server reports, and the source of it for the status; empty where the version
// is of no known release line, nor of a newer one.
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
