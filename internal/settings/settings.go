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

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

const (
	// ConfigMapName is the name of the operator's ConfigMap.
	ConfigMapName = "llama-stack-operator-config"
	// DefaultNamespace is the default namespace of the operator.
	DefaultNamespace = "llama-stack-k8s-operator-system"
	// KeyImageOverrides is the key of a YAML map from distribution name to image.
	KeyImageOverrides = "image-overrides"
	// KeyDistributions is the key of a YAML map from distribution name to Registration.
	KeyDistributions = "distributions"
	// KeyFeatureFlags is the key of a YAML map from flag to {enabled: true or false}, as in release 0.9.
	KeyFeatureFlags = "featureFlags"
)

// Keys returns the keys that Parse reads.
func Keys() []string {
	return []string{KeyDistributions, KeyImageOverrides, KeyFeatureFlags, KeyForbid, KeyEdge, KeyRegistries,
		KeyPodDefaults, KeyEndpointFrom, KeyProxy, KeyTelemetry, KeyModelCache}
}

type entry struct {
	name          string
	image         string
	serverVersion string // empty: determined by the image
	lineSource    string
	imageSource   string
	origin        origin
	embedded      string             // name of the embedded base configuration
	foreignImage  bool               // the image's default configuration is another one
	labelsKnown   bool               // reading labels is unnecessary
	repositories  []string           // repositories of this distribution
	note          string             // why the release is not the newest one
	newer         string             // newest release line, if a server keeps an older one
	base          *serverconfig.Base // registered base configuration
	mountPath     string             // default of spec.workload.storage.mountPath; may be empty
	configMap     string             // ConfigMap that registers it; may be empty
	err           error              // why the entry is invalid
}

type origin int

const (
	registered origin = iota
	overridden
	builtIn
)

// Settings are the parsed settings of the operator.
type Settings struct {
	// NetworkPolicy is the feature flag enableNetworkPolicy; nil if unset.
	NetworkPolicy *bool
	// Forbidden are the forbidden features, in the order of the setting.
	Forbidden []Restriction
	// Edge configures how servers are exposed.
	Edge Edge
	// Registries configures mirrors and registry access.
	Registries Registries
	// PodDefaults are defaults for spec.workload; may be nil.
	PodDefaults *PodDefaults
	// EndpointFrom restricts endpointFrom references.
	EndpointFrom EndpointFrom
	// Telemetry is what servers with telemetry report.
	Telemetry Telemetry
	// Proxy is the proxy of all servers and of the operator's requests to registries; may be nil.
	Proxy *v1alpha2.ProxySpec
	// ModelCacheImage is the image of the model cache of all servers; may be empty.
	ModelCacheImage string

	entries    map[string]entry // by name
	images     []entry          // first match wins: registered by name, then built-in
	unreadable []unreadable
	problems   []Problem // not specific to an entry
}

// Problem is an error or warning that does not affect all custom resources.
type Problem struct {
	// ConfigMap is the name of the ConfigMap.
	ConfigMap string
	// Err is the error; it quotes only names and images.
	Err error
	// Warning reports that the problem prevents nothing.
	Warning bool
}

// Parse parses the operator's ConfigMap, nil if absent, and adds registered distributions. It fails only for keys that
// affect all custom resources; other errors are kept in Problems.
func Parse(data map[string]string, own ...*Registered) (*Settings, error) {
	s := &Settings{entries: map[string]entry{}}
	s.addBuiltIn()
	s.addKeys(data)
	s.addRegistered(own)
	s.addImages()
	if err := s.parseGlobalKeys(data); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Settings) addBuiltIn() {
	for _, d := range distributions.All() {
		e := entry{
			name: d.Name, image: d.Image(d.Newest().Version), embedded: d.Base, foreignImage: !d.ImageHasConfig,
			labelsKnown: true,
			origin:      builtIn, lineSource: builtInSource, imageSource: builtInSource,
		}
		for _, images := range d.Images {
			e.repositories = append(e.repositories, repository(images))
		}
		s.entries[d.Name] = e
		s.images = append(s.images, e)
	}
}

// addKeys adds the entries of KeyImageOverrides and KeyDistributions.
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

func (s *Settings) parseGlobalKeys(data map[string]string) error {
	for _, key := range []string{KeyFeatureFlags, KeyForbid, KeyEdge, KeyRegistries, KeyPodDefaults, KeyEndpointFrom,
		KeyProxy, KeyTelemetry, KeyModelCache} {
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
	if s.Telemetry, err = parseTelemetry(data[KeyTelemetry]); err != nil {
		return err
	}
	if s.Proxy, err = parseProxy(data[KeyProxy]); err != nil {
		return err
	}
	if s.ModelCacheImage, err = parseModelCache(data[KeyModelCache]); err != nil {
		return err
	}
	s.Registries.Proxy = s.Proxy
	s.Edge = parseEdge(data[KeyEdge])
	s.PodDefaults, err = parsePodDefaults(data[KeyPodDefaults])
	return err
}

// addImages orders images: registered ones, invalid ones, then built-in ones. Invalid entries keep their image, so that
// custom resources with this image fail instead of using another configuration.
func (s *Settings) addImages() {
	var valid, invalid, builtIns []entry
	for _, name := range s.Names() {
		switch e := s.entries[name]; {
		case e.origin != registered || e.image == "":
		case e.err == nil:
			e.repositories = []string{repository(e.image)}
			valid = append(valid, e)
		default:
			e.repositories = []string{repository(e.image)}
			invalid = append(invalid, e)
		}
	}
	for _, e := range s.images {
		if by := s.entries[e.name]; by.origin == registered && by.err != nil {
			e.err, e.configMap = by.err, by.configMap
		}
		builtIns = append(builtIns, e)
	}
	s.images = slices.Concat(valid, invalid, builtIns)
}

// defaultRegistries are alternative names of the default registry.
var defaultRegistries = []string{"registry-1.docker.io", "registry.hub.docker.com"}

// repository returns the full repository of an image, without tag and digest; empty if the image is invalid.
func repository(image string) string {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return ""
	}
	if parsed := ref.Context(); slices.Contains(defaultRegistries, parsed.RegistryStr()) {
		return reference.DefaultRegistry + "/" + parsed.RepositoryStr()
	}
	return ref.Context().Name()
}

// builtInSource is the source of built-in images and releases.
const builtInSource = "the operator's list of distributions"

func keySource(key string) string { return "ConfigMap " + ConfigMapName + ", key " + key }

// Images returns the images of all valid distributions by name.
func (s *Settings) Images() map[string]string {
	images := make(map[string]string, len(s.entries))
	for name, e := range s.entries {
		if e.err == nil {
			images[name] = e.image
		}
	}
	return images
}

// Problems returns the problems that do not affect all custom resources: those of entries by name, then others.
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

func (e *entry) source() string { return cmp.Or(e.configMap, ConfigMapName) }

// Names returns the sorted names of all distributions.
func (s *Settings) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.entries)), func(name string) bool { return name == "" })
}
