// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// The labels that Read uses.
const (
	// LabelConfigBase64 holds the configuration in base64.
	LabelConfigBase64 = "io.llamastack.config.base64"
	// LabelConfigLayer and LabelConfigPath name the layer and path of the configuration.
	LabelConfigLayer = "io.llamastack.config.layer"
	LabelConfigPath  = "io.llamastack.config.path"
	// LabelConfigVersion is the schema version of the configuration.
	LabelConfigVersion = "io.llamastack.config.version"
	// LabelDistributionVersion is the server release, as OGX builds write it.
	LabelDistributionVersion = "com.ogx.distribution.version"
	// LabelDefaultConfig selects one of the labels with labelConfigPrefix.
	LabelDefaultConfig = "com.ogx.distribution.default-config"
	// LabelImageVersion is the standard version label of any image.
	LabelImageVersion = "org.opencontainers.image.version"

	labelConfigPrefix = "com.ogx.config."
	defaultConfig     = "config.yaml"
)

// maxText bounds the other labels, in bytes.
const maxText = 1 << 10

// maxConfig bounds a configuration, in bytes; the generated one must fit into a ConfigMap.
const maxConfig = 1 << 20

// Labels are the parsed labels of an image; the zero value has none.
type Labels struct {
	// Version is the server release and VersionLabel its label; empty if unknown.
	Version, VersionLabel string
	// Config is the configuration and ConfigLabel its label; empty if no label holds one.
	Config      []byte
	ConfigLabel string
	// SchemaVersion is the text of LabelConfigVersion; empty if the label is missing.
	SchemaVersion string
	// Layer locates a configuration in a layer; nil if no label does.
	Layer *Layer
}

// Layer is a file in a layer of the image.
type Layer struct {
	// Digest is the digest of the layer.
	Digest string
	// Path is the path in the layer.
	Path string
}

// Read parses the labels of an image. The first configuration wins: LabelConfigBase64, then LabelConfigLayer, then the
// labels of OGX builds.
func Read(labels map[string]string) (*Labels, error) {
	l := &Labels{SchemaVersion: strings.TrimSpace(labels[LabelConfigVersion])}
	for _, name := range []string{LabelDistributionVersion, LabelImageVersion, LabelConfigVersion, LabelConfigPath,
		LabelDefaultConfig} {
		if len(labels[name]) > maxText {
			return &Labels{}, fmt.Errorf("label %s is longer than %d bytes", name, maxText)
		}
	}
	l.readVersion(labels)
	if encoded, ok := labels[LabelConfigBase64]; ok {
		err := l.decode(LabelConfigBase64, encoded)
		return l, err
	}
	if labels[LabelConfigLayer] != "" || labels[LabelConfigPath] != "" {
		err := l.readLayer(labels)
		return l, err
	}
	file, named := labels[LabelDefaultConfig]
	if !named {
		file = defaultConfig
	}
	label := labelConfigPrefix + file
	encoded, ok := labels[label]
	switch {
	case ok:
		err := l.decode(label, encoded)
		return l, err
	case named:
		return l, fmt.Errorf("label %s names the file %q, but there is no label %s", LabelDefaultConfig, file, label)
	}
	return l, nil
}

// readVersion sets the release. LabelImageVersion counts only with a known release line, because images inherit it from
// base images such as an operating system.
func (l *Labels) readVersion(labels map[string]string) {
	if v := labels[LabelDistributionVersion]; match(v) != catalog.NoVersion {
		l.Version, l.VersionLabel = v, LabelDistributionVersion
	} else if v := labels[LabelImageVersion]; match(v) == catalog.KnownLine {
		l.Version, l.VersionLabel = v, LabelImageVersion
	}
}

func match(version string) catalog.VersionMatch {
	_, match := catalog.ForVersion(version)
	return match
}

// decode sets the configuration from base64. It ignores white space, because some tools wrap lines.
func (l *Labels) decode(label, encoded string) error {
	encoded = strings.Join(strings.Fields(encoded), "")
	content, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return fmt.Errorf("label %s: not base64: %w", label, err)
	case len(content) > maxConfig:
		return fmt.Errorf("label %s: the configuration is larger than %d bytes", label, maxConfig)
	case len(content) == 0:
		return fmt.Errorf("label %s is empty", label)
	}
	l.Config, l.ConfigLabel = content, label
	return nil
}

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (l *Labels) readLayer(labels map[string]string) error {
	at := &Layer{Digest: labels[LabelConfigLayer], Path: strings.TrimPrefix(path.Clean(labels[LabelConfigPath]), "/")}
	switch {
	case labels[LabelConfigPath] == "":
		return fmt.Errorf("label %s also needs label %s: the path of the configuration in the layer", LabelConfigLayer,
			LabelConfigPath)
	case !digest.MatchString(at.Digest):
		return fmt.Errorf("label %s: must be the digest of a layer, sha256: and 64 hexadecimal digits", LabelConfigLayer)
	case at.Path == "." || at.Path == ".." || strings.HasPrefix(at.Path, "../"):
		return fmt.Errorf("label %s: must be the path of a file in the layer", LabelConfigPath)
	}
	l.Layer = at
	return nil
}

var errNoLabels = errors.New(`must be a JSON object of labels and their values, or the configuration of an image: {"config": {"Labels": {…}}}`)

// Decode parses labels from JSON: an object of labels, or an image configuration.
func Decode(data []byte) (map[string]string, error) {
	limitsValue := limits.Limits{Bytes: len(data), Levels: limits.DocumentLevels, Nodes: limits.DocumentNodes}
	if _, excess := limits.Scan(data, limitsValue); excess != nil {
		return nil, excess
	}
	var labels map[string]string
	if json.Unmarshal(data, &labels) == nil && labels != nil {
		return labels, nil
	}
	var image struct {
		Config *struct{ Labels map[string]string } `json:"config"`
	}
	if err := json.Unmarshal(data, &image); err != nil || image.Config == nil {
		return nil, errNoLabels
	}
	return image.Config.Labels, nil
}
