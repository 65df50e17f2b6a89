// SPDX-License-Identifier: Apache-2.0

package externalprovider

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

//go:embed all:python
var python embed.FS

// Kind is a provider of the package.
type Kind struct {
	// API, Module and Type are values of the image's provider file.
	API, Module, Type string
	// Fields is the section fields of the file in YAML, or empty.
	Fields string
}

// The providers. Inference answers a chat with "<greeting> (<base_url>, with a key): <last message>", and the tool
// reverse reverses its argument text.
var (
	Inference = Kind{API: "inference", Module: "tiny_provider.inference", Type: "remote::tiny", Fields: "{endpoint: base_url, apiKey: api_token}"}
	Tools     = Kind{API: "tool_runtime", Module: "tiny_provider.tools", Type: "inline::tiny-tools"}
)

// Sources returns the Python sources: a directory for PYTHONPATH.
func Sources() fs.FS {
	sources, err := fs.Sub(python, "python")
	if err != nil {
		panic(err)
	}
	return sources
}

// Unpack writes the Python sources into a directory.
func Unpack(dir string) error { return os.CopyFS(dir, Sources()) }

// Spec returns the file that describes a provider in its image.
func Spec(k Kind, version string) []byte {
	fields := ""
	if k.Fields != "" {
		fields = "\n  fields: " + k.Fields
	}
	return fmt.Appendf(nil, `apiVersion: %s
kind: %s
metadata: {name: tiny, version: "%s", vendor: example.com}
spec:
  packageName: %s
  providerType: %s
  api: %s
  wheelPath: %s/%s%s
`, parse.PackageAPIVersion, parse.PackageKind, version, k.Module, k.Type, k.API, parse.WheelsDir, WheelName(version), fields)
}

// WheelName returns the file name of the wheel of a version.
func WheelName(version string) string { return "tiny_provider-" + version + "-py3-none-any.whl" }

// Wheel returns the Python package of a version as a wheel.
func Wheel(version string) ([]byte, error) {
	files := map[string][]byte{}
	var names []string
	add := func(name string, content []byte) { files[name], names = content, append(names, name) }
	err := fs.WalkDir(Sources(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(Sources(), path)
		add(path, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	info := "tiny_provider-" + version + ".dist-info/"
	add(info+"METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: tiny-provider\nVersion: %s\n", version))
	add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
	var record bytes.Buffer
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	add(info+"RECORD", record.Bytes())
	return zipped(names, files)
}

// Files returns the content of an image with a provider, by path.
func Files(k Kind, version string) (map[string][]byte, error) {
	wheel, err := Wheel(version)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{parse.PackageFile: Spec(k, version), parse.WheelsDir + "/" + WheelName(version): wheel}, nil
}

func zipped(names []string, files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
