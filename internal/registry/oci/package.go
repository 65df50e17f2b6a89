// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/textproto"
	"path"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// ServerPackage names the file that describes the server's Python package, wherever an image has it: see
// IsServerPackage.
const ServerPackage = "site-packages/{llama_stack,ogx}-*.dist-info/METADATA"

// serverPackages are the names of the server's package, before and after it was renamed, as directories write them.
var serverPackages = []string{"llama_stack", "ogx"}

// Package is the server's Python package.
type Package struct {
	// Name is its name, and Version its release.
	Name, Version string
}

// IsServerPackage reports whether a file of an image describes the server's Python package: METADATA in the dist-info
// directory where Python or Debian keep installed packages. The packages beside it, such as llama_stack_api and
// ogx_client, are others.
func IsServerPackage(file string) bool {
	dir, base := path.Split(path.Clean(file))
	dir, info := path.Split(path.Clean(dir))
	named, isInfo := strings.CutSuffix(info, ".dist-info")
	name, _, versioned := strings.Cut(named, "-")
	site := path.Base(dir)
	return base == "METADATA" && isInfo && versioned && slices.Contains(serverPackages, normalized(name)) &&
		(site == "site-packages" || site == "dist-packages")
}

// normalized writes the name of a Python package as directories do.
func normalized(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
}

var errNoPackage = errors.New("it does not name the server's package and its version")

// ReadPackage reads the beginning of METADATA. The version of a build without a release is an error: tools write 0.0.0
// or 0.1.dev7 where nothing is tagged, which is not the release of an old server.
func ReadPackage(metadata []byte) (*Package, error) {
	if end := bytes.Index(metadata, []byte("\n\n")); end >= 0 {
		metadata = metadata[:end+2]
	}
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(metadata))).ReadMIMEHeader()
	if len(header) == 0 && err != nil {
		return nil, errNoPackage
	}
	p := &Package{Name: normalized(header.Get("Name")), Version: header.Get("Version")}
	if !slices.Contains(serverPackages, p.Name) || p.Version == "" {
		return nil, errNoPackage
	}
	switch standing := standing(p.Version); {
	case standing == catalog.NoVersion,
		standing == catalog.TooOld && (strings.HasPrefix(p.Version, "0.0.") || strings.Contains(p.Version, "dev")):
		return nil, fmt.Errorf("version %.40q of package %s is not that of a release", p.Version, p.Name)
	}
	return p, nil
}
