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
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

const pathDistribution = "spec.distribution"

// Sample is the sample of a registered distribution, in the repository of the project.
const Sample = "config/samples/settings/registered-distribution.yaml"

// Distribution is what spec.distribution resolves to.
type Distribution struct {
	// Name is the name of the distribution; empty for an image that no known distribution uses. NameSource reports what it
	// was derived from.
	Name, NameSource string
	// Image is the image to run: as written, or where a mirror has it. ImageSource reports where it comes from.
	Image, ImageSource string
	// Digest is the digest that the image had when its labels were read; empty where they were not.
	Digest string
	// Line is the release line of the server; nil where it is not known.
	Line *catalog.Line
	// LineSource reports what the release line was derived from.
	LineSource string
	// Release is the version that decided the release line; empty where the config schema did, or nothing.
	Release string
	// Standing reports how Release stands to the release lines; where it is catalog.TooOld, Line is nil.
	Standing catalog.Standing
	// Candidates are the release lines that the base configuration could be of, where Line is nil.
	Candidates []string
	// Base is the base configuration; nil where none is known.
	Base *serverconfig.Base
	// Embedded is the name under which the operator embeds base configurations of the distribution, of this release line
	// or others; empty where it embeds none.
	Embedded string
	// Source is where the base configuration comes from; empty where none is known.
	Source v1alpha2.ConfigSource
	// ForeignImage reports that the image's own configuration is that of another distribution: the base must be generated
	// even for a resource that names nothing but the distribution.
	ForeignImage bool

	// Listed reports that the image is the one that the list of distributions has for the release line. A later operator
	// may have another patch release.
	Listed bool
	// Note reports why the release line is not the newest one; empty where it is, and where the spec or the settings say
	// so.
	Note string
	// Newer is the newest release line that the name can stand for, where the server that runs keeps an older one;
	// otherwise empty.
	Newer string
	// Unproven is what is known of an image that may not be published; empty where nothing speaks against it.
	Unproven string
	// Warnings are what is wrong with the distribution and keeps nothing from running.
	Warnings problem.List

	// Adopted reports that the image is the one that release 0.9 left running, and not one that the settings or the spec
	// name.
	Adopted bool

	labelsCount bool
	// assumed reports that nothing names the release of the image itself.
	assumed bool
}

// Hints are what is known of a distribution in addition to the settings. The zero value has none.
type Hints struct {
	// Version is the release of the server, VersionSource says where it is from. It wins over everything else.
	Version, VersionSource string
	// Base is the base configuration. It wins over everything else.
	Base *serverconfig.Base
	// Labels are those of the image; nil where they are not known. They do not count for the exact image of a built-in
	// distribution: what its labels say is known since the operator was built.
	Labels *oci.Labels
	// Package is the server's Python package in the image; nil where it is not known.
	Package *oci.Package
	// Status is the status of the custom resource, with what its running server reported; nil where it does not count.
	Status *v1alpha2.LlamaStackDistributionStatus
	// Image is the image of a name that the settings do not know, ImageSource says where it is from; empty where such a
	// name is an error.
	Image, ImageSource string
	// Needs are what the spec needs of the release line: they choose that of a built-in name without a version.
	Needs []serverconfig.Need
	// Running is the release, or the release line, of the server that runs: a built-in name without a version keeps it.
	// Empty for a new custom resource.
	Running string
}

// Resolve finds the distribution that the spec names, by name or by an image that a known distribution uses. An unknown
// name, neither name nor image (which v1alpha1 admits), and a registered entry that is wrong are errors; an unknown
// image is not: it can run as it is.
func (s *Settings) Resolve(spec *v1alpha2.DistributionSpec) (*Distribution, *problem.Problem) {
	return s.ResolveWithHints(spec, Hints{})
}

// ResolveWithHints resolves as Resolve does, with more that is known.
func (s *Settings) ResolveWithHints(spec *v1alpha2.DistributionSpec, hints Hints) (*Distribution, *problem.Problem) {
	name, image := ptr.Deref(spec.Name, ""), ptr.Deref(spec.Image, "")
	if name == "" && image == "" {
		return nil, problem.New(problem.Problem{
			Reason: problem.MissingField, Path: pathDistribution, Type: field.ErrorTypeRequired, Detail: "give a name or an " +
				"image", Fix: "for example name: starter",
		})
	}
	if len(image) > limits.ImageBytes {
		return nil, problem.New(problem.Problem{
			Reason: problem.TooLarge, Path: pathDistribution + ".image", Type: field.ErrorTypeTooLong,
			Detail: fmt.Sprintf("may not be more than %d bytes", limits.ImageBytes), Fix: "give an image as " +
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
		Newer: e.newer}
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
	d.labelsCount = d.Source != v1alpha2.ConfigSourceRegistered && !e.labelsKnown
	return d, nil
}

// find returns the entry of a name or an image. It is an error where the settings have it wrong, and where nothing
// knows the name.
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
			Fix: fmt.Sprintf("%sknown distributions: %s; an administrator registers further ones by a ConfigMap, as %s shows",
				suggest.Sentence(name, s.Names()), limits.Names(s.Names()), Sample),
		})
	case !known && name != "":
		e = entry{name: name, image: hints.Image, embedded: name, imageSource: cmp.Or(hints.ImageSource, "the caller")}
	case !known:
		e = entry{image: image}
	}
	return e, nil
}

// LabelsCount reports whether the labels of the image can change what the distribution resolves to. They cannot where
// the settings have the base configuration, and where the image is exactly that of a built-in distribution, or a copy
// of it: these need no registry. A registered base without a release leaves open which one it is for.
func (d *Distribution) LabelsCount() bool {
	return d.labelsCount || d.Source == v1alpha2.ConfigSourceRegistered && d.Line == nil && d.Standing == catalog.NoVersion
}

// setSources sets the image, as a mirror has it, and where name and image come from.
func (d *Distribution) setSources(e *entry, named string, mirrors Mirrors) {
	image, mirror := mirrors.Rewrite(e.image)
	d.Image, d.ImageSource, d.Unproven = image, e.imageSource, Unproven(image)
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

// SourceRelease09 is where the image of an adopted distribution comes from.
const SourceRelease09 = "the Deployment of release 0.9"

// ReleaseOf09 is the release of the server that release 0.9 of the operator runs for its built-in names.
const ReleaseOf09 = "0.7.1"

// Adopt returns the distribution with another image, which release 0.9 left running: with the release line of its tag,
// and the base configuration of that release line.
func (d *Distribution) Adopt(image string) *Distribution {
	adopted := *d
	adopted.Image, adopted.ForeignImage, adopted.Listed = image, false,
		false // it has run with the configuration that it has
	adopted.ImageSource, adopted.Adopted, adopted.Unproven = SourceRelease09, true, ""
	version, source := ImageTag(image), "tag of the image"
	if _, standing := catalog.ForVersion(version); standing == catalog.NoVersion &&
		d.Source == v1alpha2.ConfigSourceEmbedded {
		version, source = ReleaseOf09, "the release that operator release 0.9 runs"
	}
	if line, standing := catalog.ForVersion(version); standing != catalog.NoVersion {
		adopted.Line, adopted.Standing, adopted.Release = line, standing, version
		adopted.LineSource, adopted.Candidates = source, nil
	}
	if d.Source == v1alpha2.ConfigSourceEmbedded {
		if adopted.Base = EmbeddedBase(d.Base.Name(), adopted.Line); adopted.Base == nil {
			adopted.Source = ""
		}
	}
	return &adopted
}

// setOwnBase sets the base configuration that does not depend on the release line.
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

// setSchemaVersion gives a base configuration without a schema version the one of its label, and warns where the two
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
		detail = fmt.Sprintf("label %s of the image says %d, and its configuration has version: %s, which counts",
			oci.LabelConfigVersion, number, own)
	default:
		d.Base = d.Base.WithVersion(int32(number))
		return
	}
	d.Warnings = append(d.Warnings, *problem.New(problem.Problem{
		Reason: problem.InvalidImage, Severity: problem.Warning, Path: pathDistribution, Detail: detail,
		Fix: "give the label the number that the configuration has under version",
	}))
}

// lookup finds an entry by name, or by image. An image at a mirror is what it is a copy of.
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

// lookupImage finds an entry with exactly this image, else one whose image is of the same repository. What the platform
// team registers comes first. An override is for its name alone: it does not change what an image stands for.
func (s *Settings) lookupImage(image string) (entry, bool) {
	i := slices.IndexFunc(s.images, func(e entry) bool { return e.origin == registered && e.image == image })
	if i >= 0 {
		return s.images[i], true
	}
	of := repository(image)
	i = slices.IndexFunc(s.images, func(e entry) bool { return of != "" && slices.Contains(e.repositories, of) })
	if i < 0 {
		return entry{}, false
	}
	// What is known of the entry's own image, its release and whether it runs by itself, is not known of this one.
	e := s.images[i]
	e.image, e.serverVersion, e.foreignImage, e.labelsKnown = image, "", false, false
	if d, known := distributions.Get(e.name); known && e.origin == builtIn {
		own := of == repository(d.Repository)
		_, mirror := s.Registries.Mirrors.Rewrite(image)
		e.labelsKnown = own && pinned(&d, image) || isRemoved(of) && mirror == nil
		if own && pinned(&d, image) {
			e.serverVersion, e.foreignImage = ImageTag(image), !d.ImageHasConfig
		}
	}
	return e, true
}

// isRemoved reports whether the organization of a repository was removed: no registry can be asked for its images, and
// nothing there changes any more.
func isRemoved(repo string) bool {
	return slices.ContainsFunc(distributions.Removed(), func(organization string) bool {
		return strings.HasPrefix(repo, strings.TrimSuffix(repository(organization+"/x"), "x"))
	})
}

// ImageTag returns the tag of an image reference, empty where it has none.
func ImageTag(image string) string {
	image = withoutDigest(image)
	rest := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(rest, ":")
	return strings.TrimPrefix(tag, "v")
}

// withoutDigest returns an image reference without its digest.
func withoutDigest(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return image
}

var embedded sync.Map // of embeddedKey to *config.Base: each embedded file is parsed once per process

type embeddedKey struct{ name, line, release string }

// EmbeddedBase returns the base configuration that the operator embeds under the name for the release line, as its
// patch release can read it; nil where there is none.
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
			err)) // proven by a test over all files
	}
	embedded.Store(key, base)
	return base
}

// EmbeddedLines returns the release lines for which the operator embeds a base configuration under the name, oldest
// first.
func EmbeddedLines(name string) []string {
	return slices.DeleteFunc(catalog.Lines(), func(line string) bool {
		_, ok := distributions.Base(name, line)
		return !ok
	})
}
