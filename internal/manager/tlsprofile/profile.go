// SPDX-License-Identifier: Apache-2.0

package tlsprofile

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// versions are OpenShift's names of TLS versions.
var versions = map[configv1.TLSProtocolVersion]uint16{
	configv1.VersionTLS10: tls.VersionTLS10,
	configv1.VersionTLS11: tls.VersionTLS11,
	configv1.VersionTLS12: tls.VersionTLS12,
	configv1.VersionTLS13: tls.VersionTLS13,
}

// suites are OpenSSL's names of the cipher suites that Go has for TLS 1.2 and older. RC4 is left out: no profile of
// OpenShift has it.
var suites = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA256":     tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-SHA256":       tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-DES-CBC3-SHA":        tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA,
	"AES128-GCM-SHA256":             tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
	"AES256-GCM-SHA384":             tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	"AES128-SHA256":                 tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	"AES128-SHA":                    tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	"AES256-SHA":                    tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	"DES-CBC3-SHA":                  tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
}

// modernSuites are the cipher suites of TLS 1.3, which Go always has.
var modernSuites = []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}

// groups are OpenShift's names of the key exchange groups that Go has.
var groups = map[configv1.TLSGroup]tls.CurveID{
	configv1.TLSGroupX25519:             tls.X25519,
	configv1.TLSGroupSecP256r1:          tls.CurveP256,
	configv1.TLSGroupSecP384r1:          tls.CurveP384,
	configv1.TLSGroupSecP521r1:          tls.CurveP521,
	configv1.TLSGroupX25519MLKEM768:     tls.X25519MLKEM768,
	configv1.TLSGroupSecP256r1MLKEM768:  tls.SecP256r1MLKEM768,
	configv1.TLSGroupSecP384r1MLKEM1024: tls.SecP384r1MLKEM1024,
}

// Settings are what a profile changes in a tls.Config.
type Settings struct {
	MinVersion   uint16
	CipherSuites []uint16
	// Groups is nil if the profile leaves the choice to Go.
	Groups []tls.CurveID
}

// intermediate are the settings of the profile Intermediate.
var intermediate, _, _ = settingsOf(configv1.TLSProfiles[configv1.TLSProfileIntermediateType])

// Resolve returns the settings of a profile, and the names in it that Go does not have. It returns those of
// Intermediate for no profile, and with an error for one that cannot be used.
func Resolve(profile *configv1.TLSSecurityProfile) (s Settings, ignored []string, err error) {
	if profile == nil || profile.Type == "" {
		return intermediate, nil, nil
	}
	spec := configv1.TLSProfiles[profile.Type]
	if profile.Type == configv1.TLSProfileCustomType {
		if profile.Custom == nil {
			return intermediate, nil, errors.New("spec.tlsSecurityProfile.custom is missing")
		}
		spec = &profile.Custom.TLSProfileSpec
	}
	if spec == nil {
		return intermediate, nil, fmt.Errorf("spec.tlsSecurityProfile.type %q is unknown",
			limits.Message(string(profile.Type)))
	}
	s, ignored, err = settingsOf(spec)
	if err != nil {
		return intermediate, ignored, err
	}
	if profile.Type != configv1.TLSProfileCustomType {
		ignored = nil // known, and nothing that an administrator could change
	}
	return s, ignored, nil
}

// settingsOf returns the settings of a spec, and the names in it that Go does not have. The minimum version is TLS 1.2
// by default.
func settingsOf(spec *configv1.TLSProfileSpec) (s Settings, ignored []string, err error) {
	minVersion := cmp.Or(spec.MinTLSVersion, configv1.VersionTLS12)
	if s.MinVersion = versions[minVersion]; s.MinVersion == 0 {
		return s, nil, fmt.Errorf("minTLSVersion %q is unknown", limits.Message(string(minVersion)))
	}
	modern := false
	for _, name := range spec.Ciphers {
		suite, known := suites[name]
		switch {
		case known:
			s.CipherSuites = append(s.CipherSuites, suite)
		case slices.Contains(modernSuites, name):
			modern = true
		default:
			ignored = append(ignored, name)
		}
	}
	if len(s.CipherSuites) == 0 && s.MinVersion < tls.VersionTLS13 {
		if !modern {
			return s, ignored, errors.New("ciphers has no supported cipher")
		}
		s.MinVersion = tls.VersionTLS13 // no older version has one of the ciphers
	}
	for _, name := range spec.Groups {
		if group, known := groups[name]; known {
			s.Groups = append(s.Groups, group)
		} else {
			ignored = append(ignored, string(name))
		}
	}
	return s, ignored, nil
}
