// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

type platform struct{ os, arch string }

func (p platform) archive(version string) string {
	extension := "tar.gz"
	if p.os == "windows" {
		extension = "zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s.%s", pluginName, version, p.os, p.arch, extension)
}

func (p platform) program() string {
	if p.os == "windows" {
		return pluginName + ".exe"
	}
	return pluginName
}

// platforms returns the platforms for which the plugin was built, sorted.
func (r *release) platforms() ([]platform, error) {
	entries, err := os.ReadDir(filepath.Join(r.build, "plugin"))
	if err != nil {
		return nil, err
	}
	var list []platform
	for _, entry := range entries {
		system, arch, found := strings.Cut(entry.Name(), "-")
		if !found {
			return nil, fmt.Errorf("%s: must be OS-ARCH", entry.Name())
		}
		list = append(list, platform{system, arch})
	}
	return list, nil
}

func (r *release) plugins() error {
	platforms, err := r.platforms()
	if err != nil {
		return err
	}
	for _, p := range platforms {
		program := filepath.Join(r.build, "plugin", p.os+"-"+p.arch, p.program())
		files := []file{{p.program(), program, 0o755}, {"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644}}
		name := p.archive(r.version)
		if err := writeArchive(r.path(name), files); err != nil {
			return err
		}
		if err := r.sbom(program, name); err != nil {
			return err
		}
	}
	return nil
}

// krewPlugin is a plugin's manifest in krew's index: krew.googlecontainertools.github.com/v1alpha2.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	Sha256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func (r *release) krew() error {
	platforms, err := r.platforms()
	if err != nil {
		return err
	}
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": strings.TrimPrefix(pluginName, "kubectl-")},
		Spec: krewSpec{
			Version: "v" + r.version, Homepage: "https://github.com/llamastack/llama-stack-k8s-operator",
			ShortDescription: "Check and explain llama-stack servers",
			Description:      "Shows what the llama-stack operator generates from a LlamaStackDistribution, validates and converts it, and explains its fields.\n",
		},
	}
	for _, p := range platforms {
		entry := krewPlatform{URI: r.download + "/v" + r.version + "/" + p.archive(r.version), Bin: p.program()}
		entry.Selector.MatchLabels = map[string]string{"os": p.os, "arch": p.arch}
		if entry.Sha256, err = checksum(r.path(p.archive(r.version))); err != nil {
			return err
		}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, entry)
	}
	text, err := yaml.Marshal(plugin)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("llamastack.krew.yaml"), text, 0o644)
}
