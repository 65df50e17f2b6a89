// SPDX-License-Identifier: Apache-2.0

package tlsprofile

import (
	"crypto/tls"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
)

func custom(version configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
	return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
		TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}}}
}

// Proves: TLSPROFILE (what cannot be used is Intermediate, with the reason).
func TestResolveFallsBackToIntermediate(t *testing.T) {
	aead := []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
	want := Settings{tls.VersionTLS12, aead, []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256, tls.CurveP384}}
	for name, c := range map[string]struct {
		profile *configv1.TLSSecurityProfile
		message string
	}{
		"no profile":             {nil, ""},
		"no type":                {&configv1.TLSSecurityProfile{}, ""},
		"Intermediate":           {&configv1.TLSSecurityProfile{Type: "Intermediate"}, ""},
		"an unknown type":        {&configv1.TLSSecurityProfile{Type: "Future"}, `type "Future" is unknown`},
		"no custom":              {&configv1.TLSSecurityProfile{Type: "Custom"}, "custom is missing"},
		"no ciphers":             {custom(configv1.VersionTLS12), "no supported cipher"},
		"only unknown ciphers":   {custom(configv1.VersionTLS12, "DHE-RSA-AES128-GCM-SHA256", "RC4-SHA"), "no supported cipher"},
		"an unknown TLS version": {custom("VersionTLS14", "AES128-SHA"), `minTLSVersion "VersionTLS14" is unknown`},
		"a long type":            {&configv1.TLSSecurityProfile{Type: configv1.TLSProfileType(strings.Repeat("x", 1<<20))}, "(cut)"},
	} {
		got, _, err := Resolve(c.profile)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", name, diff)
		}
		if c.message == "" && err != nil || c.message != "" && (err == nil || !strings.Contains(err.Error(), c.message) || len(err.Error()) > 5000) {
			t.Errorf("%s: error %.200v, want %q", name, err, c.message)
		}
	}
}

// Proves: TLSPROFILE (versions, ciphers and groups of each profile).
func TestResolve(t *testing.T) {
	grouped := custom(configv1.VersionTLS13)
	grouped.Custom.Groups = []configv1.TLSGroup{"secp384r1", "brainpool", "X25519"}
	for name, c := range map[string]struct {
		profile *configv1.TLSSecurityProfile
		version uint16
		ciphers int
		groups  int
		ignored []string
	}{
		"Old":                    {&configv1.TLSSecurityProfile{Type: "Old"}, tls.VersionTLS10, 18, 4, nil},
		"Modern":                 {&configv1.TLSSecurityProfile{Type: "Modern"}, tls.VersionTLS13, 0, 4, nil},
		"custom":                 {custom(configv1.VersionTLS11, "AES128-SHA", "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"), tls.VersionTLS11, 2, 0, []string{"DHE-RSA-AES128-GCM-SHA256"}},
		"no version":             {custom("", "AES128-SHA"), tls.VersionTLS12, 1, 0, nil},
		"only those of TLS 1.3":  {custom(configv1.VersionTLS12, "TLS_AES_128_GCM_SHA256"), tls.VersionTLS13, 0, 0, nil},
		"TLS 1.3 without a list": {custom(configv1.VersionTLS13), tls.VersionTLS13, 0, 0, nil},
		"groups":                 {grouped, tls.VersionTLS13, 0, 2, []string{"brainpool"}},
	} {
		got, ignored, err := Resolve(c.profile)
		if err != nil || got.MinVersion != c.version || len(got.CipherSuites) != c.ciphers || len(got.Groups) != c.groups || !slices.Equal(ignored, c.ignored) {
			t.Errorf("%s: %+v, ignored %v, %v", name, got, ignored, err)
		}
	}
}

// A new cipher suite of Go, or a new name in OpenShift's profiles, needs a row.
func TestTablesAreComplete(t *testing.T) {
	mapped := slices.Collect(maps.Values(suites))
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		switch {
		case slices.Contains(suite.SupportedVersions, tls.VersionTLS12):
			if !slices.Contains(mapped, suite.ID) && !strings.Contains(suite.Name, "RC4") {
				t.Errorf("%s has no row", suite.Name)
			}
		case !slices.Contains(modernSuites, suite.Name):
			t.Errorf("%s is not in the list of TLS 1.3", suite.Name)
		}
	}
	for name, profile := range configv1.TLSProfiles {
		_, ignored, err := settingsOf(profile)
		ignored = slices.DeleteFunc(ignored, func(cipher string) bool { // Go has none of these
			return slices.Contains([]string{"ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES256-SHA384", "AES256-SHA256"}, cipher)
		})
		if err != nil || len(ignored) > 0 {
			t.Errorf("%s: %v has no row, %v", name, ignored, err)
		}
	}
}
