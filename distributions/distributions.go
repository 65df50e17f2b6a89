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
	// Image is the image that the name stands for, pinned to a release.
	Image string `json:"image"`
	// ServerVersion is the version of the server in the image.
	ServerVersion string `json:"serverVersion"`
	// Line is the release line of that version, a name of package catalog.
	Line string `json:"line"`
	// Base is the name of the base configuration: Base(Base, Line) has it.
	Base string `json:"base"`
	// ImageHasConfig reports that the image runs this configuration by itself where it is given none.
	ImageHasConfig bool `json:"imageHasConfig"`
	// Note reports where the image comes from and why this one, with this configuration.
	Note string `json:"note"`
}

//go:embed distributions.json */*.yaml
var files embed.FS

// table reads the embedded table once. It is part of the program and covered by its tests: a fault is a bug.
var table = sync.OnceValue(func() []Distribution {
	data, err := files.ReadFile("distributions.json")
	if err != nil {
		panic(fmt.Sprintf("distributions: %v", err))
	}
	var content struct {
		Distributions []Distribution `json:"distributions"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&content); err != nil {
		panic(fmt.Sprintf("distributions: distributions.json: %v", err))
	}
	return content.Distributions
})

// All returns the known distributions in the order of the table. The slice is the caller's own.
func All() []Distribution { return slices.Clone(table()) }

// Base returns the base configuration of that name for a release line such as "0.7".
func Base(name, line string) ([]byte, bool) {
	data, err := files.ReadFile(name + "/" + line + ".yaml")
	return data, err == nil
}
