// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// excludedDirs are filled by the container runtime. Device files of the build must not get into the image.
var excludedDirs = []string{"dev", "proc", "sys", "run"}

// Tree is a layer of the whole root file system below root, with its owners, modes and links. scratch is a file that
// holds the packed layer; it must stay until the image is written.
func Tree(root, scratch string) (v1.Layer, error) {
	if err := packTree(root, scratch); err != nil {
		return nil, fmt.Errorf("pack %s: %w", root, err)
	}
	// A root file system is large and is unpacked at once on the same machine: time counts, size does not.
	return tarball.LayerFromFile(scratch, tarball.WithCompressionLevel(gzip.BestSpeed))
}

func packTree(root, scratch string) (err error) {
	out, err := os.Create(scratch)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	buffered := bufio.NewWriterSize(out, 1<<20)
	writer := tar.NewWriter(buffered)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if top, below, _ := strings.Cut(name, "/"); below != "" && slices.Contains(excludedDirs, top) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return packEntry(writer, path, name, entry)
	})
	if err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}

// packEntry writes one member. A file with several names is written under each of them.
func packEntry(writer *tar.Writer, path, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var target string
	if info.Mode().Type() == fs.ModeSymlink {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = name
	if entry.IsDir() {
		header.Name += "/"
	}
	header.Uname, header.Gname = "", ""
	header.ModTime, header.Format = epoch, tar.FormatPAX
	header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(writer, file)
	return err
}
