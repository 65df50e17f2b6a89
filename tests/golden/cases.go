// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Case is a case of internal/serverconfig/testdata on a release line or a release.
type Case struct {
	Input serverconfig.Input
	// Server is the release line or the release, as in file names.
	Server string
	// Base is the text of the base configuration.
	Base []byte
	// OwnBase reports whether the case has its own base instead of the release line's starter base.
	OwnBase bool
}

// Expected returns the file with the expected result: the whole configuration if the case has its own base, or else the
// difference. Release lines with the same difference share a file.
func (c *Case) Expected(dir string) (string, error) {
	if c.OwnBase {
		return filepath.Join(dir, "want."+c.Server+".yaml"), nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "want.*.changes.yaml"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if slices.Contains(LinesOf(file), c.Server) {
			return file, nil
		}
	}
	return ChangesFile(dir, c.Server), nil
}

// ChangesFile returns the file of a difference that release lines share: want.0.3+0.7.changes.yaml.
func ChangesFile(dir string, lines ...string) string {
	return filepath.Join(dir, "want."+strings.Join(lines, "+")+".changes.yaml")
}

var linesInName = regexp.MustCompile(`^want\.(\d+\.\d+(?:\.\d+)?(?:\+\d+\.\d+(?:\.\d+)?)*)\.`)

// LinesOf returns the release lines and releases in the name of a file, or nil if the file is for all of them.
func LinesOf(file string) []string {
	found := linesInName.FindStringSubmatch(filepath.Base(file))
	if found == nil {
		return nil
	}
	return strings.Split(found[1], "+")
}

// Read reads the case of a folder for a release line or a release.
func Read(dir, server string) (*Case, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cr.yaml"))
	if err != nil {
		return nil, err
	}
	var cr v1alpha2.LlamaStackDistribution
	if err := yaml.UnmarshalStrict(text, &cr); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	line, standing := catalog.ForVersion(server)
	if standing != catalog.KnownLine {
		return nil, fmt.Errorf("the catalog has no release line %s", server)
	}
	c := &Case{OwnBase: true, Server: server}
	name := "small"
	c.Base, err = os.ReadFile(filepath.Join(dir, "base.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		name, c.OwnBase = "starter", false
		data, ok := distributions.Base(name, line.Name)
		if !ok {
			return nil, fmt.Errorf("there is no starter base for release line %s", line.Name)
		}
		c.Base, err = release.ForPatch(data, line)
	}
	if err != nil {
		return nil, err
	}
	base, err := serverconfig.ParseBase(name, c.Base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	c.Input = serverconfig.Input{Name: cr.Name, Namespace: cr.Namespace, Spec: parse.Parse(&cr.Spec), Base: base, Line: line}
	return c, nil
}
