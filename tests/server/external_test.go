// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/externalprovider"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// tinyImage is the image of the tiny inference provider. The resource describes the package of the tool runtime.
const tinyImage = "registry.example.com/tiny:1"

const tinySpec = `
externalProviders:
  inference:
  - providerId: tiny
    image: ` + tinyImage + `
    endpoint: http://backend.example.com/v1
    apiKey: {name: keys, key: tiny}
    config: {greeting: hello}
  toolRuntime:
    providerId: tiny-tools
    image: registry.example.com/tiny-tools:1
    package: {packageName: tiny_provider.tools, providerType: "inline::tiny-tools"}
resources: {models: [{name: m1, provider: tiny}]}
`

// Each release imports a real package from the generated configuration. Booted servers list its providers and answer
// through them.
//
// Proves: FR-014, FR-090, FR-091, R6, R46.
func TestExternalProvidersAnswerInTheRealServer(t *testing.T) {
	t.Parallel()
	booted := bootedReleases(t)
	forEachRelease(t, func(t *testing.T, r release) {
		file := writeTiny(t, r)
		for _, v := range validate(t, r, "--dummy", "LLSD_", "--env", "SQLITE_STORE_DIR=/tmp", file) {
			if len(v.Findings) > 0 || len(v.Providers) != 2 {
				t.Errorf("%v: %v", v.Providers, v.Findings)
			}
		}
		if !slices.Contains(booted, r) {
			return
		}
		key := canaries.New()
		url, log := bootAt(t, "http://127.0.0.1", client, r, file, tinyEnv(t, "LLSD_TINY_API_KEY="+key)...)
		var listed struct {
			Data []struct {
				API  string `json:"api"`
				ID   string `json:"provider_id"`
				Type string `json:"provider_type"`
			} `json:"data"`
		}
		get(t, url+"/v1/providers", &listed)
		there := map[string]string{}
		for _, p := range listed.Data {
			there[p.API+"/"+p.ID] = p.Type
		}
		if there["inference/tiny"] != "remote::tiny" || there["tool_runtime/tiny-tools"] != "inline::tiny-tools" {
			t.Errorf("/v1/providers has %v", there)
		}
		status, answer := post(t, url+"/v1/chat/completions", `{"model":"tiny/m1","messages":[{"role":"user","content":"ping"}]}`)
		if want := "hello (http://backend.example.com/v1, with a key): ping"; status != http.StatusOK || !strings.Contains(string(answer), want) {
			t.Errorf("status %d, want %q: %s", status, want, answer)
		}
		if strings.Contains(log(), key) {
			t.Error("the server's log contains the key")
		}
	})
}

// writeTiny writes the configuration of a release with the tiny provider.
func writeTiny(t *testing.T, r release) string {
	t.Helper()
	base, err := serverconfig.ParseBase("small", []byte(smallBase))
	framework.NoError(t, err)
	line, _ := catalog.Get(r.line)
	pkg, err := serverconfig.ReadPackage(externalprovider.Spec(externalprovider.Inference, "1.0.0"))
	framework.NoError(t, err)
	result, problems := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "x", Namespace: "y", Spec: parse.Parse(step.Spec(t, tinySpec)), Base: base, Line: line,
		Packages: map[string]serverconfig.PackageResult{tinyImage: {Package: pkg}},
	})
	if result == nil {
		t.Fatal(problems)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	framework.WriteFile(t, file, string(result.YAML))
	return file
}

// tinyPackages returns the folder of the tiny provider's sources, to which goldens refer.
func tinyPackages() string {
	dir, err := filepath.Abs("../externalprovider/python")
	if err != nil {
		panic(err)
	}
	return dir
}

// tinyEnv returns the environment of a server that finds the tiny provider.
func tinyEnv(t *testing.T, env ...string) []string {
	t.Helper()
	dir := t.TempDir()
	packages := filepath.Join(dir, "python-packages")
	framework.NoError(t, externalprovider.Unpack(packages))
	return append(env, "PYTHONPATH="+packages, "PATH="+os.Getenv("PATH"), "HOME="+dir, "SQLITE_STORE_DIR="+dir)
}

// get decodes an answer, and fails the test unless its status is 200.
func get(t *testing.T, url string, into any) {
	t.Helper()
	if status := getBy(t, client, url, into); status != http.StatusOK {
		t.Fatalf("%s: status %d", url, status)
	}
}

// getBy decodes an answer if its status is 200, and returns the status.
func getBy(t *testing.T, by *http.Client, url string, into any) (status int) {
	t.Helper()
	status, answer, err := framework.Send(t.Context(), by, http.MethodGet, url, "")
	framework.NoError(t, err)
	if status == http.StatusOK {
		framework.NoError(t, json.Unmarshal(answer, into))
	}
	return status
}
