// SPDX-License-Identifier: Apache-2.0

package distributions

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Distribution is a distribution that the operator knows by name.
type Distribution struct {
	// Name is the name in spec.distribution.name.
	Name string `json:"name"`
	// Repository is the repository of the images that run.
	Repository string `json:"repository"`
	// Images are the repositories whose images are this distribution.
	Images []string `json:"images"`
	// Base is the name of the base configurations: Base(Base, line) has one.
	Base string `json:"base"`
	// ImageHasConfig reports that the image runs this configuration by itself where it is given none.
	ImageHasConfig bool `json:"imageHasConfig"`
	// Note reports where the image comes from and why this one, with this configuration.
	Note string `json:"note"`
	// Releases are the releases that the name can stand for, one for each release line, the newest first.
	Releases []Release `json:"releases"`
}

// Release is a release of a distribution.
type Release struct {
	// Line is the release line, a name of package catalog.
	Line string `json:"line"`
	// Version is the version of the server in the image, and its tag.
	Version string `json:"version"`
	// Published reports that the image is known to be published.
	Published bool `json:"published"`
	// Source reports where Published comes from.
	Source string `json:"source"`
	// OnlyByVersion reports that the release is never chosen for a name without a version.
	OnlyByVersion bool `json:"onlyByVersion"`
}

// Image is the image of a version.
func (d *Distribution) Image(version string) string { return d.Repository + ":" + version }

// Newest returns the newest release that a name without a version can stand for.
func (d *Distribution) Newest() Release {
	return d.Releases[slices.IndexFunc(d.Releases, func(r Release) bool { return !r.OnlyByVersion })]
}

// OfLine returns the release of a release line; false where the distribution has none.
func (d *Distribution) OfLine(line string) (Release, bool) {
	at := slices.IndexFunc(d.Releases, func(r Release) bool { return r.Line == line })
	if at < 0 {
		return Release{}, false
	}
	return d.Releases[at], true
}

//go:embed distributions.json */*.yaml
var files embed.FS

// table is the content of distributions.json.
type table struct {
	// Removed are the organizations of registries that were removed: nothing can be pulled from there, nor pushed.
	Removed []string `json:"removed"`
	// Distributions are the known distributions.
	Distributions []Distribution `json:"distributions"`
}

// read reads the embedded table once. It is part of the program and covered by its tests: a fault is a bug.
var read = sync.OnceValue(func() *table {
	data, err := files.ReadFile("distributions.json")
	if err != nil {
		panic(fmt.Sprintf("distributions: %v", err))
	}
	content := &table{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(content); err != nil {
		panic(fmt.Sprintf("distributions: distributions.json: %v", err))
	}
	return content
})

// All returns the known distributions in the order of the table. The slice is the caller's own.
func All() []Distribution { return slices.Clone(read().Distributions) }

// Get returns the distribution of that name.
func Get(name string) (Distribution, bool) {
	at := slices.IndexFunc(read().Distributions, func(d Distribution) bool { return d.Name == name })
	if at < 0 {
		return Distribution{}, false
	}
	return read().Distributions[at], true
}

// Removed returns the organizations of registries that were removed, such as "docker.io/llamastack": nothing can be
// pulled from there any more.
func Removed() []string { return slices.Clone(read().Removed) }

// Base returns the base configuration of that name for a release line such as "0.7".
func Base(name, line string) ([]byte, bool) {
	data, err := files.ReadFile(name + "/" + line + ".yaml")
	return data, err == nil
}
