// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// registration returns a ConfigMap that registers a distribution; keys and values alternate.
func registration(configMap, name string, pairs ...string) *settings.Registered {
	data := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = pairs[i+1]
	}
	return settings.ParseRegistration(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMap, Labels: map[string]string{settings.LabelDistribution: name}}, Data: data,
	})
}

const (
	ownImage  = "registry.example/ai/server:nightly"
	ownConfig = "version: 2\nproviders: {inference: []}\n"
)

func registered(configMap, name string) *settings.Registered {
	return registration(configMap, name, "image", ownImage, "serverVersion", "0.7.1", "config.yaml", ownConfig)
}

// Proves: R81, R47 (the ConfigMap comes before an entry of the key, an override and built-in distributions).
func TestRegistrationByItsOwnConfigMap(t *testing.T) {
	want := resolved{"mine", ownImage, "0.7", "serverVersion in ConfigMap the-map", "mine", "registered"}
	for name, data := range map[string]map[string]string{
		"alone":                nil,
		"with an entry":        {settings.KeyDistributions: "mine: {image: 'registry.example/old:0.6.1'}"},
		"with a broken entry":  {settings.KeyDistributions: "mine: [\nother: {image: 'x:0.7.1'}"},
		"with an override":     {settings.KeyImageOverrides: "mine: registry.example/old:0.6.1"},
		"with unreadable keys": {settings.KeyDistributions: "- mine: [", settings.KeyImageOverrides: "{mine: " + ownImage},
	} {
		s, err := settings.Parse(data, registered("the-map", "mine"))
		framework.NoError(t, err)
		if diff := cmp.Diff(want, resolve(t, s, byName("mine"))); diff != "" {
			t.Errorf("%s: by name (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, resolve(t, s, byImage(ownImage))); diff != "" {
			t.Errorf("%s: by image (-want +got):\n%s", name, diff)
		}
	}
	s, err := settings.Parse(nil, registered("the-map", "starter"))
	framework.NoError(t, err)
	if got := resolve(t, s, byName("starter")); got.Image != ownImage || got.Source != "registered" {
		t.Errorf("in place of a built-in one: %+v", got)
	}
	s, _ = settings.Parse(map[string]string{settings.KeyDistributions: "mine: {image: 'x:0.7.1'}"}, registered("the-map", "mine"))
	const shadowed = "llama-stack-operator-config/distributions[mine]: has no effect, because ConfigMap the-map registers the name: remove this entry"
	if p := s.Problems(); len(p) != 1 || !p[0].Warning || p[0].ConfigMap != settings.ConfigMapName || p[0].Err.Error() != shadowed {
		t.Errorf("an entry without effect: %v", p)
	}
}

// Proves: R81, NFR-004 (the message has the ConfigMap and the key).
func TestInvalidRegistrationAffectsOnlyItsName(t *testing.T) {
	const ok = "registry.example/wrong:0.7.1"
	binary := settings.ParseRegistration(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "the-map", Labels: map[string]string{settings.LabelDistribution: "wrong"}},
		Data:       map[string]string{"image": ok}, BinaryData: map[string][]byte{"config.yaml": {0xff}},
	})
	for name, c := range map[string]struct {
		name    string
		own     *settings.Registered
		message string
	}{
		"no image":     {"wrong", registration("the-map", "wrong", "serverVersion", "0.7.1"), "image is missing"},
		"no release":   {"wrong", registration("the-map", "wrong", "image", ok, "serverVersion", "nightly"), "serverVersion: must be the release"},
		"not YAML":     {"wrong", registration("the-map", "wrong", "image", ok, "config.yaml", "version: 2\napis: [\n"), "config.yaml: base configuration wrong: not YAML: line 2"},
		"unknown key":  {"wrong", registration("the-map", "wrong", "image", ok, "config.yml", "x"), `data[config.yml]: Unsupported value: did you mean "config.yaml"? known keys: image, serverVersion, config.yaml, mountPath`},
		"no path":      {"wrong", registration("the-map", "wrong", "image", ok, "mountPath", "data"), `mountPath: Invalid value: "data": must be an absolute path other than /, /etc/llama-stack and /tmp`},
		"root":         {"wrong", registration("the-map", "wrong", "image", ok, "mountPath", "/x/.."), `mountPath: Invalid value: "/x/..": must be`},
		"not text":     {"wrong", binary, "binaryData[config.yaml]: the value is not UTF-8 text"},
		"upper case":   {"Wrong", registration("the-map", "Wrong", "image", ok), "a name must consist of lower-case letters"},
		"one too many": {"wrong", settings.RefuseRegistration("the-map", "wrong"), "there are more than 100 ConfigMaps with the label llamastack.io/distribution"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := settings.Parse(nil, c.own, registered("right", "right"))
			framework.NoError(t, err)
			for _, other := range []string{"right", "starter"} {
				resolve(t, s, byName(other))
			}
			_, p := s.Resolve(byName(c.name))
			if p == nil || p.Reason != problem.InvalidOperatorSettings || !strings.Contains(p.String(), "operator settings: ConfigMap the-map: ") ||
				!strings.Contains(p.String(), c.message) || !strings.HasSuffix(p.String(), "correct the ConfigMap the-map") {
				t.Errorf("%v, want %s", p, c.message)
			}
			if got := s.Problems(); len(got) != 1 || got[0].ConfigMap != "the-map" || got[0].Warning || !strings.Contains(got[0].Err.Error(), c.message) {
				t.Errorf("problems %v", got)
			}
		})
	}
	s, err := settings.Parse(nil, registration("the-map", "wrong", "image", ok, "config.yaml", "{"), registration("for-starter", "starter", "image", ""), registered("", ""))
	framework.NoError(t, err)
	for _, image := range []string{ok, "registry.example/wrong:0.7.2", starterImage} {
		if d, p := s.Resolve(byImage(image)); p == nil || p.Reason != problem.InvalidOperatorSettings {
			t.Errorf("%s: its registration is broken, and it resolves to %+v", image, d)
		}
	}
	if _, p := s.Resolve(byName("unknown")); p == nil || strings.Contains(p.String(), ": ,") || p.Reason != problem.UnknownDistribution {
		t.Errorf("a label without a name: %v", p)
	}
}

// Proves: R81 (a registration has the default of workload.storage.mountPath, in either form).
func TestRegistrationHasAMountPath(t *testing.T) {
	const at = "/opt/app-root/src/.llama"
	s, err := settings.Parse(map[string]string{settings.KeyDistributions: "entry: {image: 'registry.example/entry:0.7.1', mountPath: " + at + "}"},
		registration("the-map", "mine", "image", "registry.example/mine:0.7.1", "mountPath", at))
	framework.NoError(t, err)
	for _, spec := range []*v1alpha2.DistributionSpec{byName("entry"), byName("mine"), byImage("registry.example/mine:0.7.2")} {
		if d, p := s.Resolve(spec); p != nil || d.MountPath != at {
			t.Errorf("%+v, %v", d, p)
		}
	}
	if d, p := s.Resolve(byName("starter")); p != nil || d.MountPath != "" {
		t.Errorf("%+v, %v", d, p)
	}
}

// Proves: R81 (both are reported).
func TestTwoConfigMapsForOneName(t *testing.T) {
	for range 20 {
		s, err := settings.Parse(nil, registered("b", "mine"), registered("a", "mine"), registered("c", "other"))
		framework.NoError(t, err)
		resolve(t, s, byName("other"))
		const want = `several ConfigMaps register the name "mine": a, b: delete all but one`
		if _, p := s.Resolve(byName("mine")); p == nil || !strings.Contains(p.String(), want) {
			t.Fatal(p)
		}
		var got []string
		for _, p := range s.Problems() {
			got = append(got, fmt.Sprintf("%s: %v", p.ConfigMap, p.Err))
		}
		if diff := cmp.Diff([]string{"a: ConfigMap a: " + want, "b: ConfigMap b: " + want}, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
