// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/release/sbom"
)

// release is the release to make, with its input and output directories.
type release struct {
	build, output, root    string
	version, commit, image string
	time                   time.Time
	// download is the base URL of the files for users.
	download string
}

const pluginName = "kubectl-llamastack"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return err
	}
	for _, step := range []func() error{r.plugins, r.images, r.chart, r.manifest, r.krew, r.provenance, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string) (*release, error) {
	r := &release{}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.root, "root", ".", "the checkout")
	flags.StringVar(&r.build, "build", "", "directory of the build output")
	flags.StringVar(&r.output, "output", "", "directory for the files of the release")
	flags.StringVar(&r.version, "version", "", "version without v")
	flags.StringVar(&r.commit, "commit", "", "commit of the sources")
	flags.StringVar(&r.image, "image", "", "reference of the operator's image")
	flags.StringVar(&r.download, "download", "https://github.com/llamastack/llama-stack-k8s-operator/releases/download", "URL of all releases")
	seconds := flags.Int64("time", 0, "time of the commit, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"build": r.build, "output": r.output, "version": r.version, "image": r.image} {
		if value == "" {
			return nil, fmt.Errorf("-%s is required", name)
		}
	}
	if *seconds <= 0 {
		return nil, errors.New("-time is required: without the time of the commit, the release is not reproducible")
	}
	r.time = time.Unix(*seconds, 0).UTC()
	return r, nil
}

func (r *release) path(name string) string { return filepath.Join(r.output, name) }

func (r *release) manifest() error {
	text, err := os.ReadFile(filepath.Join(r.root, "dist", "install.yaml"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "image: "+r.image+"\n") {
		return fmt.Errorf("dist/install.yaml does not install %s: run make install-manifest", r.image)
	}
	return os.WriteFile(r.path("install.yaml"), text, 0o644)
}

// checksums writes the file that sha256sum --check reads.
func (r *release) checksums() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range names {
		sum, err := checksum(r.path(name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
	}
	return os.WriteFile(r.path("checksums.txt"), []byte(list.String()), 0o644)
}

// files returns the files of the release so far, sorted.
func (r *release) files() ([]string, error) {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != "checksums.txt" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func (r *release) sbom(program, artifact string) error {
	text, err := sbom.Input{
		Program: program, Artifact: artifact, Version: r.version, Namespace: r.download + "/v" + r.version, Created: r.time,
	}.JSON()
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(artifact+".spdx.json"), text, 0o644)
}

func checksum(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
