// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"

// schemaOf registers an image by digest with the starter base of a release line.
func schemaOf(line string) string {
	base, _ := distributions.Base("starter", line)
	return "mine:\n  image: mirror.example/mine@" + digest + "\n  config: |\n    " + strings.ReplaceAll(string(base), "\n", "\n    ")
}

// newestRelease is the release of the newest release line in the list of distributions.
var newestRelease = distributions.All()[0].Newest().Version

var starterImage = "docker.io/ogxai/distribution-starter:" + newestRelease

// fill replaces <line> and <release> in a text by the newest release line and its release.
var fill = strings.NewReplacer("<line>", catalog.Newest(), "<release>", newestRelease).Replace

func byName(name string) *v1alpha2.DistributionSpec {
	return &v1alpha2.DistributionSpec{Name: new(name)}
}

func byImage(image string) *v1alpha2.DistributionSpec {
	return &v1alpha2.DistributionSpec{Image: new(image)}
}

func parse(t *testing.T, data map[string]string) *settings.Settings {
	t.Helper()
	s, err := settings.Parse(data)
	framework.NoError(t, err)
	return s
}

// resolved is a Distribution for comparison.
type resolved struct {
	Name, Image, Line, LineSource, Base string
	Source                              v1alpha2.ConfigSource
}

func resolve(t *testing.T, s *settings.Settings, spec *v1alpha2.DistributionSpec) resolved {
	t.Helper()
	d, f := s.Resolve(spec)
	if f != nil {
		t.Fatalf("fault: %v", f)
	}
	got := resolved{Name: d.Name, Image: d.Image, LineSource: d.LineSource, Source: d.Source}
	if d.Line != nil {
		got.Line = d.Line.Name
	}
	if d.Base != nil {
		got.Base = d.Base.Name()
	}
	return got
}

// light is a complete registration.
const light = `
light:
  image: registry.example/light:nightly
  serverVersion: "0.7.1"
  config: |
    version: 2
    apis: [inference]
    providers: {inference: []}
`

// Proves: R14, R28, R47, R16 (sources of image, release line and base configuration, by precedence).
func TestResolve(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string]string
		spec *v1alpha2.DistributionSpec
		want resolved
	}{
		"built in": {
			nil, byName("starter"),
			resolved{"starter", starterImage, catalog.Newest(), "the operator's list of distributions", "starter", "embedded"},
		},
		"registered": {
			map[string]string{"distributions": light}, byName("light"),
			resolved{
				"light", "registry.example/light:nightly", "0.7",
				"serverVersion in llama-stack-operator-config/distributions[light]", "light", "registered",
			},
		},
		"registered, by image": {
			map[string]string{"distributions": light}, byImage("registry.example/light:nightly"),
			resolved{
				"light", "registry.example/light:nightly", "0.7",
				"serverVersion in llama-stack-operator-config/distributions[light]", "light", "registered",
			},
		},
		"registered in place of a built-in one": {
			map[string]string{"distributions": strings.Replace(light, "light:", "starter:", 1)}, byName("starter"),
			resolved{
				"starter", "registry.example/light:nightly", "0.7",
				"serverVersion in llama-stack-operator-config/distributions[starter]", "starter", "registered",
			},
		},
		"registered wins over an override": {
			map[string]string{"distributions": light, "image-overrides": "light: registry.example/other:1"}, byName("light"),
			resolved{
				"light", "registry.example/light:nightly", "0.7",
				"serverVersion in llama-stack-operator-config/distributions[light]", "light", "registered",
			},
		},
		"registered with the image alone": {
			map[string]string{"distributions": "starter: {image: 'mirror.example:5000/starter:0.7.1'}"}, byName("starter"),
			resolved{"starter", "mirror.example:5000/starter:0.7.1", "0.7", "tag of the image", "starter", "embedded"},
		},
		"registered, unknown release": {
			map[string]string{"distributions": "mine: {image: 'mirror.example:5000/mine'}"}, byName("mine"),
			resolved{"mine", "mirror.example:5000/mine", "", "", "", ""},
		},
		"overridden by digest": {
			map[string]string{"image-overrides": "starter: mirror.example/starter@" + digest}, byName("starter"),
			resolved{"starter", "mirror.example/starter@" + digest, "", "", "", ""},
		},
		"overridden by a release that no line knows": {
			map[string]string{"image-overrides": "starter: mirror.example/starter:99.1.0"}, byName("starter"),
			resolved{
				"starter", "mirror.example/starter:99.1.0", catalog.Newest(), "tag of the image: release 99.1.0, which this operator does not know",
				"starter", "embedded",
			},
		},
		"registered with a release that no line knows": {
			map[string]string{"distributions": "mine: {image: 'mirror.example/mine:0.7.1', serverVersion: '99.1.0'}"}, byName("mine"),
			resolved{
				"mine", "mirror.example/mine:0.7.1", catalog.Newest(),
				"serverVersion in llama-stack-operator-config/distributions[mine]: release 99.1.0, which this operator does not know", "", "",
			},
		},
		"a registered image comes before a built-in one": {
			map[string]string{"distributions": "zz: {image: '" + starterImage + "'}\naa: {image: '" + starterImage + "', imagee: x}"}, byImage(starterImage),
			resolved{"zz", starterImage, catalog.Newest(), "tag of the image", "", ""},
		},
		"a new name by an override": {
			map[string]string{"image-overrides": "mine: mirror.example/mine:v0.7.3"}, byName("mine"),
			resolved{"mine", "mirror.example/mine:v0.7.3", "0.7", "tag of the image", "", ""},
		},
		"unknown image with a known release": {
			nil, byImage("registry.example:5000/team/mine:0.7.1-rc2@" + digest),
			resolved{"", "registry.example:5000/team/mine:0.7.1-rc2@" + digest, "0.7", "tag of the image", "", ""},
		},
		"unknown image by digest": {
			nil, byImage("registry.example:5000/mine@" + digest),
			resolved{"", "registry.example:5000/mine@" + digest, "", "", "", ""},
		},
		"the port of a registry is no tag": {
			nil, byImage("registry.example:0.7/mine"),
			resolved{"", "registry.example:0.7/mine", "", "", "", ""},
		},
		"unknown release": {
			nil, byImage("registry.example/mine:99.1.0"),
			resolved{
				"", "registry.example/mine:99.1.0", catalog.Newest(), "tag of the image: release 99.1.0, which this operator does not know", "", "",
			},
		},
		"a release that is too old": {
			nil, byImage("registry.example/mine:0.2.23"),
			resolved{"", "registry.example/mine:0.2.23", "", "tag of the image", "", ""},
		},
		"the config schema of the registered base": {
			map[string]string{"distributions": schemaOf("0.7")}, byName("mine"),
			resolved{"mine", "mirror.example/mine@" + digest, "0.7", "config schema of the base configuration", "mine", "registered"},
		},
		"a config schema of several lines is ambiguous": {
			map[string]string{"distributions": schemaOf("1.4")}, byName("mine"),
			resolved{"mine", "mirror.example/mine@" + digest, "", "", "mine", "registered"},
		},
		"the tag comes before the config schema": {
			map[string]string{"distributions": strings.Replace(schemaOf("0.7"), "mine@", "mine:0.6.1@", 1)}, byName("mine"),
			resolved{"mine", "mirror.example/mine:0.6.1@" + digest, "0.6", "tag of the image", "mine", "registered"},
		},
		"a moving tag has no release": {
			nil, byImage("docker.io/ogxai/distribution-starter:latest"),
			resolved{"starter", "docker.io/ogxai/distribution-starter:latest", "", "", "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, resolve(t, parse(t, c.data), c.spec)); diff != "" {
				t.Errorf("resolved to (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R28, R47, US-1.1 (each built-in name is configurable).
func TestBuiltInDistributions(t *testing.T) {
	s := parse(t, nil)
	images := s.Images()
	if len(images) != len(distributions.All()) {
		t.Errorf("%d distributions, want %d", len(images), len(distributions.All()))
	}
	for _, want := range distributions.All() {
		got := resolve(t, s, byName(want.Name))
		if got.Image != want.Image(want.Newest().Version) || got.Line != want.Newest().Line || got.Source != v1alpha2.ConfigSourceEmbedded || got.Base == "" {
			t.Errorf("%s resolves to %+v, want the image of release %s and an embedded base", want.Name, got, want.Newest().Version)
		}
		// Proves: L-16.
		if _, tag, ok := strings.Cut(images[want.Name][strings.LastIndex(images[want.Name], "/"):], ":"); !ok || tag == "latest" {
			t.Errorf("%s: image %s is not pinned", want.Name, images[want.Name])
		}
	}
}

// Proves: R14, R28.
func TestImageOfABuiltInDistribution(t *testing.T) {
	want := resolved{"starter", starterImage, catalog.Newest(), "the operator's list of distributions", "starter", "embedded"}
	if diff := cmp.Diff(want, resolve(t, parse(t, nil), byImage(starterImage))); diff != "" {
		t.Errorf("resolved to (-want +got):\n%s", diff)
	}
}

// Proves: R47, NFR-004 (the error suggests the nearest known name).
func TestUnknownName(t *testing.T) {
	s := parse(t, map[string]string{"distributions": light})
	for name, hint := range map[string]string{"startre": `did you mean "starter"? `, "something-else-altogether": ""} {
		d, f := s.Resolve(byName(name))
		if d != nil || f == nil {
			t.Fatalf("%s resolves to %+v", name, d)
		}
		want := `spec.distribution.name: Unsupported value: "` + name + `": ` + hint +
			"known distributions: light, meta-reference-gpu, postgres-demo, remote-vllm, starter; an administrator can " +
			"register more with a ConfigMap, as in config/samples/settings/registered-distribution.yaml"
		if f.String() != want {
			t.Errorf("message\n%s\nwant\n%s", f.String(), want)
		}
		if f.Class != problem.Terminal || f.Condition != v1alpha2.ConditionConfigGenerated || f.Reason != problem.UnknownDistribution {
			t.Errorf("fault %+v", f)
		}
	}
}

// Proves: R52, NFR-004 (v1alpha1 admits a resource without name and image; it is an error, and no server is created).
func TestNeitherNameNorImage(t *testing.T) {
	s := parse(t, map[string]string{"distributions": light})
	for _, spec := range []*v1alpha2.DistributionSpec{{}, byName(""), byImage("")} {
		d, f := s.Resolve(spec)
		if d != nil || f == nil {
			t.Fatalf("resolves to %+v", d)
		}
		const want = "spec.distribution: Required value: set a name or an image: for example name: starter"
		if f.String() != want || f.Class != problem.Terminal || f.Condition != v1alpha2.ConditionConfigGenerated || f.Reason != problem.MissingField {
			t.Errorf("fault %+v, want %s", f, want)
		}
	}
}

// Proves: L-35.
func TestInvalidRegistration(t *testing.T) {
	const right = "\nright: {image: 'registry.example/right:0.7.1'}"
	for name, c := range map[string]struct{ name, entry, message string }{
		"no image":          {"wrong", "{serverVersion: '0.7.1'}", "image is missing"},
		"null":              {"wrong", "null", "image is missing"},
		"unknown key":       {"wrong", "{image: a, imagee: b}", `imagee: unknown field: did you mean "image"? known fields: config, image, mountPath, serverVersion`},
		"no release":        {"wrong", "{image: a, serverVersion: nightly}", "serverVersion: must be the release"},
		"not a map":         {"wrong", "just text", "expected a map, got text"},
		"a list":            {"wrong", "[a]", "expected a map, got a list"},
		"config not a map":  {"wrong", "{image: a, config: 'text'}", "config"},
		"config not YAML":   {"wrong", "{image: a, config: '{'}", "config"},
		"unusable name":     {"../wrong", "{image: a}", "a name must consist of"},
		"name in uppercase": {"Wrong", "{image: a}", "a name must consist of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, map[string]string{"distributions": `"` + c.name + `": ` + c.entry + right})
			if got := resolve(t, s, byName("right")); got.Line != "0.7" {
				t.Errorf("the right entry resolves to %+v", got)
			}
			if got := resolve(t, s, byName("starter")); got.Base != "starter" {
				t.Errorf("starter resolves to %+v", got)
			}
			d, f := s.Resolve(byName(c.name))
			if f == nil {
				t.Fatalf("resolves to %+v", d)
			}
			for _, part := range []string{"operator settings: llama-stack-operator-config/distributions[" + c.name + "]: ", c.message} {
				if !strings.Contains(f.String(), part) {
					t.Errorf("message %q, want %q in it", f.String(), part)
				}
			}
			if f.Class != problem.Terminal || f.Reason != problem.InvalidOperatorSettings || f.Condition != v1alpha2.ConditionConfigGenerated {
				t.Errorf("fault %+v", f)
			}
		})
	}
}

// Proves: L-35.
func TestInvalidOverride(t *testing.T) {
	for _, value := range []string{"''", "null", "[a]", "{image: a}"} {
		s := parse(t, map[string]string{settings.KeyImageOverrides: "wrong: " + value + "\nremote-vllm: 'mirror.example/remote:0.7.1'"})
		if got := resolve(t, s, byName("remote-vllm")); got.Image != "mirror.example/remote:0.7.1" || got.Base == "" {
			t.Errorf("%s: the right entry resolves to %+v", value, got)
		}
		_, f := s.Resolve(byName("wrong"))
		if f == nil || f.Reason != problem.InvalidOperatorSettings || !strings.Contains(f.String(), "llama-stack-operator-config/image-overrides[wrong]: ") {
			t.Errorf("%s: fault %+v", value, f)
		}
		if _, shown := s.Images()["wrong"]; shown {
			t.Errorf("%s: the wrong entry is offered", value)
		}
	}
}

func TestEmptyKeys(t *testing.T) {
	for _, key := range []string{settings.KeyImageOverrides, settings.KeyDistributions} {
		for _, text := range []string{"", "\n", "{}", "null", "# nothing yet\n"} {
			if s, err := settings.Parse(map[string]string{key: text}); err != nil || len(s.Problems()) > 0 {
				t.Errorf("%s: %q: %v, want it to mean nothing", key, text, err)
			}
		}
	}
	if _, err := settings.Parse(map[string]string{"featureFlags": "enableNetworkPolicy: {enabled: true}", "other": "x"}); err != nil {
		t.Errorf("an unrelated key: %v", err)
	}
}

// Proves: NFR-001.
func TestResolveIsDeterministic(t *testing.T) {
	data := map[string]string{"distributions": `
b: {image: registry.example/one:0.7.1}
a: {image: registry.example/one:0.7.1}
c: {image: registry.example/one:0.7.1}
`}
	want := resolve(t, parse(t, data), byImage("registry.example/one:0.7.1"))
	for range 100 {
		if diff := cmp.Diff(want, resolve(t, parse(t, data), byImage("registry.example/one:0.7.1"))); diff != "" {
			t.Fatalf("resolved differently:\n%s", diff)
		}
	}
}

// A change of the returned map must not change the settings, which reconciles share.
func TestImagesIsACopy(t *testing.T) {
	s := parse(t, nil)
	s.Images()["starter"] = "changed"
	if got := s.Images()["starter"]; got != starterImage {
		t.Errorf("starter is %s", got)
	}
}

// Proves: R63 (an unbounded image reference could make the status too large to store).
func TestImageHasABound(t *testing.T) {
	s := parse(t, nil)
	for length, want := range map[int]string{
		limits.ImageBytes:     "",
		limits.ImageBytes + 1: "spec.distribution.image: Too long: may not be more than 1024 bytes: use the form registry/repository:tag or registry/repository@digest",
	} {
		image := strings.Repeat("a", length)
		got := ""
		if _, p := s.Resolve(&v1alpha2.DistributionSpec{Image: &image}); p != nil {
			got = p.String()
		}
		if got != want {
			t.Errorf("an image of %d bytes: %q, want %q", length, got, want)
		}
	}
}

// Proves: R14, R47 (hints come before the settings, and an unknown name may have an image from a hint).
func TestCallerHintsTakePrecedence(t *testing.T) {
	s := parse(t, map[string]string{settings.KeyDistributions: light})
	base, err := serverconfig.ParseBase("mine", []byte("version: 2\n"))
	framework.NoError(t, err)
	d, f := s.ResolveWithHints(byName("light"), settings.Hints{Version: "0.6.1", VersionSource: "a flag", Base: base})
	if f != nil || d.Base != base || d.Source != v1alpha2.ConfigSourceRegistered || d.Line.Name != "0.6" || d.LineSource != "a flag" {
		t.Errorf("%+v, %v", d, f)
	}
	d, f = s.ResolveWithHints(byName("unknown"), settings.Hints{Image: "registry.example/unknown:0.7.1"})
	if f != nil || d.Image != "registry.example/unknown:0.7.1" || d.ImageSource != "the caller" || d.Name != "unknown" || d.Line.Name != "0.7" || d.Base != nil {
		t.Errorf("%+v, %v", d, f)
	}
}
