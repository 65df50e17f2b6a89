// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// Distribution is what spec.distribution resolves to.
type Distribution struct {
	// Name is the name of the distribution; empty for an image that no known distribution uses.
	Name string
	// Image is the image to run, as written.
	Image string
	// Line is the release line of the server; nil where nothing tells it.
	Line *catalog.Line
	// LineSource tells what the release line was derived from.
	LineSource string
	// Base is the base configuration; nil where none is known.
	Base *config.Base
	// Source is where the base configuration comes from; empty where none is known.
	Source v1alpha2.ConfigSource
}

// Resolve finds the distribution that the spec names, by name or by an image that a known distribution uses.
// An unknown name, and a registered entry that is wrong, are faults; an unknown image is none: it can run as it is.
func (s *Settings) Resolve(spec *v1alpha2.DistributionSpec) (*Distribution, *fault.Fault) {
	name, image := ptr.Deref(spec.Name, ""), ptr.Deref(spec.Image, "")
	e, known := s.lookup(name, image)
	switch {
	case name != "" && !known:
		return nil, &fault.Fault{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonUnknownDistribution,
			Message: fmt.Sprintf("spec.distribution.name: no distribution %q is known; %sknown distributions: %s; register further ones in the ConfigMap %s",
				name, suggest.Sentence(name, s.names()), strings.Join(s.names(), ", "), ConfigMapName),
		}
	case e.err != nil:
		return nil, &fault.Fault{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSettings,
			Message: "operator settings: " + e.err.Error(), Err: e.err,
		}
	case !known:
		e = entry{image: image}
	}
	d := &Distribution{Name: e.name, Image: e.image}
	d.Line, d.LineSource = e.line()
	d.Base, d.Source = e.base, v1alpha2.ConfigSourceRegistered
	if d.Base == nil {
		d.Base, d.Source = EmbeddedBase(e.embedded, d.Line), v1alpha2.ConfigSourceEmbedded
	}
	if d.Base == nil {
		d.Source = ""
	}
	return d, nil
}

// Adopt returns the distribution with another image, which release 0.9 left running: with the release line that its tag tells,
// and the base configuration of that line. The fault says that the server in it is older than what this operator can run.
func (d *Distribution) Adopt(image string) (*Distribution, *fault.Fault) {
	adopted := *d
	adopted.Image = image
	tag := imageTag(image)
	line, known := catalog.ForVersion(tag)
	switch {
	case known:
		adopted.Line, adopted.LineSource = line, "tag of the image"
	case tooOld(tag):
		return nil, &fault.Fault{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonUnsupported,
			Message: fmt.Sprintf("the Deployment of release 0.9 runs %s, and servers before %s cannot be looked after: it is left alone; "+
				"set spec.distribution.image to a newer release", image, catalog.Lines()[0]),
		}
	case versionTag.MatchString(tag):
		adopted.Line, adopted.LineSource = nil, ""
	}
	if d.Source == v1alpha2.ConfigSourceEmbedded {
		adopted.Base = EmbeddedBase(d.Base.Name(), adopted.Line)
		if adopted.Base == nil {
			adopted.Source = ""
		}
	}
	return &adopted, nil
}

// tooOld tells whether a tag names a release before the first line.
func tooOld(tag string) bool {
	var major, minor, firstMajor, firstMinor int
	if n, _ := fmt.Sscanf(tag, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	_, _ = fmt.Sscanf(catalog.Lines()[0], "%d.%d", &firstMajor, &firstMinor)
	return major < firstMajor || major == firstMajor && minor < firstMinor
}

// lookup finds an entry by name, or by image: where several have the image, what the platform team registers wins, then the
// order of the built-in table. Wrong entries do not count for an image.
func (s *Settings) lookup(name, image string) (entry, bool) {
	if name != "" {
		e, ok := s.entries[name]
		return e, ok
	}
	var best entry
	for _, name := range s.names() {
		if e := s.entries[name]; e.image == image && e.err == nil && (best.name == "" || e.rank < best.rank) {
			best = e
		}
	}
	return best, best.name != ""
}

// line tells the release line: as the entry says, else by the image's tag. A version that the entry gives and no line knows
// is no line: the tag does not overrule it.
func (e *entry) line() (*catalog.Line, string) {
	version, source := e.serverVersion, e.lineSource
	if version == "" {
		version, source = imageTag(e.image), "tag of the image"
	}
	if line, ok := catalog.ForVersion(version); ok {
		return line, source
	}
	return nil, ""
}

// imageTag returns the tag of an image reference, empty where it has none.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	rest := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(rest, ":")
	return strings.TrimPrefix(tag, "v")
}

var embedded sync.Map // of embeddedKey to *config.Base: each embedded file is parsed once per process

type embeddedKey struct{ name, line string }

// EmbeddedBase returns the base configuration that the operator embeds under the name for the release line; nil where
// there is none.
func EmbeddedBase(name string, line *catalog.Line) *config.Base {
	if line == nil {
		return nil
	}
	key := embeddedKey{name, line.Name}
	if base, ok := embedded.Load(key); ok {
		return base.(*config.Base)
	}
	data, ok := configs.Base(name, line.Name)
	if !ok {
		return nil
	}
	base, err := config.ParseBase(name, data)
	if err != nil {
		panic(fmt.Sprintf("the embedded base configuration %s/%s: %v", name, line.Name, err)) // proven by a test over all files
	}
	embedded.Store(key, base)
	return base
}
