// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The two users that an image without a distribution needs: programs look up the name and the home of their own.
const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:65532:\n"
)

// File is a regular file of this machine and its path in an image.
type File struct {
	// Source is a path on this machine.
	Source string
	// Destination is an absolute path in the image.
	Destination string
}

// Files is a layer over an empty base: the files, in any order; /etc/passwd and /etc/group with the users root and
// nonroot; and a /tmp that everyone may write to. A file's mode is 0755 where its owner may execute it and 0644
// otherwise; it belongs to root.
func Files(files []File) (v1.Layer, error) {
	content, err := layerContent(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	return layer, nil
}

// layerContent packs files, and those of every image, into an uncompressed tar whose bytes depend on nothing else.
func layerContent(files []File) ([]byte, error) {
	members := map[string]tar.Header{}
	contents := map[string][]byte{}
	add := func(destination string, mode int64, content []byte) error {
		if !path.IsAbs(destination) || path.Clean(destination) != destination || destination == "/" {
			return fmt.Errorf("%q: the path in the image must be a clean absolute path, such as /manager", destination)
		}
		if _, taken := members[destination]; taken {
			return fmt.Errorf("%s: two files have this path in the image", destination)
		}
		members[destination] = tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))}
		contents[destination] = content
		return nil
	}

	for _, f := range files {
		content, mode, err := read(f.Source)
		if err != nil {
			return nil, err
		}
		if err := add(f.Destination, mode, content); err != nil {
			return nil, err
		}
	}
	for destination, content := range map[string]string{"/etc/passwd": passwd, "/etc/group": group} {
		if err := add(destination, 0o644, []byte(content)); err != nil {
			return nil, err
		}
	}
	if err := addDirectories(members); err != nil {
		return nil, err
	}
	return pack(members, contents)
}

// read returns a regular file and its mode in the image, which does not depend on the umask.
func read(source string) ([]byte, int64, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", source)
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return nil, 0, err
	}
	if info.Mode()&0o100 != 0 {
		return content, 0o755, nil
	}
	return content, 0o644, nil
}

// addDirectories adds /tmp and every directory above a member.
func addDirectories(members map[string]tar.Header) error {
	directories := map[string]int64{"/tmp": 0o1777}
	for destination := range members {
		for parent := path.Dir(destination); parent != "/"; parent = path.Dir(parent) {
			if _, known := directories[parent]; !known {
				directories[parent] = 0o755
			}
		}
	}
	for directory, mode := range directories {
		if _, taken := members[directory]; taken {
			return fmt.Errorf("%s: is a directory in the image, not a file", directory)
		}
		members[directory] = tar.Header{Typeflag: tar.TypeDir, Mode: mode}
	}
	return nil
}

// pack writes the members in the order of their paths, directories before what is in them.
func pack(members map[string]tar.Header, contents map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	destinations := make([]string, 0, len(members))
	for destination := range members {
		destinations = append(destinations, destination)
	}
	slices.Sort(destinations)
	for _, destination := range destinations {
		header := members[destination]
		header.Name = strings.TrimPrefix(destination, "/")
		if header.Typeflag == tar.TypeDir {
			header.Name += "/"
		}
		header.ModTime = epoch
		header.Format = tar.FormatPAX
		if err := writer.WriteHeader(&header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", destination, err)
		}
		if _, err := writer.Write(contents[destination]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", destination, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack the layer: %w", err)
	}
	return out.Bytes(), nil
}
