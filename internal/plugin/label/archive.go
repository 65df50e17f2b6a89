// SPDX-License-Identifier: Apache-2.0

package label

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

// refName is the annotation with the image reference in an archive.
const refName = "org.opencontainers.image.ref.name"

func archiveOf(image string) (file string, _ bool) { return strings.CutPrefix(image, "oci-archive:") }

// load reads the image in an OCI archive; done removes temporary files.
func load(file string) (_ content, done func(), err error) {
	directory, err := os.MkdirTemp("", "kubectl-llamastack-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(directory) }
	what, err := loadFrom(file, directory)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return what, done, nil
}

// loadFrom unpacks an archive into a directory and returns its only image.
func loadFrom(file, directory string) (content, error) {
	if err := unpack(file, directory); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return nil, fmt.Errorf("not an archive in the OCI layout: %w", err)
	}
	listed, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(listed.Manifests) != 1 {
		return nil, fmt.Errorf("the archive has %d images, expected one", len(listed.Manifests))
	}
	if d := listed.Manifests[0]; d.MediaType.IsIndex() {
		return index.ImageIndex(d.Digest)
	}
	return index.Image(listed.Manifests[0].Digest)
}

// maxFiles is the limit of files in an archive, because each uses a disk block.
const maxFiles = 4_000

var (
	// inLayout matches the files of the OCI layout; other files are ignored.
	inLayout = regexp.MustCompile(`^(oci-layout|index\.json|blobs/[a-z0-9]{1,32}/[a-f0-9]{1,128})$`)

	errSparse  = errors.New("the archive contains sparse files, which are not supported")
	errTooMany = fmt.Errorf("the archive has more than %d files", maxFiles)
)

// unpack writes the image's files below a directory. Their total size may not exceed that of the archive.
func unpack(file, directory string) error {
	archive, err := manifest.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	reader := tar.NewReader(archive)
	left, files := info.Size(), 0
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || !inLayout.MatchString(name) {
			continue
		}
		left, files = left-header.Size, files+1
		switch {
		case left < 0:
			return errSparse
		case files > maxFiles:
			return errTooMany
		}
		if err := unpackFile(root, name, reader); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, from io.Reader) error {
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// save writes the image as an OCI archive.
func save(what content, image, file string) (err error) {
	directory, err := os.MkdirTemp("", "kubectl-llamastack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	target, err := layout.Write(directory, empty.Index)
	if err != nil {
		return err
	}
	var named []layout.Option
	if _, archived := archiveOf(image); !archived {
		named = append(named, layout.WithAnnotations(map[string]string{refName: image}))
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		err = target.AppendIndex(what, named...)
	case v1.Image:
		err = target.AppendImage(what, named...)
	default:
		err = fmt.Errorf("neither an image nor an index: %T", what)
	}
	if err != nil {
		return err
	}
	return pack(directory, file)
}

func pack(directory, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	root := os.DirFS(directory)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		from, err := root.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, from)
		return errors.Join(err, from.Close())
	})
	return errors.Join(err, w.Close())
}
