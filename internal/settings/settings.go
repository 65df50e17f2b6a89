// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

const (
	// ConfigMapName is the name of the operator's ConfigMap, in the operator's namespace.
	ConfigMapName = "llama-stack-operator-config"
	// KeyImageOverrides is the key of a YAML map from distribution name to image.
	KeyImageOverrides = "image-overrides"
	// KeyDistributions is the key of a YAML map from distribution name to Registration.
	KeyDistributions = "distributions"
)

// Registration is an entry of KeyDistributions: a distribution of the platform team's own.
type Registration struct {
	// Image is the container image.
	Image string `json:"image"`
	// ServerVersion is the release of the server in the image, such as "0.7.1"; where it is absent the image's tag
	// tells it.
	ServerVersion string `json:"serverVersion,omitempty"`
	// Config is the base configuration; where it is absent the embedded one of the same name and release line serves.
	Config string `json:"config,omitempty"`
}

var distributionName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)

// entry is a distribution as known to the operator, from either source.
type entry struct {
	name          string
	image         string
	serverVersion string
	lineSource    string
	source        string // where the entry stands, for messages
	registered    bool
	base          *config.Base
	baseErr       error
}

// Settings are the operator's settings, parsed.
type Settings struct {
	entries map[string]entry
}

// Parse reads the data of the operator's ConfigMap; nil stands for an absent ConfigMap. The error names the key.
func Parse(data map[string]string) (*Settings, error) {
	s := &Settings{entries: map[string]entry{}}
	for _, d := range configs.Distributions() {
		s.entries[d.Name] = entry{
			name: d.Name, image: d.Image, serverVersion: d.ServerVersion,
			lineSource: "the operator's list of distributions", source: "built in",
		}
	}
	var overrides map[string]string
	if err := yaml.UnmarshalStrict([]byte(data[KeyImageOverrides]), &overrides); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML map from name to image: %w", ConfigMapName, KeyImageOverrides, err)
	}
	for name, image := range overrides {
		e := s.entries[name]
		e.name, e.image, e.source = name, image, ConfigMapName+"/"+KeyImageOverrides
		if _, ok := catalog.ForVersion(imageTag(image)); ok {
			e.serverVersion = "" // the tag tells better than what the operator was built with
		}
		s.entries[name] = e
	}
	var registrations map[string]yamlMessage
	if err := yaml.UnmarshalStrict([]byte(data[KeyDistributions]), &registrations); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML map from name to distribution: %w", ConfigMapName, KeyDistributions, err)
	}
	for name, raw := range registrations {
		s.entries[name] = register(name, raw)
	}
	return s, nil
}

// yamlMessage is a value whose reading is put off, so that a wrong entry harms nobody but its users.
type yamlMessage []byte

// UnmarshalJSON keeps the bytes.
func (m *yamlMessage) UnmarshalJSON(b []byte) error {
	*m = slices.Clone(b)
	return nil
}

func register(name string, raw yamlMessage) entry {
	e := entry{name: name, registered: true, source: ConfigMapName + "/" + KeyDistributions + "[" + name + "]"}
	if !distributionName.MatchString(name) {
		e.baseErr = fmt.Errorf("%s: a name consists of lower-case letters, digits, '.', '_' and '-': it names a directory", e.source)
		return e
	}
	var r Registration
	if err := yaml.UnmarshalStrict(raw, &r); err != nil {
		e.baseErr = fmt.Errorf("%s: %w", e.source, err)
		return e
	}
	e.image, e.serverVersion = r.Image, r.ServerVersion
	if e.serverVersion != "" {
		e.lineSource = "serverVersion in " + e.source
	}
	if r.Image == "" {
		e.baseErr = fmt.Errorf("%s: image is missing: name the container image of the distribution", e.source)
		return e
	}
	if r.Config != "" {
		if e.base, e.baseErr = config.ParseBase(name, []byte(r.Config)); e.baseErr != nil {
			e.baseErr = fmt.Errorf("%s: config: %w", e.source, e.baseErr)
		}
	}
	return e
}

// Images returns the known distributions and their images.
func (s *Settings) Images() map[string]string {
	images := make(map[string]string, len(s.entries))
	for name, e := range s.entries {
		images[name] = e.image
	}
	return images
}

func (s *Settings) names() []string { return slices.Sorted(maps.Keys(s.entries)) }
