// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

const pathDistribution = "spec.distribution"

// Sample is the path of the sample ConfigMap in the repository.
const Sample = "config/samples/settings/registered-distribution.yaml"

// Distribution is the result of resolving spec.distribution.
type Distribution struct {
	// Name is the name of the distribution, empty for an unknown image; NameSource is where it comes from.
	Name, NameSource string
	// Image is the image to run, at its mirror; ImageSource is where it comes from.
	Image, ImageSource string
	// Digest is the digest of the image when its labels were read; empty if they were not.
	Digest string
	// Line is the release line of the server; nil if unknown.
	Line *catalog.Line
	// LineSource is where the release line comes from.
	LineSource string
	// Release is the version that determined the release line; empty if no version did.
	Release string
	// Standing relates Release to the known release lines; Line is nil if it is catalog.TooOld.
	Standing catalog.VersionMatch
	// Candidates are the possible release lines of the base configuration if Line is nil.
	Candidates []string
	// Base is the base configuration; nil if unknown.
	Base *serverconfig.Base
	// Embedded is the name of the embedded base configurations; empty if there are none.
	Embedded string
	// Source is where the base configuration comes from; empty if Base is nil.
	Source v1alpha2.ConfigSource
	// MountPath is the registered default of spec.workload.storage.mountPath; may be empty.
	MountPath string
	// ForeignImage reports that the image contains the configuration of another distribution, so that one must always be
	// generated.
	ForeignImage bool

	// Listed reports that the image is from the list of distributions, so that an operator upgrade may change its patch
	// release.
	Listed bool
	// Note explains why the release line is not the newest one; empty if it is, or if the spec or settings set it.
	Note string
	// Newer is the newest release line if the running server keeps an older one; otherwise empty.
	Newer string
	// UnverifiedSource is the source of the release if its image may not be published; otherwise empty.
	UnverifiedSource string
	// Warnings are problems that do not prevent a rollout.
	Warnings problem.List

	// Adopted reports that the image comes from a Deployment of release 0.9.
	Adopted bool

	needsLabels bool
	// assumed reports that the release is unknown, or known only from a running server or the config schema.
	assumed bool
}

// Hints are facts about a distribution that the settings do not contain.
type Hints struct {
	// Version is the server release, which overrides other sources; VersionSource is where it comes from.
	Version, VersionSource string
	// Base is the base configuration, which overrides other sources.
	Base *serverconfig.Base
	// Labels are the image labels, ignored for images of built-in distributions; nil if unknown.
	Labels *oci.Labels
	// Package is the server's Python package in the image; nil if unknown.
	Package *oci.Package
	// Status is the status of the custom resource; nil to ignore it.
	Status *v1alpha2.LlamaStackDistributionStatus
	// Image is the image for names that the settings do not know, ImageSource where it comes from; if empty, such names
	// are errors.
	Image, ImageSource string
	// Needs are the features that the spec uses; they select the release line of a built-in name without a version.
	Needs []serverconfig.Need
	// Running is the release or release line of the running server, which a built-in name without a version keeps; empty
	// for a new custom resource.
	Running string
}

// Resolve returns the distribution for a name or an image. Unknown names and invalid entries are errors, unknown images
// are not.
func (s *Settings) Resolve(spec *v1alpha2.DistributionSpec) (*Distribution, *problem.Problem) {
	return s.ResolveWithHints(spec, Hints{})
}

// ResolveWithHints is Resolve with additional facts.
func (s *Settings) ResolveWithHints(spec *v1alpha2.DistributionSpec, hints Hints) (*Distribution, *problem.Problem) {
	name, image := ptr.Deref(spec.Name, ""), ptr.Deref(spec.Image, "")
	if name == "" && image == "" {
		return nil, problem.New(problem.Problem{
			Reason: problem.MissingField, Path: pathDistribution, Type: field.ErrorTypeRequired, Detail: "set a name or an " +
				"image", Fix: "for example name: starter",
		})
	}
	if len(image) > limits.ImageBytes {
		return nil, problem.New(problem.Problem{
			Reason: problem.TooLarge, Path: pathDistribution + ".image", Type: field.ErrorTypeTooLong,
			Detail: fmt.Sprintf("may not be more than %d bytes", limits.ImageBytes), Fix: "use the form " +
				"registry/repository:tag or registry/repository@digest",
		})
	}
	e, f := s.find(name, image, &hints)
	if f != nil {
		return nil, f
	}
	version := ptr.Deref(spec.Version, "")
	listed := name != "" && e.origin == builtIn
	if listed {
		if f := e.chooseRelease(version, &hints); f != nil {
			return nil, f
		}
	}
	conflict := e.conflict(name, version)
	if conflict != nil && conflict.Severity == problem.Error && hints.Version == "" {
		return nil, conflict
	}
	d := &Distribution{Name: e.name, Embedded: e.embedded, ForeignImage: e.foreignImage, Listed: listed, Note: e.note,
		Newer: e.newer, MountPath: e.mountPath}
	d.setSources(&e, name, s.Registries.Mirrors)
	labels := hints.Labels
	if labels == nil || e.labelsKnown {
		labels = &oci.Labels{}
	}
	if f := d.setOwnBase(&e, hints.Base, labels); f != nil {
		return nil, f
	}
	d.setLine(&e, version, hints, labels)
	if conflict != nil && conflict.Severity == problem.Warning {
		d.Warnings = append(d.Warnings, *conflict)
	}
	if d.Base == nil {
		d.Base = EmbeddedBase(e.embedded, d.Line)
		if d.Base != nil {
			d.Source = v1alpha2.ConfigSourceEmbedded
		}
	}
	d.needsLabels = d.Source != v1alpha2.ConfigSourceRegistered && !e.labelsKnown
	return d, nil
}

// find returns the entry for a name or image. It fails if the entry is invalid or the name is unknown.
func (s *Settings) find(name, image string, hints *Hints) (entry, *problem.Problem) {
	e, known := s.lookup(name, image)
	if err := s.errorFor(&e, name, image); err != nil && e.err == nil && hints.Image == "" {
		e.err = err
	}
	switch {
	case e.err != nil:
		return e, problem.New(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: pathDistribution, Type: field.ErrorTypeInvalid, Detail: "operator " +
				"settings: " + e.err.Error(),
			Fix: "correct the ConfigMap " + e.source(), Err: e.err,
		})
	case name != "" && !known && hints.Image == "":
		return e, problem.New(problem.Problem{
			Reason: problem.UnknownDistribution, Path: pathDistribution + ".name", Type: field.ErrorTypeNotSupported,
			Value: name,
			Fix: fmt.Sprintf("%sknown distributions: %s; an administrator can register more with a ConfigMap, as in %s",
				problem.DidYouMean(name, s.Names()), limits.Names(s.Names()), Sample),
		})
	case !known && name != "":
		e = entry{name: name, image: hints.Image, embedded: name, imageSource: cmp.Or(hints.ImageSource, "the caller")}
	case !known:
		e = entry{image: image}
	}
	return e, nil
}

// NeedsLabels reports whether image labels can change the result. They cannot for a registered base configuration of
// known release, and for images of built-in distributions.
func (d *Distribution) NeedsLabels() bool {
	return d.needsLabels || d.Source == v1alpha2.ConfigSourceRegistered && d.Line == nil && d.Standing == catalog.NoVersion
}

// setSources sets the image, at its mirror, and the sources of name and image.
func (d *Distribution) setSources(e *entry, named string, mirrors Mirrors) {
	image, mirror := mirrors.Rewrite(e.image)
	d.Image, d.ImageSource, d.UnverifiedSource = image, e.imageSource, UnverifiedSource(image)
	switch {
	case named != "":
		d.NameSource = pathDistribution + ".name"
	case e.name != "":
		d.NameSource, d.ImageSource = "repository of the image", pathDistribution+".image"
	default:
		d.ImageSource = pathDistribution + ".image"
	}
	if mirror != nil {
		d.ImageSource += fmt.Sprintf("; mirror of %s by %s", mirror.Prefix, keySource(KeyRegistries))
	}
}

// SourceRelease09 is the ImageSource of an adopted distribution.
const SourceRelease09 = "the Deployment of release 0.9"

// ReleaseOf09 is the server release that operator release 0.9 runs for built-in names.
const ReleaseOf09 = "0.7.1"

// Adopt returns a copy of the distribution with the image of a release 0.9 Deployment, the release line of its tag, and
// the matching base configuration.
func (d *Distribution) Adopt(image string) *Distribution {
	adopted := *d
	adopted.Image, adopted.ForeignImage, adopted.Listed = image, false,
		false // the image runs with its own configuration
	adopted.ImageSource, adopted.Adopted, adopted.UnverifiedSource = SourceRelease09, true, ""
	adopted.MountPath = "" // release 0.9 has mounted the PVC at the default path
	version, source := ImageTag(image), "tag of the image"
	if _, match := catalog.ForVersion(version); match == catalog.NoVersion &&
		d.Source == v1alpha2.ConfigSourceEmbedded {
		version, source = ReleaseOf09, "the release that operator release 0.9 runs"
	}
	if line, match := catalog.ForVersion(version); match != catalog.NoVersion {
		adopted.Line, adopted.Standing, adopted.Release = line, match, version
		adopted.LineSource, adopted.Candidates = source, nil
	}
	if d.Source == v1alpha2.ConfigSourceEmbedded {
		if adopted.Base = EmbeddedBase(d.Base.Name(), adopted.Line); adopted.Base == nil {
			adopted.Source = ""
		}
	}
	return &adopted
}

// setOwnBase sets a base configuration from the hints, the settings or the image labels.
func (d *Distribution) setOwnBase(e *entry, hints *serverconfig.Base, labels *oci.Labels) *problem.Problem {
	switch {
	case hints != nil:
		d.Base, d.Source = hints, v1alpha2.ConfigSourceRegistered
	case e.base != nil:
		d.Base, d.Source = e.base, v1alpha2.ConfigSourceRegistered
	case labels.Config != nil:
		base, err := serverconfig.ParseBase(e.image, labels.Config)
		if err != nil {
			return problem.New(problem.Problem{
				Reason: problem.InvalidImage, Path: pathDistribution, Type: field.ErrorTypeInvalid, Value: e.image,
				Detail: fmt.Sprintf("label %s: %v", labels.ConfigLabel, err), Fix: "use another image, or spec.overrideConfig",
				Err: err,
			})
		}
		d.Base, d.Source = base, v1alpha2.ConfigSourceOCILabel
		d.setSchemaVersion(labels.SchemaVersion)
	}
	return nil
}

// setSchemaVersion applies the schema version of the label to a base configuration without one. It warns if the two
// differ.
func (d *Distribution) setSchemaVersion(label string) {
	own, given := d.Base.Version()
	if label == "" || label == own {
		return
	}
	var detail string
	number, err := strconv.ParseInt(label, 10, 32)
	switch {
	case err != nil || number < 1:
		detail = fmt.Sprintf("label %s of the image is %q, which is not a schema version", oci.LabelConfigVersion,
			limits.Message(label))
	case given:
		detail = fmt.Sprintf("label %s of the image is %d, but its configuration has version: %s, which takes precedence",
			oci.LabelConfigVersion, number, own)
	default:
		d.Base = d.Base.WithVersion(int32(number))
		return
	}
	d.Warnings = append(d.Warnings, *problem.New(problem.Problem{
		Reason: problem.InvalidImage, Severity: problem.Warning, Path: pathDistribution, Detail: detail,
		Fix: "set the label to the version in the configuration",
	}))
}

// lookup finds an entry by name, or by image or the source of a mirrored image.
func (s *Settings) lookup(name, image string) (entry, bool) {
	if name != "" {
		e, ok := s.entries[name]
		return e, ok
	}
	e, ok := s.lookupImage(image)
	if !ok {
		if origin, mirror := s.Registries.Mirrors.Origin(image); mirror != nil {
			e, ok = s.lookupImage(origin)
			e.image = image
		}
	}
	return e, ok
}

// lookupImage finds an entry by exact image, then by repository; registered entries come first. Overrides apply only to
// names.
func (s *Settings) lookupImage(image string) (entry, bool) {
	i := slices.IndexFunc(s.images, func(e entry) bool { return e.origin == registered && e.image == image })
	if i >= 0 {
		return s.images[i], true
	}
	repo := repository(image)
	i = slices.IndexFunc(s.images, func(e entry) bool { return repo != "" && slices.Contains(e.repositories, repo) })
	if i < 0 {
		return entry{}, false
	}
	// Properties of the entry's image do not hold for another tag.
	e := s.images[i]
	e.image, e.serverVersion, e.foreignImage, e.labelsKnown = image, "", false, false
	if d, known := distributions.Get(e.name); known && e.origin == builtIn {
		own := repo == repository(d.Repository)
		_, mirror := s.Registries.Mirrors.Rewrite(image)
		e.labelsKnown = own && hasListedTag(&d, image) || isRemoved(repo) && mirror == nil
		if own && hasListedTag(&d, image) {
			e.serverVersion, e.foreignImage = ImageTag(image), !d.ImageHasConfig
		}
	}
	return e, true
}

// isRemoved reports whether the organization of the repository was removed from its registry.
func isRemoved(repo string) bool {
	return slices.ContainsFunc(distributions.Removed(), func(organization string) bool {
		return strings.HasPrefix(repo, strings.TrimSuffix(repository(organization+"/x"), "x"))
	})
}

// ImageTag returns the tag of an image without a leading "v"; empty if it has none.
func ImageTag(image string) string {
	image = withoutDigest(image)
	rest := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(rest, ":")
	return strings.TrimPrefix(tag, "v")
}

func withoutDigest(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return image
}

var embedded sync.Map // embeddedKey to *serverconfig.Base, parsed once per process

type embeddedKey struct{ name, line, release string }

// EmbeddedBase returns the embedded base configuration for a name and release line, adapted to its patch release; nil
// if none exists.
func EmbeddedBase(name string, line *catalog.Line) *serverconfig.Base {
	if line == nil {
		return nil
	}
	key := embeddedKey{name, line.Name, line.Release}
	if base, ok := embedded.Load(key); ok {
		return base.(*serverconfig.Base)
	}
	data, ok := distributions.Base(name, line.Name)
	if !ok {
		return nil
	}
	var base *serverconfig.Base
	data, err := release.ForPatch(data, line)
	if err == nil {
		base, err = serverconfig.ParseBase(name, data)
	}
	if err != nil {
		panic(fmt.Sprintf("the embedded base configuration %s/%s: %v", name, line.Name,
			err)) // a test parses all files
	}
	embedded.Store(key, base)
	return base
}

// EmbeddedLines returns the release lines with an embedded base configuration for the name, oldest first.
func EmbeddedLines(name string) []string {
	return slices.DeleteFunc(catalog.Lines(), func(line string) bool {
		_, ok := distributions.Base(name, line)
		return !ok
	})
}
