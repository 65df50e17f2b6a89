// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
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
	// KeyFeatureFlags is the key of a YAML map from the name of a flag to {enabled: true or false}, as release 0.9 writes
	// it.
	KeyFeatureFlags = "featureFlags"
)

// Keys returns the keys of the operator's ConfigMap that Parse reads.
func Keys() []string {
	return []string{KeyDistributions, KeyImageOverrides, KeyFeatureFlags, KeyForbid, KeyEdge, KeyRegistries,
		KeyPodDefaults, KeyEndpointFrom}
}

// entry is a distribution as known to the operator, from either source.
type entry struct {
	name          string
	image         string
	serverVersion string // empty: the image decides
	lineSource    string
	imageSource   string
	origin        origin
	embedded      string             // the name of the embedded base configuration
	foreignImage  bool               // the image runs another configuration where it is given none
	labelsKnown   bool               // what the labels of the image say is known
	repositories  []string           // those whose images are this distribution
	note          string             // why the release is not the newest one
	newer         string             // the newest release line, where a server keeps an older one
	base          *serverconfig.Base // the registered base configuration
	configMap     string             // the ConfigMap of its own that registers it; empty where none does
	err           error              // what is wrong with the entry
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
	// EndpointFrom says which objects custom resources may take endpoints from.
	EndpointFrom EndpointFrom

	entries    map[string]entry // by name
	images     []entry          // what images stand for, the first that fits: registered ones by name, then built-in ones
	unreadable []unreadable
	problems   []Problem // those of no entry
}

// Problem is something wrong with the settings that harms only who uses it.
type Problem struct {
	// ConfigMap is the name of the ConfigMap that has it.
	ConfigMap string
	// Err says where and what. It has no value but names and images.
	Err error
	// Warning is true where nothing fails for it.
	Warning bool
}

// Parse reads the data of the operator's ConfigMap, nil for an absent one, and adds the distributions that ConfigMaps
// of their own register, which come first. The error names the key. An entry that is wrong in itself is not an error:
// it is a fault of the resources that use it. Neither is a key with entries that cannot be told apart: it is a fault of
// the names that the key may be about.
func Parse(data map[string]string, own ...*Registered) (*Settings, error) {
	s := &Settings{entries: map[string]entry{}}
	s.addBuiltIn()
	s.addKeys(data)
	s.addRegistered(own)
	s.addImages()
	if err := s.parseForAll(data); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Settings) addBuiltIn() {
	for _, d := range distributions.All() {
		e := entry{
			name: d.Name, image: d.Image(d.Newest().Version), embedded: d.Base, foreignImage: !d.ImageHasConfig,
			labelsKnown: true,
			origin:      builtIn, lineSource: listOfDistributions, imageSource: listOfDistributions,
		}
		for _, images := range d.Images {
			e.repositories = append(e.repositories, repository(images))
		}
		s.entries[d.Name] = e
		s.images = append(s.images, e)
	}
}

// addKeys adds the entries of the keys that have one for each distribution.
func (s *Settings) addKeys(data map[string]string) {
	for _, key := range []struct {
		name   string
		origin origin
		read   func(s *Settings, name string, raw []byte) entry
	}{
		{KeyImageOverrides, overridden, (*Settings).override},
		{KeyDistributions, registered, (*Settings).register},
	} {
		err := checkSize(data[key.name])
		var raw map[string]yamlMessage
		var broken map[string]error
		if err == nil {
			raw, broken, err = readEntries(data[key.name])
		}
		if err != nil {
			u := newUnreadable(key.name, data[key.name], err)
			s.unreadable = append(s.unreadable, u)
			s.problems = append(s.problems, Problem{ConfigMap: ConfigMapName, Err: u.err})
			continue
		}
		for name, value := range raw {
			e := key.read(s, name, value)
			if e.err != nil {
				e.err = fmt.Errorf("%s/%s[%s]: %w", ConfigMapName, key.name, name, e.err)
			}
			s.entries[name] = e
		}
		for name, err := range broken {
			s.entries[name] = entry{name: name, origin: key.origin,
				err: fmt.Errorf("%s/%s[%s]: %w", ConfigMapName, key.name, name, err)}
		}
	}
}

func checkSize(text string) error {
	if excess := limits.ScanYAML([]byte(text), limits.Limits{Bytes: len(text),
		Nodes: limits.DocumentNodes}); excess != nil {
		return excess
	}
	return nil
}

// parseForAll reads the keys that are about all custom resources: a wrong one is a fault of all.
func (s *Settings) parseForAll(data map[string]string) error {
	for _, key := range []string{KeyFeatureFlags, KeyForbid, KeyEdge, KeyRegistries, KeyPodDefaults, KeyEndpointFrom} {
		if err := checkSize(data[key]); err != nil {
			return fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, key, err)
		}
	}
	var flags struct {
		EnableNetworkPolicy struct {
			Enabled *bool `json:"enabled"`
		} `json:"enableNetworkPolicy"`
	}
	if err := yaml.Unmarshal([]byte(data[KeyFeatureFlags]), &flags); err != nil {
		return fmt.Errorf("ConfigMap %s, key %s: not a YAML map such as enableNetworkPolicy: {enabled: true}: %w",
			ConfigMapName, KeyFeatureFlags, err)
	}
	s.NetworkPolicy = flags.EnableNetworkPolicy.Enabled
	var err error
	if s.Forbidden, err = parseForbid(data[KeyForbid]); err != nil {
		return err
	}
	if s.Registries, err = parseRegistries(data[KeyRegistries]); err != nil {
		return err
	}
	if s.EndpointFrom, err = parseEndpointFrom(data[KeyEndpointFrom]); err != nil {
		return err
	}
	s.Edge = parseEdge(data[KeyEdge])
	s.PodDefaults, err = parsePodDefaults(data[KeyPodDefaults])
	return err
}

// addImages puts the images of registered entries, by name, before those of what is built in. An entry that is wrong
// keeps its image: a resource that names it must not go on with another configuration.
func (s *Settings) addImages() {
	var right, wrong, others []entry
	for _, name := range s.Names() {
		switch e := s.entries[name]; {
		case e.origin != registered || e.image == "":
		case e.err == nil:
			e.repositories = []string{repository(e.image)}
			right = append(right, e)
		default:
			e.repositories = []string{repository(e.image)}
			wrong = append(wrong, e)
		}
	}
	for _, e := range s.images {
		if by := s.entries[e.name]; by.origin == registered && by.err != nil {
			e.err, e.configMap = by.err, by.configMap
		}
		others = append(others, e)
	}
	s.images = slices.Concat(right, wrong, others)
}

// defaultRegistries are other names of the default registry, from which images can be pulled too.
var defaultRegistries = []string{"registry-1.docker.io", "registry.hub.docker.com"}

// repository is the repository of an image reference in its full form, without tag and digest; empty where it is not a
// reference.
func repository(image string) string {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return ""
	}
	if of := ref.Context(); slices.Contains(defaultRegistries, of.RegistryStr()) {
		return reference.DefaultRegistry + "/" + of.RepositoryStr()
	}
	return ref.Context().Name()
}

// listOfDistributions is where the images and releases of built-in distributions come from.
const listOfDistributions = "the operator's list of distributions"

func keySource(key string) string { return "ConfigMap " + ConfigMapName + ", key " + key }

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

// Problems returns what is wrong with entries that harm only those who use them, by name, and then what else is.
func (s *Settings) Problems() []Problem {
	var list []Problem
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		if e := s.entries[name]; e.err != nil {
			list = append(list, Problem{ConfigMap: e.source(), Err: e.err})
		}
	}
	others := slices.Clone(s.problems)
	slices.SortStableFunc(others, func(a, b Problem) int { return strings.Compare(a.Err.Error(), b.Err.Error()) })
	list = append(list, others...)
	if s.Edge.Err != nil {
		list = append(list, Problem{ConfigMap: ConfigMapName, Err: s.Edge.Err})
	}
	return list
}

// source is the name of the ConfigMap that an entry comes from, unless it is built in.
func (e *entry) source() string { return cmp.Or(e.configMap, ConfigMapName) }

// Names are the known names of distributions, sorted.
func (s *Settings) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.entries)), func(name string) bool { return name == "" })
}
