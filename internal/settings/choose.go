// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

const pathVersion = pathDistribution + ".version"

// choice is the release chosen for a built-in name.
type choice struct {
	version string
	source  string
	// note explains why the release line is not the newest one; empty if it is, or if the spec sets it.
	note string
	// newer is the newest release line if a running server keeps an older one; otherwise empty.
	newer string
}

type criteria struct {
	version string
	// running is the release or release line of the running server; empty for a new custom resource.
	running string
	// needs are the features of the release line that the spec uses.
	needs []serverconfig.Need
}

// choose returns the release for a built-in name: that of the spec, else of the running release line, else the newest
// one that meets all needs.
func choose(d *distributions.Distribution, by criteria) (choice, *problem.Problem) {
	if by.version != "" {
		return chooseVersion(d, by.version)
	}
	chosen, f := chooseNewest(d, by.needs)
	version, ok := releaseOf(d, by.running)
	line, _ := catalog.ForVersion(version)
	if !ok || EmbeddedBase(d.Base, line) == nil {
		return chosen, f
	}
	if newest, _ := catalog.ForVersion(chosen.version); f == nil && newest.Name == line.Name {
		return chosen, nil
	}
	c := choice{version: version, source: "release line of the running server"}
	if newest := d.Newest().Line; catalog.Compare(line.Name, newest) < 0 {
		c.newer = newest
		const newer = "the server stays on release line %s; %s is available: run `kubectl llamastack upgrade-check`, then " +
			"set %s"
		c.note = fmt.Sprintf(newer, line.Name, newest, pathVersion)
	}
	return c, nil
}

// chooseVersion returns the release for a version: a release itself, or the distribution's release of a release line.
func chooseVersion(d *distributions.Distribution, version string) (choice, *problem.Problem) {
	named, ok := releaseOf(d, version)
	line, _ := catalog.ForVersion(named)
	if !ok || EmbeddedBase(d.Base, line) == nil {
		return choice{}, problem.New(problem.Problem{
			Reason: problem.UnsupportedRelease, Path: pathVersion, Type: field.ErrorTypeNotSupported,
			Value:  limits.Message(version),
			Detail: fmt.Sprintf("distribution %s has no such release", d.Name),
			Fix:    "it has the release lines " + strings.Join(EmbeddedLines(d.Base), ", "),
		})
	}
	return choice{version: named, source: pathVersion}, nil
}

// releaseOf returns the release for a version. It returns false for an invalid version and for an unknown release line.
func releaseOf(d *distributions.Distribution, version string) (string, bool) {
	version = strings.TrimPrefix(version, "v")
	if _, match := catalog.ForVersion(version); match == catalog.NoVersion {
		return "", false
	}
	if strings.Count(version, ".") > 1 {
		return version, true
	}
	newest, ok := d.OfLine(version)
	return newest.Version, ok
}

// chooseNewest returns the newest release that meets all needs. Needs that no release line meets are ignored here and
// reported where they are used.
func chooseNewest(d *distributions.Distribution, needs []serverconfig.Need) (choice, *problem.Problem) {
	newest := d.Newest()
	unmet := metByAnyLine(unmetNeeds(newest, needs))
	if len(unmet) == 0 {
		return choice{version: newest.Version, source: builtInSource}, nil
	}
	needs = metByAnyLine(needs)
	for _, r := range d.Releases {
		if !r.OnlyByVersion && len(unmetNeeds(r, needs)) == 0 {
			return choice{
				version: r.Version, source: builtInSource,
				note: fmt.Sprintf("release line %s is used instead of %s, because of %s", r.Line, newest.Line,
					describeNeeds(unmet)),
			}, nil
		}
	}
	metByAll := func(n serverconfig.Need) bool {
		return !slices.ContainsFunc(d.Releases, func(r distributions.Release) bool {
			return len(unmetNeeds(r,
				[]serverconfig.Need{n})) > 0
		})
	}
	return choice{}, problem.New(problem.Problem{
		Reason: problem.UnsupportedByRelease, Path: pathDistribution + ".name", Type: field.ErrorTypeInvalid, Value: d.Name,
		Detail: "no release line of the distribution supports everything in the spec: " +
			describeNeeds(slices.DeleteFunc(needs, metByAll)),
		Fix: "remove one of them, or use two LlamaStackDistributions",
	})
}

func unmetNeeds(r distributions.Release, needs []serverconfig.Need) []serverconfig.Need {
	known, _ := catalog.ForVersion(r.Version)
	return slices.DeleteFunc(slices.Clone(needs), func(n serverconfig.Need) bool { return n.Has(known) })
}

func metByAnyLine(needs []serverconfig.Need) []serverconfig.Need {
	return slices.DeleteFunc(slices.Clone(needs), func(n serverconfig.Need) bool { return catalog.FirstLine(n.Has) == "" })
}

// describeNeeds lists the fields of the needs and the release lines that meet them.
func describeNeeds(needs []serverconfig.Need) string {
	var texts []string
	parent, parentLines := "", ""
	for _, n := range needs {
		lines := release.FormatLines(catalog.LinesWhere(n.Has))
		if lines == parentLines && strings.HasPrefix(n.Path, parent) {
			continue // covered by the parent field
		}
		parent, parentLines = n.Path, lines
		texts = append(texts, fmt.Sprintf("%s (in %s)", n.Path, lines))
	}
	return limits.List(texts, ", ")
}

// chooseRelease sets the image of the chosen release. A release in the hints need not be in the list.
func (e *entry) chooseRelease(version string, hints *Hints) *problem.Problem {
	d, _ := distributions.Get(e.name)
	c, f := choose(&d, criteria{version: cmp.Or(hints.Version, version), running: hints.Running, needs: hints.Needs})
	if f != nil && hints.Version != "" {
		c, f = choose(&d, criteria{})
	}
	e.image, e.serverVersion, e.lineSource, e.note, e.newer = d.Image(c.version), c.version, c.source, c.note, c.newer
	e.labelsKnown = hasListedTag(&d, e.image)
	return f
}

// conflict returns a problem if version contradicts the settings or the image tag. It is a warning if the spec sets
// only an image.
func (e *entry) conflict(name, version string) *problem.Problem {
	known, source := e.serverVersion, e.lineSource
	if known == "" {
		known, source = ImageTag(e.image), "tag of image "+e.image
	}
	line, match := catalog.ForVersion(version)
	other, otherStanding := catalog.ForVersion(known)
	if match == catalog.NoVersion || otherStanding == catalog.NoVersion || lineName(line) == lineName(other) &&
		match == otherStanding {
		return nil
	}
	p := problem.Problem{
		Reason: problem.ConflictingFields, Path: pathVersion, Type: field.ErrorTypeInvalid, Value: version,
		Detail: fmt.Sprintf("the image contains release %s (%s)", known, source),
		Fix: "remove it, or choose another distribution: it does not change the image that the operator's settings assign " +
			"to this name",
	}
	if name == "" {
		p.Severity, p.Type, p.Value = problem.Warning, "", nil
		p.Detail = fmt.Sprintf("is %s, but the image seems to contain release %s (%s)", version, known, source)
		p.Fix = "correct one of them if the image contains the release in its tag"
	}
	return problem.New(p)
}

func lineName(line *catalog.Line) string {
	if line == nil {
		return ""
	}
	return line.Name
}

// hasListedTag reports whether the tag of the image, without a digest, is a release in the list of distributions.
func hasListedTag(d *distributions.Distribution, image string) bool {
	return image == withoutDigest(image) && slices.ContainsFunc(d.Releases, func(r distributions.Release) bool {
		return r.Version == ImageTag(image)
	})
}
