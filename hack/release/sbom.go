// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"time"
)

// spdx is an SPDX 2.3 document, as far as it is used here.
type spdx struct {
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
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	VersionInfo      string      `json:"versionInfo,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	CopyrightText    string      `json:"copyrightText"`
	Checksums        []sum       `json:"checksums,omitempty"`
	ExternalRefs     []reference `json:"externalRefs,omitempty"`
}

type sum struct {
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

// notInIdentifiers is what an SPDX identifier must not contain.
var notInIdentifiers = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// sbom writes which modules a program was built from. Go notes them in the program itself.
func (r *release) sbom(program, artifact string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	digest, err := checksum(program)
	if err != nil {
		return err
	}
	const none, root = "NOASSERTION", "SPDXRef-Program"
	document := spdx{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: artifact,
		DocumentNamespace: r.download + "/v" + r.version + "/" + artifact + "-" + digest[:16],
		CreationInfo:      creation{Created: r.time.Format(time.RFC3339), Creators: []string{"Tool: llama-stack-k8s-operator-release"}},
		Packages: []spdxPackage{{
			ID: root, Name: artifact, VersionInfo: r.version, DownloadLocation: none, LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0",
			CopyrightText: none, Checksums: []sum{{"SHA256", digest}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", root, "DESCRIBES"}},
	}
	modules := append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...)
	for _, m := range modules {
		for m.Replace != nil {
			m = m.Replace
		}
		id := "SPDXRef-" + notInIdentifiers.ReplaceAllString(m.Path+"-"+m.Version, "-")
		document.Packages = append(document.Packages, spdxPackage{
			ID: id, Name: m.Path, VersionInfo: m.Version, DownloadLocation: none, LicenseConcluded: none, LicenseDeclared: none, CopyrightText: none,
			ExternalRefs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
		})
		document.Relationships = append(document.Relationships, relationship{root, id, "DEPENDS_ON"})
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(artifact+".spdx.json"), append(text, '\n'), 0o644)
}
