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

// The names below the directory that the containers of a pod share.
const (
	packagesDir  = "python-packages"
	manifestsDir = "metadata"
	programFile  = "bin/provider-installer"
)

// Source is where the image of a provider has its wheels.
const Source = "/lls-provider/packages"

// manifestSuffix ends the name of the file of a Manifest.
const manifestSuffix = ".json"

// Layout is the directory that the containers of a pod share.
type Layout string

// Packages is the directory of the Python packages, for PYTHONPATH.
func (l Layout) Packages() string { return filepath.Join(string(l), packagesDir) }

// Program is the file of the program that installs.
func (l Layout) Program() string { return filepath.Join(string(l), programFile) }

// Manifest is what one provider has installed.
type Manifest struct {
	// Provider is the id of the provider.
	Provider string `json:"provider"`
	// Module is the Python package of which the server loads the module "provider"; empty where that is not known.
	Module string `json:"module,omitempty"`
	// Distributions are the Python distributions, in the order of their wheels.
	Distributions []Distribution `json:"distributions"`
}

// Distribution is one Python distribution: what a wheel holds.
type Distribution struct {
	// Name is the name as the wheel writes it, and Version its version.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Files are the paths below Layout.Packages, each with a sum of its content.
	Files map[string]string `json:"files"`
}

// Prepare empties the directory, also of what an earlier run of the same pod left, and puts a copy of a program there.
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

// others reads the manifests of the other providers, in the order of their names.
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

// record writes the manifest of a provider.
func (l Layout) record(m *Manifest) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	//nolint:gosec // other users of the pod read it
	return os.WriteFile(filepath.Join(string(l), manifestsDir, m.Provider+manifestSuffix), raw,
		0o644)
}

// find returns the wheels in a directory and those that are named beside it, each once, in the order of their names.
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
