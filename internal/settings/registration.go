// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// LabelDistribution marks a ConfigMap in the operator's namespace that registers the distribution named by its value.
// Open Data Hub sets this label on ConfigMaps of its own: see IsRegistration.
const LabelDistribution = "llamastack.io/distribution"

const (
	keyImage         = "image"
	keyServerVersion = "serverVersion"
	keyConfig        = "config.yaml"
	keyMountPath     = "mountPath"
)

// Registration is a distribution registered under KeyDistributions or by a ConfigMap with LabelDistribution.
type Registration struct {
	// Image is the container image.
	Image string `json:"image"`
	// ServerVersion is the server release, such as "0.7.1"; defaults to the image tag.
	ServerVersion string `json:"serverVersion,omitempty"`
	// Config is the base configuration; defaults to the embedded one of the same name and release line.
	Config string `json:"config,omitempty"`
	// MountPath is the mount path of PVCs whose custom resource has none; defaults to that of any other distribution.
	MountPath string `json:"mountPath,omitempty"`
}

// ConfigMap returns the ConfigMap that registers the distribution under a name.
func (r *Registration) ConfigMap(namespace, name string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "distribution-" + strings.ReplaceAll(name, "_", "-"),
			Labels: map[string]string{LabelDistribution: name},
		},
		Data: map[string]string{},
	}
	for key, value := range map[string]string{
		keyImage: r.Image, keyServerVersion: r.ServerVersion, keyConfig: r.Config, keyMountPath: r.MountPath,
	} {
		if value != "" {
			cm.Data[key] = value
		}
	}
	return cm
}

// Registered is the parsed content of a ConfigMap with LabelDistribution. It is immutable.
type Registered struct {
	entry entry
	size  int
}

// IsRegistration reports whether a ConfigMap registers a distribution: it has the label and the key image or
// serverVersion. Those of Open Data Hub have only configurations.
func IsRegistration(cm *corev1.ConfigMap) bool {
	if _, labeled := cm.Labels[LabelDistribution]; !labeled {
		return false
	}
	for _, key := range []string{keyImage, keyServerVersion} {
		_, text := cm.Data[key]
		if _, binary := cm.BinaryData[key]; text || binary {
			return true
		}
	}
	return false
}

// ParseRegistration parses a ConfigMap for which IsRegistration is true. Its errors affect only custom resources that
// use the name.
func ParseRegistration(cm *corev1.ConfigMap) *Registered {
	e := newRegisteredEntry(cm.Name, cm.Labels[LabelDistribution])
	known := []string{keyImage, keyServerVersion, keyConfig, keyMountPath}
	keys := slices.Concat(slices.Collect(maps.Keys(cm.Data)), slices.Collect(maps.Keys(cm.BinaryData)))
	slices.Sort(keys)
	for _, key := range keys {
		_, binary := cm.BinaryData[key]
		switch {
		case !slices.Contains(known, key):
			e.err = fmt.Errorf("data[%s]: Unsupported value: %sknown keys: %s", limits.Message(key),
				problem.DidYouMean(key, known),
				strings.Join(known, ", "))
		case binary:
			e.err = fmt.Errorf("binaryData[%s]: the value is not UTF-8 text: put it under data", key)
		}
		if e.err != nil {
			return &Registered{entry: e}
		}
	}
	e.lineSource = keyServerVersion + " in " + e.imageSource
	e.set(Registration{Image: cm.Data[keyImage], ServerVersion: cm.Data[keyServerVersion], Config: cm.Data[keyConfig],
		MountPath: cm.Data[keyMountPath]}, keyConfig)
	if e.base == nil {
		return &Registered{entry: e}
	}
	return &Registered{entry: e, size: len(cm.Data[keyConfig]) + e.base.Values()*limits.ValueBytes}
}

// Size returns the approximate memory of the configuration, in bytes.
func (r *Registered) Size() int { return r.size }

// RegistrationFits reports whether the configuration takes at most budget bytes of memory, without parsing it. A
// configuration above the limit of a single one fits too, because parsing rejects it early.
func RegistrationFits(cm *corev1.ConfigMap, budget int) bool {
	text := []byte(cm.Data[keyConfig])
	larger := func(values int) bool {
		return limits.ScanYAML(text, limits.Limits{Bytes: len(text), Nodes: values}) != nil
	}
	return !larger((budget-len(text))/limits.ValueBytes) || larger(limits.DocumentNodes)
}

// RefuseLargeRegistration returns the error entry for a ConfigMap beyond limits.RegisteredBytes.
func RefuseLargeRegistration(configMap, name string) *Registered {
	e := newRegisteredEntry(configMap, name)
	const detail = "the configurations of the ConfigMaps with the label %s exceed %d MB of memory together, so this one " +
		"is ignored"
	e.err = fmt.Errorf(detail+": make them smaller", LabelDistribution, limits.RegisteredBytes/1_000_000)
	return &Registered{entry: e}
}

// RefuseRegistration returns the error entry for a ConfigMap beyond limits.Registrations.
func RefuseRegistration(configMap, name string) *Registered {
	e := newRegisteredEntry(configMap, name)
	e.err = fmt.Errorf("there are more than %d ConfigMaps with the label %s, so this one is ignored: delete some",
		limits.Registrations, LabelDistribution)
	return &Registered{entry: e}
}

func newRegisteredEntry(configMap, name string) entry {
	return entry{name: name, configMap: configMap, origin: registered, embedded: name,
		imageSource: "ConfigMap " + configMap}
}

// addRegistered adds distributions of ConfigMaps with LabelDistribution, which override other entries. Two ConfigMaps
// for one name are an error.
func (s *Settings) addRegistered(own []*Registered) {
	byName := map[string][]*Registered{}
	for _, r := range own {
		byName[r.entry.name] = append(byName[r.entry.name], r)
	}
	for name, group := range byName {
		slices.SortFunc(group, func(a, b *Registered) int { return strings.Compare(a.entry.configMap, b.entry.configMap) })
		e := group[0].entry
		if len(group) > 1 {
			var configMaps []string
			for _, r := range group {
				configMaps = append(configMaps, r.entry.configMap)
			}
			e.err = fmt.Errorf("several ConfigMaps register the name %q: %s: delete all but one", name, limits.Names(configMaps))
			for _, r := range group[1:] {
				s.problems = append(s.problems, Problem{ConfigMap: r.entry.configMap,
					Err: fmt.Errorf("ConfigMap %s: %w", r.entry.configMap, e.err)})
			}
		}
		e.checkName()
		if e.err != nil {
			e.err = fmt.Errorf("ConfigMap %s: %w", e.configMap, e.err)
		}
		if old := s.entries[name]; old.origin == registered && old.name != "" {
			s.problems = append(s.problems, Problem{ConfigMap: ConfigMapName, Warning: true, Err: fmt.Errorf(
				"%s/%s[%s]: has no effect, because ConfigMap %s registers the name: remove this entry", ConfigMapName,
				KeyDistributions, name, e.configMap)})
		}
		s.entries[name] = e
	}
}

// yamlMessage delays decoding of an entry, so that its errors affect only that entry.
type yamlMessage []byte

func (m *yamlMessage) UnmarshalJSON(b []byte) error {
	*m = slices.Clone(b)
	return nil
}

var (
	errNoImage = errors.New("image is missing: set the container image of the distribution")
	errName    = errors.New("a name must consist of lower-case letters, digits, '.', '_' and '-', because it is used " +
		"as a directory name")
	errVersion  = errors.New("serverVersion: must be the release of the server in the image, such as 0.7.1")
	errOverride = errors.New("must be an image, such as registry.example.com/llama-stack:0.7.1")
)

var distributionName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)

// override parses an entry of KeyImageOverrides, for a known or a new name.
func (s *Settings) override(name string, raw []byte) entry {
	e := s.entries[name]
	builtIn, known := distributions.Get(name)
	e.name, e.origin, e.image, e.imageSource, e.repositories = name, overridden, "", keySource(KeyImageOverrides), nil
	if err := yaml.Unmarshal(raw, &e.image); err != nil || e.image == "" {
		e.err = errOverride
	}
	// Only a copy of the built-in image keeps its properties.
	copied := known && path.Base(repository(e.image)) == path.Base(builtIn.Repository)
	e.foreignImage = e.foreignImage && copied
	e.labelsKnown = copied && hasListedTag(&builtIn, e.image)
	e.serverVersion = "" // the image determines the release
	e.checkName()
	return e
}

func (s *Settings) register(name string, raw []byte) entry {
	e := entry{name: name, origin: registered, embedded: name, imageSource: keySource(KeyDistributions)}
	e.lineSource = fmt.Sprintf("serverVersion in %s/%s[%s]", ConfigMapName, KeyDistributions, name)
	var r Registration
	if err := decode(raw, &r); err != nil {
		e.err = err
		return e
	}
	e.set(r, "config")
	e.checkName()
	return e
}

// set validates and applies a registration; configKey is the key of its configuration.
func (e *entry) set(r Registration, configKey string) {
	e.image, e.serverVersion, e.mountPath = r.Image, r.ServerVersion, r.MountPath
	_, match := catalog.ForVersion(r.ServerVersion)
	switch {
	case r.Image == "":
		e.err = errNoImage
	case r.ServerVersion != "" && match == catalog.NoVersion:
		e.err = errVersion
	case r.MountPath != "" && !validation.IsDataDir(r.MountPath):
		e.err = fmt.Errorf("%s: Invalid value: %q: must be %s, for example %s", keyMountPath, limits.Message(r.MountPath),
			validation.DataDirs, v1alpha2.DefaultMountPath)
	case r.Config != "":
		if e.base, e.err = serverconfig.ParseBase(e.name, []byte(r.Config)); e.err != nil {
			e.err = fmt.Errorf("%s: %w", configKey, e.err)
		}
	}
}

func (e *entry) checkName() {
	if e.err == nil && !distributionName.MatchString(e.name) {
		e.err = errName
	}
}
