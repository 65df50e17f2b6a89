// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"bytes"
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

const content = "version: 2\n"

var (
	encoded = base64.StdEncoding.EncodeToString([]byte(content))
	layer   = "sha256:" + strings.Repeat("0a", 32)
)

// Proves: R14, FR-027a, FR-027b (labels contain release and configuration, by precedence).
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   oci.Labels
	}{
		"none":                                   {nil, oci.Labels{}},
		"of others":                              {map[string]string{"maintainer": "me", "com.ogx.distribution.name": "starter"}, oci.Labels{}},
		"a build of OGX":                         {ogx(nil), oci.Labels{Version: "1.4.0", VersionLabel: "com.ogx.distribution.version", Config: []byte(content), ConfigLabel: "com.ogx.config.config.yaml"}},
		"another default":                        {ogx(map[string]string{"com.ogx.distribution.default-config": "run.yaml", "com.ogx.config.run.yaml": base64.StdEncoding.EncodeToString([]byte("a: b"))}), oci.Labels{Version: "1.4.0", VersionLabel: "com.ogx.distribution.version", Config: []byte("a: b"), ConfigLabel: "com.ogx.config.run.yaml"}},
		"a config without a word of the default": {map[string]string{"com.ogx.config.config.yaml": encoded}, oci.Labels{Config: []byte(content), ConfigLabel: "com.ogx.config.config.yaml"}},
		"base64 goes before the layer, both before OGX": {
			ogx(map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString([]byte("mine: 1")), oci.LabelConfigLayer: layer, oci.LabelConfigPath: "/a"}),
			oci.Labels{Version: "1.4.0", VersionLabel: "com.ogx.distribution.version", Config: []byte("mine: 1"), ConfigLabel: oci.LabelConfigBase64},
		},
		"a layer": {
			ogx(map[string]string{oci.LabelConfigLayer: layer, oci.LabelConfigPath: "/app/config.yaml"}),
			oci.Labels{Version: "1.4.0", VersionLabel: "com.ogx.distribution.version", Layer: &oci.Layer{Digest: layer, Path: "app/config.yaml"}},
		},
		"the schema version, which is not the release": {
			map[string]string{oci.LabelConfigBase64: encoded, oci.LabelConfigVersion: " 2\n"},
			oci.Labels{Config: []byte(content), ConfigLabel: oci.LabelConfigBase64, SchemaVersion: "2"},
		},
		"wrapped base64": {
			map[string]string{oci.LabelConfigBase64: encoded[:4] + "\n" + encoded[4:] + "\n"},
			oci.Labels{Config: []byte(content), ConfigLabel: oci.LabelConfigBase64},
		},
		"a newer release":            {map[string]string{"com.ogx.distribution.version": "9.1.0"}, oci.Labels{Version: "9.1.0", VersionLabel: "com.ogx.distribution.version"}},
		"no release":                 {map[string]string{"com.ogx.distribution.version": "main", oci.LabelImageVersion: "0.7.1"}, oci.Labels{Version: "0.7.1", VersionLabel: oci.LabelImageVersion}},
		"of the operating system":    {map[string]string{oci.LabelImageVersion: "24.04"}, oci.Labels{}},
		"of another base image":      {map[string]string{oci.LabelImageVersion: "9.4"}, oci.Labels{}},
		"OGX's own before the other": {map[string]string{"com.ogx.distribution.version": "1.4.1", oci.LabelImageVersion: "0.7.1"}, oci.Labels{Version: "1.4.1", VersionLabel: "com.ogx.distribution.version"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := oci.Read(c.labels)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ogx returns the labels of an OGX build and additional ones.
func ogx(others map[string]string) map[string]string {
	labels := map[string]string{
		"com.ogx.distribution.name": "starter", "com.ogx.distribution.version": "1.4.0", "com.ogx.distribution.default-config": "config.yaml",
		"com.ogx.distribution.configs": "config.yaml", "com.ogx.config.config.yaml": encoded, oci.LabelImageVersion: "1.4.0",
	}
	maps.Copy(labels, others)
	return labels
}

// Proves: R14 (an unusable label is named and differs from a missing one).
func TestReadRefuses(t *testing.T) {
	for want, labels := range map[string]map[string]string{
		"label io.llamastack.config.base64: not base64":                                 {oci.LabelConfigBase64: "%%%"},
		"label io.llamastack.config.base64 is empty":                                    {oci.LabelConfigBase64: ""},
		"label io.llamastack.config.base64: the configuration is larger":                {oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(make([]byte, 1<<20+1))},
		"label com.ogx.config.config.yaml: not base64":                                  {"com.ogx.config.config.yaml": "a: b"},
		`names the file "x.yaml", but there is no label com.ogx.config.x.yaml`:          {"com.ogx.distribution.default-config": "x.yaml"},
		"label io.llamastack.config.layer also needs label io.llamastack.config.path":   {oci.LabelConfigLayer: layer},
		"label io.llamastack.config.layer: must be the digest":                          {oci.LabelConfigPath: "/a"},
		"label io.llamastack.config.layer: must be the digest of a layer, sha256: and ": {oci.LabelConfigLayer: "sha256:12", oci.LabelConfigPath: "/a"},
		"label io.llamastack.config.path: must be the path of a file":                   {oci.LabelConfigLayer: layer, oci.LabelConfigPath: "../a"},
	} {
		if _, err := oci.Read(labels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// Proves: R14 (a configuration of the documented limit is read).
func TestReadAcceptsLargestConfiguration(t *testing.T) {
	largest := make([]byte, 1<<20)
	l, err := oci.Read(map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(largest)})
	if err != nil || !bytes.Equal(l.Config, largest) {
		t.Errorf("%d bytes, %v", len(l.Config), err)
	}
}

func TestDecode(t *testing.T) {
	want := map[string]string{"a": "b"}
	for _, text := range []string{`{"a": "b"}`, `{"architecture": "amd64", "config": {"Labels": {"a": "b"}}}`, `{"Config": {"Labels": {"a": "b"}}}`} {
		got, err := oci.Decode([]byte(text))
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{}`, `{"config": {}}`, `{"config": {"Labels": null}}`} {
		if got, err := oci.Decode([]byte(text)); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `null`, `[]`, `"a"`, `{"a": 1}`, `{"config": 1}`, `a: b`} {
		if got, err := oci.Decode([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzRead checks that no labels cause a panic, and that the configuration has exactly one source.
func FuzzRead(f *testing.F) {
	f.Add(encoded, layer, "/a", "config.yaml", encoded, "1.4.0")
	f.Add("", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, base64, layer, path, file, config, version string) {
		l, err := oci.Read(map[string]string{
			oci.LabelConfigBase64: base64, oci.LabelConfigLayer: layer, oci.LabelConfigPath: path,
			oci.LabelDefaultConfig: file, "com.ogx.config." + file: config, oci.LabelDistributionVersion: version,
		})
		if err == nil && (l.Layer != nil) == (l.Config != nil) {
			t.Errorf("%+v", l)
		}
	})
}
