// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// maxFile is the size limit of a file, in bytes.
	maxFile = 64 << 20
	// maxDocument is the size limit of a document, in bytes, and maxValues that of its values, both with aliases expanded.
	// A list of custom resources is one document; API servers store 1.5 MiB of each.
	maxDocument = 16 << 20
	maxValues   = 500_000
	// maxLevels is the nesting limit of a document; list items are nested deeper than objects.
	maxLevels = limits.ObjectLevels + 3
)

// ReadBytes reads a file or standard input.
func ReadBytes(name string, stdin io.Reader) ([]byte, error) {
	if name == Stdin {
		return readAll("standard input", stdin)
	}
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	text, err := readAll(name, file)
	return text, errors.Join(err, file.Close())
}

var errNotRegular = errors.New("not a regular file: pass its content on standard input, with -f -")

// Open opens a regular file, or one passed by the shell, as in -f <(helm template …). Other FIFOs and devices fail,
// because they may block.
func Open(name string) (*os.File, error) {
	// Without the flag, opening a FIFO blocks.
	file, err := os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() &&
		!isInherited(name) { // reading a directory fails later
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isInherited reports whether the name is a file descriptor inherited by the process.
func isInherited(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

func readAll(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("%s: too large: more than %d %s", name, maxFile, limits.Bytes)
	}
	return text, err
}

// expansion counts bytes and values with aliases expanded, up to the limits.
type expansion struct{ bytes, values int }

func (e *expansion) add(n *yaml.Node, level int) *limits.ExcessError {
	for ; n.Kind == yaml.AliasNode; n = n.Alias {
		level++
		if level > maxLevels { // a recursive alias
			return &limits.ExcessError{Unit: limits.Levels, Limit: maxLevels}
		}
	}
	e.values++
	e.bytes += len(n.Value)
	if n.Kind != yaml.ScalarNode && n.Kind != yaml.DocumentNode {
		level++
	}
	switch {
	case e.values > maxValues:
		return &limits.ExcessError{Unit: limits.Nodes, Limit: maxValues}
	case e.bytes > maxDocument:
		return &limits.ExcessError{Unit: limits.Bytes, Limit: maxDocument}
	case level > maxLevels:
		return &limits.ExcessError{Unit: limits.Levels, Limit: maxLevels}
	}
	for _, part := range n.Content {
		if excess := e.add(part, level); excess != nil {
			return excess
		}
	}
	return nil
}
