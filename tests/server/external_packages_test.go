// SPDX-License-Identifier: Apache-2.0

package server

import (
	"archive/zip"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/providerinstaller"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// packagesOf returns the packages directory of a pod after the installation of one provider. list has the files of each
// wheel by path.
func packagesOf(t *testing.T, list map[string]map[string]string) string {
	t.Helper()
	dir, source := t.TempDir(), t.TempDir()
	for name, files := range list {
		dist, version, _ := strings.Cut(name, "-")
		f, err := os.Create(filepath.Join(source, name+"-py3-none-any.whl"))
		framework.NoError(t, err)
		w := zip.NewWriter(f)
		all := map[string]string{name + ".dist-info/METADATA": "Name: " + dist + "\nVersion: " + version + "\n" + files["METADATA"] + "\n"}
		maps.Copy(all, files)
		delete(all, "METADATA")
		for _, at := range slices.Sorted(maps.Keys(all)) {
			to, err := w.Create(at)
			if err == nil {
				_, err = to.Write([]byte(all[at]))
			}
			framework.NoError(t, err)
		}
		framework.NoError(t, w.Close())
		framework.NoError(t, f.Close())
	}
	program, err := os.Executable()
	framework.NoError(t, err)
	layout := providerinstaller.Layout(dir)
	framework.NoError(t, layout.Prepare(program))
	if _, err := layout.Install(&providerinstaller.Provider{ID: "mine", Source: source, Module: "mine"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fit runs the command of the last init container. It returns the last line of the output, and the server's PYTHONPATH
// variable.
func fit(t *testing.T, r release, dir string, env ...string) (last, variable string) {
	t.Helper()
	p := &objects.Params{CR: &v1alpha2.LlamaStackDistribution{}, External: []objects.ExternalProvider{{ID: "mine"}}}
	pod := objects.Deployment(p).Spec.Template.Spec
	command := slices.Clone(pod.InitContainers[len(pod.InitContainers)-1].Command)
	inPod := command[len(command)-1]
	command[0], command[len(command)-1] = serverPython(t, r), dir
	for _, v := range pod.Containers[0].Env {
		if v.Name == "PYTHONPATH" {
			variable = v.Name + "=" + strings.ReplaceAll(v.Value, inPod, dir)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Env = env
	out, _ := program.CombinedOutput() // the last line has the result
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], variable
}

// apiPackage returns the Python package that providers for a release import.
func apiPackage(r release) string {
	switch {
	case r.line == "0.3":
		return "llama_stack.providers.datatypes"
	case r.line < "0.8":
		return "llama_stack_api"
	}
	return "ogx_api"
}

// A provider's copy of a distribution that the server has is not used. Other conflicts are errors that name the
// package.
//
// Proves: R46.
func TestExternalPackagesReplaceNothingOfTheServer(t *testing.T) {
	t.Parallel()
	const loads = "import httpx, mine\nfrom . import x\nprint('mine')\ndef get_provider_spec(): pass"
	mine := map[string]string{"mine/__init__.py": "", "mine/provider.py": loads, "mine/x.py": ""}
	with := func(file, text string) map[string]map[string]string {
		files := maps.Clone(mine)
		files[file] = text
		return map[string]map[string]string{"mine-1.0": files}
	}
	metadata := func(text string) map[string]map[string]string { return with("METADATA", text) }
	forEachRelease(t, func(t *testing.T, r release) {
		old := map[string]string{"httpx/__init__.py": "raise Exception('an old httpx')", "httpx/old.py": ""}
		image := filepath.Join(t.TempDir(), "image")
		framework.NoError(t, os.MkdirAll(image, 0o755))
		framework.WriteFile(t, filepath.Join(image, "of_the_image.py"), "")
		dir := packagesOf(t, map[string]map[string]string{"mine-1.0": metadata("Requires-Dist: HTTPX>=0.2\nRequires-Dist: more")["mine-1.0"], "httpx-0.1": old, "more-2": {"more.py": ""}})
		for range 2 { // a container can restart
			last, variable := fit(t, r, dir, "PYTHONPATH="+image)
			if last != "2 distributions of external providers" {
				t.Fatal(last)
			}
			got := framework.Output(t, scriptTimeout, []string{variable}, serverPython(t, r), "-c", "import httpx, more, mine.provider, of_the_image; print(httpx.__version__ > '0.1')")
			if got != "mine\nTrue" {
				t.Errorf("%q", got)
			}
		}
		api := apiPackage(r)
		if !r.bootsEverything() && r.line != catalog.Lines()[0] { // one release for each API package
			return
		}
		for says, list := range map[string]map[string]map[string]string{
			"mine of provider mine would replace the server's own module httpx":              with("httpx/__init__.py", ""),
			"mine of provider mine would replace the server's own module json":               with("json.py", ""),
			"mine of provider mine would replace the server's own module opentelemetry":      with("opentelemetry/__init__.py", ""),
			"mine 1.0 of provider mine needs httpx>=99, and the server has httpx":            metadata("Requires-Dist: httpx>=99"),
			"needs llama-stack-of-another-time, which neither the server nor a provider has": metadata("Requires-Dist: llama-stack-of-another-time"),
			"needs Python <3, and the server has":                                            metadata("Requires-Python: <3"),
			"is built for cp27-cp27m-win32":                                                  with("mine-1.0.dist-info/WHEEL", "Tag: cp27-cp27m-win32\n"),
			"mine.provider of provider mine imports an_api_of_another_time, which":           with("mine/provider.py", "import os\nfrom an_api_of_another_time.types import X"),
			"mine.provider of provider mine cannot be loaded: ":                              with("mine/provider.py", "import os from os"),
			"mine.x of provider mine imports gone, which":                                    with("mine/x.py", "import gone"),
			"mine.provider of provider mine: cannot import name 'y' from 'mine.x'":           with("mine/provider.py", "from .x import y"),
			"mine.provider of provider mine: No module named 'mine.y'":                       with("mine/provider.py", "from mine.y import z"),
			"provider mine: module 'mine.provider' has no attribute 'get_provider_spec'":     with("mine/provider.py", "from . import x"),
			"mine of provider mine: cannot import name 'Gone' from '" + api + "'":            with("mine/__init__.py", "from "+api+" import Api, Gone"),
			"mine.x of provider mine: No module named '" + api + ".of_another_time'":         with("mine/x.py", "from "+api+".of_another_time import X"),
		} {
			last, _ := fit(t, r, packagesOf(t, list))
			what, _, _ := strings.Cut(last, ": ")
			if what != "dependency conflict" && what != "the server cannot load the packages" || !strings.Contains(last, says) {
				t.Errorf("%q, want %q", last, says)
			}
		}
	})
}
