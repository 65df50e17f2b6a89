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

// ServerPackage stands for the metadata file of the server's Python package in any directory; see IsServerPackage.
const ServerPackage = "site-packages/{llama_stack,ogx}-*.dist-info/METADATA"

// serverPackages are the names of the server's package before and after its renaming, as in directory names.
var serverPackages = []string{"llama_stack", "ogx"}

// Package is the server's Python package.
type Package struct {
	// Name and Version are those of the package.
	Name, Version string
}

// IsServerPackage reports whether a path is the METADATA of the server's Python package. Related packages, such as
// llama_stack_api and ogx_client, do not count.
func IsServerPackage(file string) bool {
	dir, base := path.Split(path.Clean(file))
	dir, info := path.Split(path.Clean(dir))
	named, isInfo := strings.CutSuffix(info, ".dist-info")
	name, _, versioned := strings.Cut(named, "-")
	site := path.Base(dir)
	return base == "METADATA" && isInfo && versioned && slices.Contains(serverPackages, normalized(name)) &&
		(site == "site-packages" || site == "dist-packages")
}

// normalized returns a Python package name as directory names have it.
func normalized(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
}

var errNoPackage = errors.New("it does not name the server's package and its version")

// ReadPackage parses METADATA. Versions of untagged builds, such as 0.0.0 or 0.1.dev7, are errors.
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
	switch match := match(p.Version); {
	case match == catalog.NoVersion,
		match == catalog.TooOld && (strings.HasPrefix(p.Version, "0.0.") || strings.Contains(p.Version, "dev")):
		return nil, fmt.Errorf("version %.40q of package %s is not that of a release", p.Version, p.Name)
	}
	return p, nil
}
