// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	specparse "github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// needsOf returns the needs of a spec in JSON.
func needsOf(t *testing.T, spec string) []serverconfig.Need {
	t.Helper()
	parsed := &v1alpha2.LlamaStackDistributionSpec{}
	framework.NoError(t, json.Unmarshal([]byte(spec), parsed))
	return serverconfig.Needs(specparse.Parse(parsed))
}

const (
	withSafety = `{"providers": {"safety": {"provider": "llama-guard"}}}`
	withMeters = `{"monitoring": {"enabled": true}, "providers": {"safety": {"provider": "llama-guard"}}}`
)

// Proves: R90, R93 (the release of a built-in name and its reason).
func TestReleaseOfABuiltInName(t *testing.T) {
	const list, running = "the operator's list of distributions", "release line of the running server"
	for name, c := range map[string]struct {
		name, version, running, spec string
		image, line, source, note    string
	}{
		"nothing is asked": {
			"starter", "", "", "{}",
			"docker.io/ogxai/distribution-starter:<release>", "<line>", list, "",
		},
		"vLLM and pgvector": {
			"starter", "", "", `{"providers": {"inference": {"provider": "vllm"}, "vectorIo": {"provider": "pgvector"}}}`,
			"docker.io/ogxai/distribution-starter:<release>", "<line>", list, "",
		},
		"safety": {
			"starter", "", "", withSafety,
			"docker.io/ogxai/distribution-starter:0.7.1", "0.7", list,
			"release line 0.7 is used instead of <line>, because of spec.providers.safety (in release lines 0.3 to 0.8)",
		},
		"shields": {
			"remote-vllm", "", "", `{"resources": {"shields": ["llama-guard"]}}`,
			"docker.io/ogxai/distribution-starter:0.7.1", "0.7", list,
			"release line 0.7 is used instead of <line>, because of spec.resources.shields (in release lines 0.3 to 0.8)",
		},
		"disabled safety is not needed": {
			"starter", "", "", `{"disabled": ["safety"], "providers": {"safety": {"provider": "llama-guard"}}}`,
			"docker.io/ogxai/distribution-starter:<release>", "<line>", list, "",
		},
		"a provider type that has gone": {
			"postgres-demo", "", "", `{"providers": {"inference": {"provider": "inline::transformers"}}}`,
			"docker.io/ogxai/distribution-postgres-demo:1.1.3", "1.1", list,
			"release line 1.1 is used instead of <line>, because of spec.providers.inference.provider (in release lines 0.7 to 1.1)",
		},
		"a provider type that no release line has": {
			"starter", "", "", `{"providers": {"inference": {"provider": "remote::mine"}, "safety": {"provider": "llama-guard"}}}`,
			"docker.io/ogxai/distribution-starter:0.7.1", "0.7", list,
			"release line 0.7 is used instead of <line>, because of spec.providers.safety (in release lines 0.3 to 0.8)",
		},
		"a release line": {
			"starter", "1.3", "", withSafety,
			"docker.io/ogxai/distribution-starter:1.3.1", "1.3", "spec.distribution.version", "",
		},
		"a release line that is never chosen by itself": {
			"starter", "0.8", "", "{}",
			"docker.io/ogxai/distribution-starter:0.8.0", "0.8", "spec.distribution.version", "",
		},
		"a release": {
			"postgres-demo", "1.2.1", "0.7", "{}",
			"docker.io/ogxai/distribution-postgres-demo:1.2.1", "1.2", "spec.distribution.version", "",
		},
		"a server runs": {
			"starter", "", "0.7", "{}",
			"docker.io/ogxai/distribution-starter:0.7.1", "0.7", running,
			"the server stays on release line 0.7; <line> is available: run `kubectl llamastack upgrade-check`, then set spec.distribution.version",
		},
		"a server of another patch release runs": {
			"starter", "", "1.4.0", withSafety,
			"docker.io/ogxai/distribution-starter:1.4.0", "1.4", running,
			"the server stays on release line 1.4; <line> is available: run `kubectl llamastack upgrade-check`, then set spec.distribution.version",
		},
		"a server of the newest release line runs": {
			"starter", "", "<line>", "{}",
			"docker.io/ogxai/distribution-starter:<release>", "<line>", list, "",
		},
		"a server of the release line that the spec asks for runs": {
			"starter", "", "0.7", withSafety,
			"docker.io/ogxai/distribution-starter:0.7.1", "0.7", list,
			"release line 0.7 is used instead of <line>, because of spec.providers.safety (in release lines 0.3 to 0.8)",
		},
		"a server runs that lacks what the spec asks for": {
			"starter", "", "1.4", withMeters,
			"docker.io/ogxai/distribution-starter:1.4.1", "1.4", running,
			"the server stays on release line 1.4; <line> is available: run `kubectl llamastack upgrade-check`, then set spec.distribution.version",
		},
		"a server of another distribution runs": {
			"meta-reference-gpu", "", "<line>", "{}",
			"docker.io/ogxai/distribution-meta-reference-gpu:0.4.7", "0.4", list, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := byName(c.name)
			if c.version = fill(c.version); c.version != "" {
				spec.Version = &c.version
			}
			d, f := parse(t, nil).ResolveWithHints(spec, settings.Hints{Running: fill(c.running), Needs: needsOf(t, c.spec)})
			if f != nil {
				t.Fatal(f)
			}
			c.image, c.line, c.note = fill(c.image), fill(c.line), fill(c.note)
			if d.Image != c.image || d.Line.Name != c.line || d.LineSource != c.source || d.Note != c.note {
				t.Errorf("image %s, line %s (%s), note %q\nwant image %s, line %s (%s), note %q", d.Image, d.Line.Name, d.LineSource, d.Note, c.image, c.line, c.source, c.note)
			}
			if newer := strings.Contains(c.note, "is available"); (d.Newer == catalog.Newest()) != newer || (d.Newer == "") == newer {
				t.Errorf("newer release line %q, note %q", d.Newer, d.Note)
			}
			if d.Base == nil || d.Source != v1alpha2.ConfigSourceEmbedded {
				t.Errorf("base %v of %s", d.Base, d.Source)
			}
		})
	}
}

// Proves: R90, NFR-004 (missing versions, and requirements that no release line meets together, are named).
func TestMissingReleases(t *testing.T) {
	for name, c := range map[string]struct {
		name, version, spec string
		reason              problem.Reason
		message             string
	}{
		"no release line has both": {
			"starter", "", withMeters, problem.UnsupportedByRelease,
			`spec.distribution.name: Invalid value: "starter": no release line of the distribution supports everything in the spec: ` +
				"spec.providers.safety (in release lines 0.3 to 0.8), spec.monitoring.enabled (in release lines 1.2 and newer): remove one of them",
		},
		"a release line without a base": {
			"meta-reference-gpu", "<line>", "{}", problem.UnsupportedRelease,
			`spec.distribution.version: Unsupported value: "<line>": distribution meta-reference-gpu has no such release: it has the release lines 0.3, 0.4`,
		},
		"too old": {
			"starter", "0.2.12", "{}", problem.UnsupportedRelease,
			`spec.distribution.version: Unsupported value: "0.2.12": distribution starter has no such release: it has the release lines 0.3, 0.4, `,
		},
		"an unknown release line": {
			"starter", "99.1", "{}", problem.UnsupportedRelease,
			`spec.distribution.version: Unsupported value: "99.1": distribution starter has no such release`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := byName(c.name)
			if c.version = fill(c.version); c.version != "" {
				spec.Version = &c.version
			}
			d, f := parse(t, nil).ResolveWithHints(spec, settings.Hints{Needs: needsOf(t, c.spec)})
			if f == nil || f.Reason != c.reason || f.Class != problem.Terminal || !strings.HasPrefix(f.String(), fill(c.message)) {
				t.Errorf("%+v, %v; want %s", d, f, fill(c.message))
			}
		})
	}
}

// Proves: R90, R92 (version sets a release that is otherwise unknown, and an impossible version is an error).
func TestVersionOfAnImage(t *testing.T) {
	data := map[string]string{
		settings.KeyDistributions:  "full: {image: 'registry.example/full:nightly', serverVersion: '0.7.1'}\nbare: {image: 'registry.example/bare:nightly'}\n",
		settings.KeyImageOverrides: "starter: mirror.example/starter:0.7.1\npostgres-demo: mirror.example/demo:latest",
	}
	for name, c := range map[string]struct {
		spec               *v1alpha2.DistributionSpec
		version            string
		line, source, base string
		warning, message   string
	}{
		"an image by digest":       {byImage("registry.example/mine@" + digest), "1.4", "1.4", "spec.distribution.version", "", "", ""},
		"a moving tag of starter":  {byImage("ogxai/distribution-starter:latest"), "1.4.0", "1.4", "spec.distribution.version", "starter", "", ""},
		"the tag says the same":    {byImage("registry.example/mine:1.4.0"), "1.4", "1.4", "spec.distribution.version", "", "", ""},
		"the tag says another":     {byImage("registry.example/mine:1.3.0"), "1.4", "1.4", "spec.distribution.version", "", "is 1.4, but the image seems to contain release 1.3.0 (tag of image registry.example/mine:1.3.0)", ""},
		"a registration without":   {byName("bare"), "1.4", "1.4", "spec.distribution.version", "", "", ""},
		"the registration, too":    {byName("full"), "0.7", "0.7", "serverVersion in llama-stack-operator-config/distributions[full]", "", "", ""},
		"an override without":      {byName("postgres-demo"), "1.3", "1.3", "spec.distribution.version", "postgres-demo", "", ""},
		"the registration differs": {byName("full"), "1.4", "", "", "", "", `spec.distribution.version: Invalid value: "1.4": the image contains release 0.7.1 (serverVersion in llama-stack-operator-config/distributions[full])`},
		"the override differs":     {byName("starter"), "1.4", "", "", "", "", `spec.distribution.version: Invalid value: "1.4": the image contains release 0.7.1 (tag of image mirror.example/starter:0.7.1)`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := *c.spec
			spec.Version = &c.version
			d, f := parse(t, data).Resolve(&spec)
			switch {
			case c.message != "":
				if f == nil || !strings.HasPrefix(f.String(), c.message) || f.Reason != problem.ConflictingFields {
					t.Errorf("%+v, %v; want %s", d, f, c.message)
				}
				return
			case f != nil:
				t.Fatal(f)
			}
			base := ""
			if d.Base != nil {
				base = d.Base.Name()
			}
			if d.Line == nil || d.Line.Name != c.line || d.LineSource != c.source || base != c.base {
				t.Errorf("%+v", d)
			}
			if text := d.Warnings.Message(); !strings.Contains(text, c.warning) || (c.warning == "") != (text == "") {
				t.Errorf("warnings %s, want %s", text, c.warning)
			}
		})
	}
}
