// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// Stdin is the file name of standard input.
	Stdin = "-"
	// StdinFile is the File of documents from standard input.
	StdinFile = "stdin"
)

var errStdinTwice = errors.New(`only one of the files can be "-": standard input can be read once`)

// CheckStdin returns an error if standard input is named more than once.
func CheckStdin(names []string) error {
	if i := slices.Index(names, Stdin); i >= 0 && slices.Contains(names[i+1:], Stdin) {
		return errStdinTwice
	}
	return nil
}

// Read reads the objects of all files in order; those of a directory by name. Errors do not stop reading other files
// and documents.
func Read(names []string, recursive bool, stdin io.Reader) ([]*Document, []error) {
	var docs []*Document
	var errs []error
	for _, name := range names {
		files, err := expand(name, recursive)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, file := range files {
			found, failed := readFile(file, stdin)
			docs, errs = append(docs, found...), append(errs, failed...)
		}
	}
	return docs, errs
}

var errNoFiles = errors.New("no .yaml, .yml or .json files in this directory")

func expand(name string, recursive bool) ([]string, error) {
	if name == Stdin {
		return []string{Stdin}, nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: %w", name, errNoFiles)
	}
	return files, err
}

func readFile(name string, stdin io.Reader) ([]*Document, []error) {
	content, err := ReadBytes(name, stdin)
	if err != nil {
		return nil, []error{err}
	}
	if name == Stdin {
		name = StdinFile
	}
	var docs []*Document
	var errs []error
	for _, part := range split(content) {
		doc, err := parse(name, part.line, part.text)
		switch {
		case err != nil:
			errs = append(errs, err)
		case doc != nil:
			docs = append(docs, doc.items()...)
		}
	}
	return docs, errs
}

type part struct {
	line int // first line in the file, from 1
	text []byte
}

// split splits a file into documents. A document may begin on the separator line, as in "--- {a: b}".
func split(content []byte) []part {
	parts := []part{{line: 1}}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok &&
			(len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			parts = append(parts, part{line: number})
			line = append([]byte("   "), rest...)
		}
		last := &parts[len(parts)-1]
		last.text = append(last.text, line...)
	}
	return parts
}
