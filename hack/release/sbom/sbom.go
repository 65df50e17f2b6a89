// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"time"
)

// document has the fields of an SPDX 2.3 document that are used here.
type document struct {
	Version           string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []spdxPackage  `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string         `json:"SPDXID"`
	Name             string         `json:"name"`
	VersionInfo      string         `json:"versionInfo,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	CopyrightText    string         `json:"copyrightText"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	ExternalRefs     []reference    `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Related string `json:"relatedSpdxElement"`
	Type    string `json:"relationshipType"`
}

// invalidIDChars matches characters that an SPDX identifier must not contain.
var invalidIDChars = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// Input describes the modules of a Go program, which Go records in the program itself.
type Input struct {
	// Program is the path of the program.
	Program string
	// Artifact names the file or image that contains it, and Version is the release.
	Artifact, Version string
	// Namespace is a URL of the release, the prefix of the document's URL.
	Namespace string
	// Created is the time of the release, not of the call.
	Created time.Time
}

// JSON returns the SPDX document.
func (o Input) JSON() ([]byte, error) {
	info, err := buildinfo.ReadFile(o.Program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Program, err)
	}
	content, err := os.ReadFile(o.Program)
	if err != nil {
		return nil, err
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	const none, root = "NOASSERTION", "SPDXRef-Program"
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: o.Artifact,
		DocumentNamespace: o.Namespace + "/" + o.Artifact + "-" + digest[:16],
		CreationInfo:      creation{Created: o.Created.Format(time.RFC3339), Creators: []string{"Tool: llama-stack-k8s-operator-release"}},
		Packages: []spdxPackage{{
			ID: root, Name: o.Artifact, VersionInfo: o.Version, DownloadLocation: none, LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0",
			CopyrightText: none, Checksums: []spdxChecksum{{"SHA256", digest}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", root, "DESCRIBES"}},
	}
	modules := append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...)
	for _, m := range modules {
		for m.Replace != nil {
			m = m.Replace
		}
		id := "SPDXRef-" + invalidIDChars.ReplaceAllString(m.Path+"-"+m.Version, "-")
		d.Packages = append(d.Packages, spdxPackage{
			ID: id, Name: m.Path, VersionInfo: m.Version, DownloadLocation: none, LicenseConcluded: none, LicenseDeclared: none, CopyrightText: none,
			ExternalRefs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
		})
		d.Relationships = append(d.Relationships, relationship{root, id, "DEPENDS_ON"})
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
