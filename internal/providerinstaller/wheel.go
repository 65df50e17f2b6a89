// SPDX-License-Identifier: Apache-2.0

package providerinstaller

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	wheelSuffix = ".whl"
	// metadataBytes is the maximum size of the METADATA file, which may contain a manual.
	metadataBytes = 4 << 20
	// tableBytes is the maximum size of a wheel's file table in memory, and pathBytes that of a path.
	tableBytes = 32 << 20
	pathBytes  = 1 << 10
)

// wheel is an open wheel, a zip archive with the files of a distribution.
type wheel struct {
	file         *os.File
	archive      *zip.Reader
	distribution Distribution
	members      []member
}

// member is a file of a wheel with its target path.
type member struct {
	*zip.File
	at string
}

var (
	errNotWheel = errors.New("it is not a wheel")
	errTooLarge = fmt.Errorf("the packages of all providers have more than %d MiB", maxBytes>>20)
)

// bounded is a file with a limit on the bytes read.
type bounded struct {
	*os.File
	left int
}

var errTable = fmt.Errorf("its file table has more than %d MiB", tableBytes>>20)

func (b *bounded) ReadAt(into []byte, at int64) (int, error) {
	if b.left -= len(into); b.left < 0 {
		return 0, errTable
	}
	return b.File.ReadAt(into, at)
}

// openFile opens a regular file. Opening another kind of file could block forever.
func openFile(file string) (*os.File, int64, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, errors.New("the spec of the provider requires it, but the image does not contain it")
	case err == nil && !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%w: it is not a regular file", errNotWheel)
	case err != nil:
		return nil, 0, err
	}
	f, err := os.Open(file)
	return f, info.Size(), err
}

// open reads the table of a wheel and validates its paths.
func open(file string) (_ *wheel, err error) {
	f, size, err := openFile(file)
	if err != nil {
		return nil, err
	}
	w := &wheel{file: f}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	table := &bounded{f, tableBytes}
	archive, err := zip.NewReader(table, size)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) {
		err = fmt.Errorf("%w: %w", errNotWheel, err)
	}
	if err != nil {
		return nil, err
	}
	table.left = math.MaxInt // the files have their own limit
	w.archive = archive
	if len(archive.File) > maxFiles {
		return nil, fmt.Errorf("it has more than %d files", maxFiles)
	}
	info, err := infoDirectory(archive)
	if err != nil {
		return nil, err
	}
	if err := w.identify(info); err != nil {
		return nil, err
	}
	err = w.resolvePaths(strings.TrimSuffix(info, infoSuffix) + ".data/")
	return w, err
}

func (w *wheel) close() { _ = w.file.Close() }

const infoSuffix = ".dist-info"

// identifier matches the name or version of a distribution.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]{0,127}$`)

// infoDirectory returns the only metadata directory of a wheel.
func infoDirectory(archive *zip.Reader) (string, error) {
	info := ""
	for _, f := range archive.File {
		dir, _, _ := strings.Cut(f.Name, "/")
		if !strings.HasSuffix(dir, infoSuffix) || dir == info {
			continue
		}
		if info != "" {
			return "", fmt.Errorf("%w: it has two metadata directories, %s and %s", errNotWheel, limits.Cut(info, 100),
				limits.Cut(dir, 100))
		}
		info = dir
	}
	if info == "" {
		return "", fmt.Errorf("%w: it has no metadata directory, *%s", errNotWheel, infoSuffix)
	}
	return info, nil
}

// identify reads the name and version of the distribution.
func (w *wheel) identify(info string) error {
	f, err := w.archive.Open(info + "/METADATA")
	if err != nil {
		return fmt.Errorf("%w: %w", errNotWheel, err)
	}
	defer func() { _ = f.Close() }()
	w.distribution.Files = map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(f, metadataBytes))
	lines.Buffer(nil, metadataBytes)
	for lines.Scan() && lines.Text() != "" { // until the description
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); strings.ToLower(key) {
		case "name":
			w.distribution.Name = value
		case "version":
			w.distribution.Version = value
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: METADATA: %w", errNotWheel, err)
	}
	if !identifier.MatchString(w.distribution.Name) || !identifier.MatchString(w.distribution.Version) {
		return fmt.Errorf("%w: METADATA has no valid Name and Version: %q %q", errNotWheel,
			limits.Cut(w.distribution.Name, 100), limits.Cut(w.distribution.Version, 100))
	}
	return nil
}

// resolvePaths sets the target path of each file. Files with the prefix data have another target than the root.
func (w *wheel) resolvePaths(data string) error {
	for _, f := range w.archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		at := f.Name
		if rest, found := strings.CutPrefix(at, data); found {
			kind, below, _ := strings.Cut(rest, "/")
			if kind != "purelib" && kind != "platlib" { // scripts and headers are not imported
				continue
			}
			at = below
		}
		switch {
		case len(f.Name) > pathBytes:
			return fmt.Errorf("the path %q has more than %d bytes", limits.Cut(f.Name, 60), pathBytes)
		case !fs.ValidPath(at) || at == "." || strings.ContainsAny(at, "\\\x00"):
			return fmt.Errorf("the path %q is outside the packages directory", f.Name)
		case !f.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file: only regular files are installed", f.Name)
		case runsAtStartup(at):
			return fmt.Errorf("%s would run at each start of Python: code of a provider must run only when the server loads "+
				"the provider", f.Name)
		}
		sum := sumOf(f)
		if existing, found := w.distribution.Files[at]; found && existing != sum {
			return fmt.Errorf("it has two files %s", at)
		}
		w.distribution.Files[at] = sum
		w.members = append(w.members, member{f, at})
	}
	return nil
}

// sumOf returns the checksum and size of a file for a Manifest. The archive reader verifies both.
func sumOf(f *zip.File) string { return fmt.Sprintf("%08x-%d", f.CRC32, f.UncompressedSize64) }

// sizeIn returns the size in a sum.
func sizeIn(sum string) (size int64) {
	_, text, _ := strings.Cut(sum, "-")
	size, _ = strconv.ParseInt(text, 10, 64)
	return size
}

// runsAtStartup reports whether Python runs a module at startup without an import.
func runsAtStartup(at string) bool {
	top, _, _ := strings.Cut(at, "/")
	name, _, _ := strings.Cut(top, ".")
	return name == "sitecustomize" || name == "usercustomize"
}

// write unpacks a file of at most that many bytes, independently of the size in the archive's table.
func (m *member) write(into *os.Root, limit int64) (written int64, err error) {
	from, err := m.Open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := into.OpenFile(path.Clean(m.at), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	written, err = io.Copy(to, io.LimitReader(from, limit+1)) // the reader verifies the sum
	if err == nil && written > limit {
		err = errTooLarge
	}
	return written, errors.Join(err, to.Close())
}
