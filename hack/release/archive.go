// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is a member of an archive: its name, its source file and its mode.
type file struct {
	name, source string
	mode         fs.FileMode
}

// epoch is the time of all members; the zip format begins in 1980.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeArchive writes a zip or tar.gz, depending on the name, without properties of this machine.
func writeArchive(name string, files []file) (err error) {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if strings.HasSuffix(name, ".zip") {
		return writeZip(out, files)
	}
	compressed := gzip.NewWriter(out)
	return errors.Join(writeTar(compressed, files), compressed.Close())
}

func writeTar(out io.Writer, files []file) error {
	archive := tar.NewWriter(out)
	for _, f := range files {
		content, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: f.name, Size: int64(len(content)), Mode: int64(f.mode), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeZip(out io.Writer, files []file) error {
	archive := zip.NewWriter(out)
	for _, f := range files {
		content, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(f.mode)
		member, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := member.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// tree returns the files below a directory, sorted, with names below a prefix.
func tree(dir, prefix string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(source string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, source)
		if err != nil {
			return err
		}
		files = append(files, file{path.Join(prefix, filepath.ToSlash(below)), source, 0o644})
		return nil
	})
	return files, err
}

// chart packs the Helm chart as helm package does.
func (r *release) chart() error {
	const name = "llama-stack-k8s-operator"
	dir := filepath.Join(r.root, "charts", name)
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "\nversion: "+r.version+"\n") {
		return errors.New("Chart.yaml has another version than " + r.version + ": run make generate")
	}
	files, err := tree(dir, name)
	if err != nil {
		return err
	}
	return writeArchive(r.path(name+"-chart-"+r.version+".tgz"), files)
}
