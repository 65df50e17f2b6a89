// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	reference "github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

const (
	// ConfigMapName is the name of the operator's ConfigMap, in the operator's namespace.
	ConfigMapName = "llama-stack-operator-config"
	// DefaultNamespace is the operator's namespace where it is installed as it comes.
	DefaultNamespace = "llama-stack-k8s-operator-system"
	// KeyImageOverrides is the key of a YAML map from distribution name to image.
	KeyImageOverrides = "image-overrides"
	// KeyDistributions is the key of a YAML map from distribution name to Registration.
	KeyDistributions = "distributions"
	// KeyFeatureFlags is the key of a YAML map from the name of a flag to {enabled: true or false}, as release 0.9 writes it.
	KeyFeatureFlags = "featureFlags"
)

// Keys returns the keys of the operator's ConfigMap that Parse reads.
func Keys() []string {
	return []string{KeyDistributions, KeyImageOverrides, KeyFeatureFlags, KeyForbid, KeyEdge, KeyRegistries, KeyPodDefaults}
}

// Registration is an entry of KeyDistributions: a distribution of the platform team's own.
type Registration struct {
	// Image is the container image.
	Image string `json:"image"`
	// ServerVersion is the release of the server in the image, such as "0.7.1"; where it is absent, the image's tag
	// has it.
	ServerVersion string `json:"serverVersion,omitempty"`
	// Config is the base configuration; where it is absent the embedded one of the same name and release line serves.
	Config string `json:"config,omitempty"`
}

var distributionName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)

// entry is a distribution as known to the operator, from either source.
type entry struct {
	name          string
	image         string
	serverVersion string // empty: the image decides
	likelyVersion string // where the image does not have it either
	lineSource    string
	imageSource   string
	origin        origin
	embedded      string       // the name of the embedded base configuration
	foreignImage  bool         // the image runs another configuration where it is given none
	otherImage    bool         // the image is another one of the same repository
	copied        bool         // the image is of a repository with the name of the built-in one's
	base          *config.Base // the registered base configuration
	err           error        // what is wrong with the entry
}

// origin is where an entry comes from.
type origin int

const (
	registered origin = iota
	overridden
	builtIn
)

// Settings are the operator's settings, parsed.
type Settings struct {
	// NetworkPolicy is the feature flag enableNetworkPolicy; nil where it is not set.
	NetworkPolicy *bool
	// Forbidden is what custom resources must not ask for, in the order of the setting.
	Forbidden []Restriction
	// Edge says how servers are exposed.
	Edge Edge
	// Registries says where images are, and how their labels are read.
	Registries Registries
	// PodDefaults are fields of spec.workload for all custom resources that do not set them; nil means none.
	PodDefaults *PodDefaults

	entries map[string]entry // by name
	images  []entry          // what images stand for, the first that fits: what is registered, by name, then what is built in
}

// Parse reads the data of the operator's ConfigMap; nil stands for an absent ConfigMap. The error names the key. An entry
// that is wrong in itself is not an error: it is a fault of the resources that use it.
func Parse(data map[string]string) (*Settings, error) {
	s := &Settings{entries: map[string]entry{}}
	for _, key := range Keys() {
		if excess := bounds.ScanYAML([]byte(data[key]), bounds.Limits{Bytes: len(data[key]), Nodes: bounds.DocumentNodes}); excess != nil {
			return nil, fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, key, excess)
		}
	}
	for _, d := range distributions.All() {
		s.entries[d.Name] = entry{
			name: d.Name, image: d.Image, serverVersion: d.ServerVersion, embedded: d.Base, foreignImage: !d.ImageHasConfig,
			origin: builtIn, lineSource: listOfDistributions, imageSource: listOfDistributions,
		}
		s.images = append(s.images, s.entries[d.Name])
	}
	for _, key := range []struct {
		name   string
		origin origin
		read   func(s *Settings, name string, raw []byte) entry
	}{
		{KeyImageOverrides, overridden, (*Settings).override},
		{KeyDistributions, registered, (*Settings).register},
	} {
		raw, broken, err := readEntries(data[key.name])
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML map with distribution names as keys: %w", ConfigMapName, key.name, err)
		}
		for name, value := range raw {
			e := key.read(s, name, value)
			if e.err != nil {
				e.err = fmt.Errorf("%s/%s[%s]: %w", ConfigMapName, key.name, name, e.err)
			}
			s.entries[name] = e
		}
		for name, err := range broken {
			s.entries[name] = entry{name: name, origin: key.origin, err: fmt.Errorf("%s/%s[%s]: %w", ConfigMapName, key.name, name, err)}
		}
	}
	s.images = slices.Concat(s.registeredImages(), slices.DeleteFunc(s.images, func(e entry) bool { return s.entries[e.name].origin == registered }))
	var flags struct {
		EnableNetworkPolicy struct {
			Enabled *bool `json:"enabled"`
		} `json:"enableNetworkPolicy"`
	}
	if err := yaml.Unmarshal([]byte(data[KeyFeatureFlags]), &flags); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML map such as enableNetworkPolicy: {enabled: true}: %w", ConfigMapName, KeyFeatureFlags, err)
	}
	s.NetworkPolicy = flags.EnableNetworkPolicy.Enabled
	var err error
	if s.Forbidden, err = parseForbid(data[KeyForbid]); err != nil {
		return nil, err
	}
	if s.Registries, err = parseRegistries(data[KeyRegistries]); err != nil {
		return nil, err
	}
	s.Edge = parseEdge(data[KeyEdge])
	if s.PodDefaults, err = parsePodDefaults(data[KeyPodDefaults]); err != nil {
		return nil, err
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

var (
	errNoImage  = errors.New("image is missing: name the container image of the distribution")
	errName     = errors.New("a name consists of lower-case letters, digits, '.', '_' and '-': it names a directory")
	errVersion  = errors.New("serverVersion: want the release of the server in the image, such as 0.7.1")
	errOverride = errors.New("want the image as text, such as registry.example.com/llama-stack:0.7.1")
)

// override reads an entry of KeyImageOverrides: another image for a known name, or an image for a new one.
func (s *Settings) override(name string, raw []byte) entry {
	e := s.entries[name]
	former := e.image
	e.name, e.origin, e.image, e.imageSource = name, overridden, "", keySource(KeyImageOverrides)
	if err := yaml.Unmarshal(raw, &e.image); err != nil || e.image == "" {
		e.err = errOverride
	}
	// A mirror of the built-in image needs the same configuration; any other image brings its own.
	e.copied = former != "" && path.Base(repository(e.image)) == path.Base(repository(former))
	e.foreignImage = e.foreignImage && e.copied
	// The image is more precise than what the operator was built with, even a release that no release line knows.
	e.serverVersion, e.likelyVersion = "", e.serverVersion
	e.checkName()
	return e
}

// register reads an entry of KeyDistributions.
func (s *Settings) register(name string, raw []byte) entry {
	e := entry{name: name, origin: registered, embedded: name, imageSource: keySource(KeyDistributions)}
	var r Registration
	if err := yaml.UnmarshalStrict(raw, &r); err != nil {
		e.err = err
		return e
	}
	e.image, e.serverVersion = r.Image, r.ServerVersion
	e.lineSource = fmt.Sprintf("serverVersion in %s/%s[%s]", ConfigMapName, KeyDistributions, name)
	_, standing := catalog.ForVersion(r.ServerVersion)
	switch {
	case r.Image == "":
		e.err = errNoImage
	case r.ServerVersion != "" && standing == catalog.NoVersion:
		e.err = errVersion
	case r.Config != "":
		if e.base, e.err = config.ParseBase(name, []byte(r.Config)); e.err != nil {
			e.err = fmt.Errorf("config: %w", e.err)
		}
	}
	e.checkName()
	return e
}

// registeredImages are the registered entries that are right, by name.
func (s *Settings) registeredImages() []entry {
	var list []entry
	for _, name := range s.names() {
		if e := s.entries[name]; e.origin == registered && e.err == nil {
			list = append(list, e)
		}
	}
	return list
}

// repository is the repository of an image reference in its full form, without tag and digest; empty where it is not a reference.
func repository(image string) string {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return ""
	}
	return ref.Context().Name()
}

// listOfDistributions is where the images and releases of built-in distributions come from.
const listOfDistributions = "the operator's list of distributions"

func keySource(key string) string { return "ConfigMap " + ConfigMapName + ", key " + key }

func (e *entry) checkName() {
	if e.err == nil && !distributionName.MatchString(e.name) {
		e.err = errName
	}
}

// Images returns the known distributions and their images; wrong entries are left out.
func (s *Settings) Images() map[string]string {
	images := make(map[string]string, len(s.entries))
	for name, e := range s.entries {
		if e.err == nil {
			images[name] = e.image
		}
	}
	return images
}

// Problems returns what is wrong with entries that harm only those who use them, by name.
func (s *Settings) Problems() []error {
	var list []error
	for _, name := range s.names() {
		if err := s.entries[name].err; err != nil {
			list = append(list, err)
		}
	}
	if s.Edge.Err != nil {
		list = append(list, s.Edge.Err)
	}
	return list
}

func (s *Settings) names() []string { return slices.Sorted(maps.Keys(s.entries)) }
