// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

const overlayFile = "internal/serverconfig/catalog/overlay.yaml"

// timeout bounds a run, including the creation of virtual environments.
const timeout = 30 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var lineNames []string
	flags := flag.NewFlagSet("catalog", flag.ContinueOnError)
	root := flags.String("root", ".", "the checkout")
	newest := flags.Bool(
		"newest",
		false,
		"read only the newest release of each line; keep the differences of older ones from the files",
	)
	check := flags.Bool("check", false, "write nothing; fail if a file differs from the generated one")
	python := flags.String("python", "", "write nothing; print differences of this Python's package to the catalog")
	hashes := flags.Bool("hashes", false, "write nothing and read no package; fail if a generated file was edited by hand")
	flags.Func("line", "release line to read; can be repeated (default: all)", func(name string) error {
		lineNames = append(lineNames, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *hashes {
		return checkHashes(*root)
	}
	if *python != "" {
		return compareWith(ctx, os.Stdout, *root, *python)
	}
	var patches map[string][]string
	if !*newest {
		var err error
		if patches, err = patchReleases(filepath.Join(*root, "tests", "server", "patches.tsv")); err != nil {
			return err
		}
	}
	files, lines, err := makeFiles(ctx, *root, lineNames, patches)
	if err != nil {
		return err
	}
	different, err := differences(*root, files)
	if err != nil {
		return err
	}
	if *check {
		if len(different) > 0 {
			return fmt.Errorf("files differ from the generated ones: %s; run make catalog", strings.Join(different, ", "))
		}
		return nil
	}
	for _, name := range different {
		file := filepath.Join(*root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, files[name], 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", name)
	}
	printPatches(os.Stdout, lines)
	return nil
}

// checkHashes returns an error that names the generated files with manual edits.
func checkHashes(root string) error {
	names, err := editedFiles(root)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf(
			"edited by hand, since the content hash in the header differs: %s; change %s or hack/catalog and run make catalog",
			strings.Join(names, ", "),
			overlayFile,
		)
	}
	return nil
}

// makeFiles returns the content of every file by its path in the checkout, and the release lines that it read. If
// patches is nil, it reads only their newest releases.
func makeFiles(
	ctx context.Context,
	root string,
	lineNames []string,
	patches map[string][]string,
) (map[string][]byte, []*catalog.Line, error) {
	over, err := readOverlay(filepath.Join(root, overlayFile))
	if err != nil {
		return nil, nil, err
	}
	names, err := releaseLines(filepath.Join(root, "tests", "server", "releases.tsv"))
	if err != nil {
		return nil, nil, err
	}
	if len(lineNames) == 0 {
		lineNames = names
	}
	releases := slices.Clone(lineNames)
	for _, name := range lineNames {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf(
				"tests/server/releases.tsv has no release line %s; it has: %s",
				name,
				strings.Join(names, ", "),
			)
		}
		releases = append(releases, patches[name]...)
	}
	introspections, err := introspectAll(ctx, root, releases)
	if err != nil {
		return nil, nil, err
	}
	files := map[string][]byte{}
	var lines, introspectedLines []*catalog.Line
	for _, name := range names {
		file := "internal/serverconfig/catalog/" + name + ".yaml"
		line, err := assembleLine(filepath.Join(root, file), name, introspections, patches, over)
		if err != nil {
			return nil, nil, fmt.Errorf("release line %s: %w", name, err)
		}
		lines = append(lines, line)
		if introspections[name] == nil {
			continue
		}
		introspectedLines = append(introspectedLines, line)
		if files[file], err = encodeLine(line); err != nil {
			return nil, nil, err
		}
		bases, err := baseConfigs(line, introspections[name])
		if err != nil {
			return nil, nil, fmt.Errorf("release line %s: %w", name, err)
		}
		for distribution, base := range bases {
			files["distributions/"+distribution+"/"+name+".yaml"] = base
		}
	}
	if files["internal/serverconfig/catalog/apis.yaml"], err = encodeIndex(lines, over); err != nil {
		return nil, nil, err
	}
	files["docs/providers.md"] = providersPage(lines)
	for name, content := range files {
		files[name] = withContentHash(content)
	}
	return files, introspectedLines, over.checkUnused(lines)
}

// assembleLine returns a release line from the introspection of its packages, or from its file without one. If patches
// is nil, the differences of older patch releases come from the file.
func assembleLine(
	file, name string,
	introspections map[string]*introspection,
	patches map[string][]string,
	over *overlay,
) (*catalog.Line, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if introspections[name] == nil {
		return catalog.Parse(data)
	}
	line, err := assemble(name, introspections[name], over)
	if err != nil {
		return nil, err
	}
	if patches == nil && data != nil {
		known, err := catalog.Parse(data)
		if err != nil {
			return nil, err
		}
		line.Patches = known.Patches
	}
	var older []*catalog.Line
	for _, release := range patches[name] {
		o, err := assemble(name, introspections[release], over)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", release, err)
		}
		older = append(older, o)
	}
	if err := addPatches(line, older); err != nil {
		return nil, err
	}
	if data, err = encodeLine(line); err != nil {
		return nil, err
	}
	if line, err = catalog.Parse(data); err != nil {
		return nil, err
	}
	return line, checkPatches(line, older)
}

// differences returns the sorted names of the files that differ from the generated ones, except for bases that are
// maintained by hand.
func differences(root string, files map[string][]byte) ([]string, error) {
	var different []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		old, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		handWritten := err == nil && isHandWritten(name, old)
		if !handWritten && !bytes.Equal(old, files[name]) {
			different = append(different, name)
		}
	}
	return different, nil
}

// releaseLines returns the release lines of the release table in its order.
func releaseLines(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var names []string
	for row := range strings.Lines(string(data)) {
		if name, _, _ := strings.Cut(row, "\t"); !strings.HasPrefix(row, "#") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
