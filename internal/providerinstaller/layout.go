// SPDX-License-Identifier: Apache-2.0

package providerinstaller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in the directory that the containers of a pod share.
const (
	packagesDir  = "python-packages"
	manifestsDir = "metadata"
	programFile  = "bin/provider-installer"
)

// Source is the directory of the wheels in a provider's image.
const Source = "/lls-provider/packages"

// manifestSuffix is the file extension of a Manifest.
const manifestSuffix = ".json"

// Layout is the path of the directory that the containers of a pod share.
type Layout string

// Packages returns the directory of the Python packages, for PYTHONPATH.
func (l Layout) Packages() string { return filepath.Join(string(l), packagesDir) }

// Program returns the path of the installer.
func (l Layout) Program() string { return filepath.Join(string(l), programFile) }

// Manifest lists the distributions that a provider has installed.
type Manifest struct {
	Provider string `json:"provider"`
	// Module is the Python package whose module "provider" the server loads, if known.
	Module        string         `json:"module,omitempty"`
	Distributions []Distribution `json:"distributions"`
}

// Distribution is a Python distribution, from one wheel.
type Distribution struct {
	// Name and Version are as in the wheel.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Files maps paths below Layout.Packages to sums of their content.
	Files map[string]string `json:"files"`
}

// Prepare empties the directory, also after an earlier run, and copies the program to it.
func (l Layout) Prepare(program string) (err error) {
	for _, name := range []string{packagesDir, manifestsDir, filepath.Dir(programFile)} {
		dir := filepath.Join(string(l), name)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // other containers read it, perhaps as another user
			return err
		}
	}
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	//nolint:gosec // other users of the pod run it
	to, err := os.OpenFile(l.Program(), os.O_CREATE|os.O_EXCL|os.O_WRONLY,
		0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// others returns the manifests of the other providers, sorted by name.
func (l Layout) others(provider string) ([]Manifest, error) {
	dir := filepath.Join(string(l), manifestsDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []Manifest
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), manifestSuffix)
		if !ok || id == provider {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var m Manifest
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		list = append(list, m)
	}
	return list, nil
}

func (l Layout) record(m *Manifest) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	//nolint:gosec // other users of the pod read it
	return os.WriteFile(filepath.Join(string(l), manifestsDir, m.Provider+manifestSuffix), raw,
		0o644)
}

// find returns the wheels in a directory and the named ones, sorted and without duplicates.
func find(dir string, named []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && (len(named) == 0 || !errors.Is(err, os.ErrNotExist)) {
		return nil, err
	}
	var wheels []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), wheelSuffix) {
			wheels = append(wheels, filepath.Join(dir, e.Name()))
		}
	}
	for _, file := range named {
		wheels = append(wheels, filepath.Clean(file))
	}
	slices.Sort(wheels)
	return slices.Compact(wheels), nil
}
