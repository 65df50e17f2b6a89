// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// overlay is the hand-written part of the catalog; internal/serverconfig/catalog/overlay.yaml describes its keys.
type overlay struct {
	APIs       map[string]struct{ Instead string }  `yaml:"apis"`
	ToolGroups map[string]string                    `yaml:"toolGroups"`
	Lists      map[string]map[string]any            `yaml:"lists"`
	Backends   map[string]map[string]any            `yaml:"backends"`
	Auth       map[string]map[string]any            `yaml:"auth"`
	Providers  map[string]map[string]map[string]any `yaml:"providers"`
}

// row is the hand-written part of a provider in one release line.
type row struct {
	Source            string            `yaml:"source"`
	Endpoint          *catalog.Endpoint `yaml:"endpoint"`
	Key               string            `yaml:"key"`
	Region            string            `yaml:"region"`
	DeploymentName    string            `yaml:"deploymentName"`
	DeploymentIsModel bool              `yaml:"deploymentIsModel"`
	ToolGroup         string            `yaml:"toolGroup"`
	DataPath          string            `yaml:"dataPath"`
	Requires          []string          `yaml:"requires"`
	Instead           map[string]string `yaml:"instead"`
	Example           map[string]any    `yaml:"example"`
	Environment       map[string]string `yaml:"environment"`
}

// backendRow is the hand-written part of a storage backend in one release line.
type backendRow struct {
	Source      string                 `yaml:"source"`
	Credentials catalog.CredentialForm `yaml:"credentials"`
	Echoed      bool                   `yaml:"echoed"`
	Instead     map[string]string      `yaml:"instead"`
	Environment map[string]string      `yaml:"environment"`
}

// authRow is the hand-written part of an authentication type in one release line.
type authRow struct {
	Source    string           `yaml:"source"`
	Short     string           `yaml:"short"`
	OneOf     []string         `yaml:"oneOf"`
	Secrets   []string         `yaml:"secrets"`
	Tenant    string           `yaml:"tenant"`
	InCluster map[string]any   `yaml:"inCluster"`
	Networks  []string         `yaml:"networks"`
	Advice    []catalog.Advice `yaml:"advice"`
	Example   map[string]any   `yaml:"example"`
}

// listRow is the path at which a server lists registered resources, in one release line.
type listRow struct {
	Source string `yaml:"source"`
	Path   string `yaml:"path"`
}

func readOverlay(file string) (*overlay, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	over := &overlay{}
	if err := strictDecode(data, over); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return over, nil
}

func strictDecode(data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// row returns the hand-written part of a provider for a release, and whether the overlay has one.
func (o *overlay) row(release, api, providerType string) (*row, bool, error) {
	raw, ok := o.Providers[api][providerType]
	if !ok {
		return nil, false, nil
	}
	merged := &row{}
	if err := decodeForRelease(release, raw, merged); err != nil {
		return nil, false, fmt.Errorf("overlay: %s %s: %w", api, providerType, err)
	}
	if merged.Source == "" {
		return nil, false, fmt.Errorf("overlay: %s %s has no source", api, providerType)
	}
	return merged, true, nil
}

// backend returns the hand-written part of a storage backend for a release, empty if the overlay has none.
func (o *overlay) backend(release, kind string) (*backendRow, error) {
	merged := &backendRow{}
	raw, ok := o.Backends[kind]
	if !ok {
		return merged, nil
	}
	if err := decodeForRelease(release, raw, merged); err != nil {
		return nil, fmt.Errorf("overlay: backend %s: %w", kind, err)
	}
	if merged.Source == "" {
		return nil, fmt.Errorf("overlay: backend %s has no source", kind)
	}
	return merged, nil
}

// lists returns the paths of the lists that a server of a release has.
func (o *overlay) lists(release string) (map[string]string, error) {
	paths := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(o.Lists)) {
		merged := &listRow{}
		if err := decodeForRelease(release, o.Lists[name], merged); err != nil {
			return nil, fmt.Errorf("overlay: list %s: %w", name, err)
		}
		if merged.Source == "" {
			return nil, fmt.Errorf("overlay: list %s has no source", name)
		}
		if merged.Path != "" {
			paths[name] = merged.Path
		}
	}
	return paths, nil
}

// auth returns the hand-written part of an authentication type for a release.
func (o *overlay) auth(release, authType string) (*authRow, error) {
	raw, ok := o.Auth[authType]
	if !ok {
		return nil, fmt.Errorf("overlay.yaml has no row for the authentication %s: add one", authType)
	}
	merged := &authRow{}
	if err := decodeForRelease(release, raw, merged); err != nil {
		return nil, fmt.Errorf("overlay: auth %s: %w", authType, err)
	}
	if merged.Source == "" {
		return nil, fmt.Errorf("overlay: auth %s has no source", authType)
	}
	return merged, nil
}

// decodeForRelease decodes a hand-written row with the changes that apply to the release.
func decodeForRelease(release string, raw map[string]any, into any) error {
	keys := maps.Clone(raw)
	delete(keys, "changes")
	changes, _ := raw["changes"].([]any)
	for _, entry := range changes {
		change, _ := entry.(map[string]any)
		lines, _ := change["lines"].(string)
		applies, err := covers(lines, release)
		if err != nil {
			return err
		}
		if !applies {
			continue
		}
		maps.Copy(keys, change)
		delete(keys, "lines")
	}
	data, err := yaml.Marshal(keys)
	if err != nil {
		return err
	}
	return strictDecode(data, into)
}

// covers reports whether a range such as "0.3", "-0.5", "1.1-", "0.4-0.7" or "1.4.1-" contains a release.
func covers(lines, release string) (bool, error) {
	from, to, isRange := strings.Cut(lines, "-")
	if !isRange {
		to = from
	}
	if lines == "" || lines == "-" {
		return false, fmt.Errorf("%q is not a range of release lines", lines)
	}
	return (from == "" || compareBound(release, from) >= 0) && (to == "" || compareBound(release, to) <= 0), nil
}

// compareBound compares a release with the bound of a range; a release line as a bound means each of its releases.
func compareBound(release, bound string) int {
	parts := strings.Split(release, ".")
	return catalog.Compare(strings.Join(parts[:min(len(parts), strings.Count(bound, ".")+1)], "."), bound)
}

// checkUnused returns an error for rows of types that no release line has.
func (o *overlay) checkUnused(lines []*catalog.Line) error {
	for _, kind := range slices.Sorted(maps.Keys(o.Backends)) {
		if !slices.ContainsFunc(lines, func(line *catalog.Line) bool {
			_, ok := line.Backends[kind]
			return ok
		}) {
			return fmt.Errorf("overlay: no release line has the backend %s", kind)
		}
	}
	for _, authType := range slices.Sorted(maps.Keys(o.Auth)) {
		if !slices.ContainsFunc(lines, func(line *catalog.Line) bool {
			_, ok := line.AuthType(authType)
			return ok
		}) {
			return fmt.Errorf("overlay: no release line has the authentication %s", authType)
		}
	}
	for _, api := range slices.Sorted(maps.Keys(o.Providers)) {
		for _, providerType := range slices.Sorted(maps.Keys(o.Providers[api])) {
			if !slices.ContainsFunc(lines, func(line *catalog.Line) bool {
				_, ok := line.Provider(api, providerType)
				return ok
			}) {
				return fmt.Errorf("overlay: no release line has the type %s of API %s", providerType, api)
			}
		}
	}
	return nil
}
