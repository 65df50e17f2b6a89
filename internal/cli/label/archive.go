// SPDX-License-Identifier: Apache-2.0

package label

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// refName is the annotation by which an archive says what its image is called.
const refName = "org.opencontainers.image.ref.name"

// archiveOf returns the file of an archive.
func archiveOf(image string) (file string, _ bool) { return strings.CutPrefix(image, "oci-archive:") }

// load reads the image of an archive in the OCI layout. Done removes what it unpacks.
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

// loadFrom reads the only image of an archive by way of a directory.
func loadFrom(file, directory string) (content, error) {
	if err := unpack(file, directory); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return nil, fmt.Errorf("not an archive in the OCI layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the archive has %d images, want one", len(manifest.Manifests))
	}
	if d := manifest.Manifests[0]; d.MediaType.IsIndex() {
		return index.ImageIndex(d.Digest)
	}
	return index.Image(manifest.Manifests[0].Digest)
}

// unpack writes the regular files of an archive below a directory, and nothing outside of it.
func unpack(file, directory string) error {
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	reader := tar.NewReader(archive)
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		if err := unpackFile(root, header.Name, reader); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, from io.Reader) error {
	name = filepath.Clean(filepath.FromSlash(name))
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

// save writes the image as an archive in the OCI layout.
func save(what content, image, file string) (err error) {
	directory, err := os.MkdirTemp("", "kubectl-llamastack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return err
	}
	var named []layout.Option
	if _, archived := archiveOf(image); !archived {
		named = append(named, layout.WithAnnotations(map[string]string{refName: image}))
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		err = path.AppendIndex(what, named...)
	case v1.Image:
		err = path.AppendImage(what, named...)
	default:
		err = fmt.Errorf("neither an image nor an index: %T", what)
	}
	if err != nil {
		return err
	}
	return pack(directory, file)
}

// pack writes the files of a directory as an archive, in the order of their names.
func pack(directory, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	root := os.DirFS(directory)
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		from, err := root.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, from)
		return errors.Join(err, from.Close())
	})
	return errors.Join(err, w.Close())
}
