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
	// maxFile is the largest file, in bytes.
	maxFile = 64 << 20
	// maxDocument is the largest document, in bytes, and maxValues how many values it may hold, both with aliases
	// expanded. A list of resources is one document: API servers store 1.5 MiB of each.
	maxDocument = 16 << 20
	maxValues   = 500_000
	// maxLevels is how deep a document may nest: a list of resources is two levels deeper than its items.
	maxLevels = limits.ObjectLevels + 3
)

// ReadBytes reads one file, or standard input.
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

var errNotRegular = errors.New("not a regular file: send its content to standard input, and name it -")

// Open opens a regular file. It fails for anything else that a name can stand for, because a FIFO can wait, and a
// device never end. Only what a shell hands over to the command, as in -f <(helm template …), is read as it comes.
func Open(name string) (*os.File, error) {
	// Without the flag, the call itself waits for the other side of a FIFO.
	file, err := os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() &&
		!isHandedOver(name) { // a read says what is wrong with a directory
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isHandedOver reports whether a name stands for a file that the process was started with.
func isHandedOver(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

func readAll(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("%s: too large: more than %d %s", name, maxFile, limits.Bytes)
	}
	return text, err
}

// expanded counts what a tree of YAML is with its aliases expanded, and stops where that is too large.
type expanded struct{ bytes, values int }

func (e *expanded) add(n *yaml.Node, level int) *limits.ExcessError {
	for ; n.Kind == yaml.AliasNode; n = n.Alias {
		level++
		if level > maxLevels { // an alias that stands for itself
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
