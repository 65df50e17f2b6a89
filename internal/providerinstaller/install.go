// SPDX-License-Identifier: Apache-2.0

package providerinstaller

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// maxFiles and maxBytes are the limits for all providers of a pod together. The volume is slightly larger.
	maxFiles = 200_000
	maxBytes = 1_900 << 20
)

// Provider is a provider to install.
type Provider struct {
	ID string
	// Source is a directory whose wheels are installed, and Wheels are required ones, possibly elsewhere.
	Source string
	Wheels []string
	// Module is the Python package whose module "provider" the server loads, if known.
	Module string
}

// Install unpacks the wheels of a provider and records its manifest.
func (l Layout) Install(p *Provider) (*Manifest, error) {
	files, err := find(p.Source, p.Wheels)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("its image has no directory %s with wheels", p.Source)
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, fmt.Errorf("its image has no wheels in %s", p.Source)
	case len(files) > limits.ProviderWheels:
		return nil, fmt.Errorf("its image has %d wheels, and at most %d are installed", len(files), limits.ProviderWheels)
	}
	others, err := l.others(p.ID)
	if err != nil {
		return nil, err
	}
	into, err := os.OpenRoot(l.Packages())
	if err != nil {
		return nil, err
	}
	defer func() { _ = into.Close() }()
	i := &install{into: into, provider: p.ID, distributions: map[string]owner{}, files: map[string]owner{}, left: maxBytes}
	for n := range others {
		i.addManifest(&others[n])
	}
	m := &Manifest{Provider: p.ID, Module: p.Module}
	for _, file := range files {
		d, err := i.wheel(file)
		if err != nil {
			return nil, fmt.Errorf("wheel %s: %w", file, err)
		}
		if d != nil {
			m.Distributions = append(m.Distributions, *d)
		}
	}
	if !i.hasModule(p.Module) {
		return nil, fmt.Errorf("its packages have no module %s.provider, which the server requires: correct packageName in "+
			"the spec of the package", p.Module)
	}
	return m, l.record(m)
}

// install is the state of Install.
type install struct {
	into     *os.Root
	provider string
	// distributions maps normalized names, and files maps paths, to their owners.
	distributions, files map[string]owner
	// left is the number of bytes that may still be written, and count is the number of files.
	left  int64
	count int
}

// owner is the provider of a distribution or file.
type owner struct {
	provider string
	*Distribution
}

func (o owner) String() string {
	return fmt.Sprintf("%s %s of provider %s", o.Name, o.Version, o.provider)
}

// hasModule reports whether the module that the server loads is installed.
func (i *install) hasModule(module string) bool {
	if module == "" {
		return true
	}
	base := strings.ReplaceAll(module, ".", "/") + "/provider"
	for file := range i.files {
		if rest, found := strings.CutPrefix(file, base); found &&
			(rest == "/__init__.py" || strings.HasSuffix(rest, ".py") || strings.HasSuffix(rest, ".so")) {
			return true
		}
	}
	return false
}

// addManifest adds the distributions of another provider.
func (i *install) addManifest(m *Manifest) {
	for n := range m.Distributions {
		d := &m.Distributions[n]
		i.addOwner(owner{m.Provider, d})
		i.count += len(d.Files)
		for _, sum := range d.Files {
			i.left -= sizeIn(sum)
		}
	}
}

func (i *install) addOwner(o owner) {
	i.distributions[normalize(o.Name)] = o
	for file := range o.Files {
		i.files[file] = o
	}
}

var separators = regexp.MustCompile(`[-_.]+`)

// normalize normalizes the name of a distribution as Python's packaging does.
func normalize(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

// wheel installs a wheel; it returns nil if its distribution is already installed.
func (i *install) wheel(file string) (*Distribution, error) {
	w, err := open(file)
	if err != nil {
		return nil, err
	}
	defer w.close()
	d := &w.distribution
	if existing, found := i.distributions[normalize(d.Name)]; found {
		switch {
		case existing.Version != d.Version:
			return nil, fmt.Errorf("dependency conflict: it is %s %s, and there is %s: a server has one version of a "+
				"distribution", d.Name, d.Version, existing)
		case !maps.Equal(existing.Files, d.Files):
			return nil, fmt.Errorf("dependency conflict: it is another build of %s", existing)
		}
		return nil, nil
	}
	if i.count += len(d.Files); i.count > maxFiles {
		return nil, fmt.Errorf("the packages of all providers have more than %d files", maxFiles)
	}
	for _, at := range slices.Sorted(maps.Keys(d.Files)) {
		if existing, found := i.files[at]; found && existing.Files[at] != d.Files[at] {
			return nil, fmt.Errorf("dependency conflict: its file %s differs from that of %s", at, existing)
		}
		if err := i.checkParents(at); err != nil {
			return nil, err
		}
	}
	i.addOwner(owner{i.provider, d})
	return d, i.unpack(w)
}

// checkParents returns an error if a parent directory of the path is an installed file.
func (i *install) checkParents(at string) error {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if existing, found := i.files[dir]; found {
			return fmt.Errorf("dependency conflict: it has the file %s, and %s has the file %s", at, existing, dir)
		}
	}
	return nil
}

func (i *install) unpack(w *wheel) error {
	for _, m := range w.members {
		if err := i.into.MkdirAll(path.Dir(m.at), 0o755); err != nil {
			return err
		}
		written, err := m.write(i.into, i.left)
		if err != nil {
			return fmt.Errorf("file %s: %w", m.at, err)
		}
		i.left -= written
	}
	return nil
}
