// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Proves: FR-075 (the error has the line).
func TestParseBaseRefuses(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [" + strings.Repeat("x, ", 10) + "]\n")
	for c := 'b'; c <= 'h'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10))
	}
	for data, want := range map[string]string{
		"":                                  "the document is empty",
		"# only a comment\n":                "the document is empty",
		"a: [":                              "not YAML: line 1",
		"a: 1\n\tb: 2\n":                    "not YAML: line 2",
		"- a":                               "line 1: the document is not a map",
		"just text":                         "line 1: the document is not a map",
		"a: 1\n---\nb: 2\n":                 "there is a second document",
		"a: 1\nb: 2\na: 3\n":                `line 3: duplicate key "a"`,
		"? [a]\n: 1\n":                      "line 1: a key is not a scalar",
		"a: 1\nproviders: []\n":             "line 2: providers is not a map",
		"providers:\n  inference: {}\n":     "line 2: providers.inference is not a list",
		"providers:\n  inference:\n  - a\n": "line 3: an item of providers.inference is not a map",
		"providers: {f: [{config: [1]}]}\n": "line 1: the config of a provider is not a map",
		"registered_resources: {models: 1}": "line 1: registered_resources.models is not a list",
		"apis: {}\n":                        "line 1: apis is not a list",
		"apiVersion: v1\nkind: ConfigMap\n": "line 2: a Kubernetes manifest is not a server configuration: use the value of the key config.yaml in the ConfigMap",
		"server: []\n":                      "line 1: server is not a map",
		"storage: {stores: []}\n":           "line 1: storage.stores is not a map",
		"a: *nowhere\n":                     "not YAML",
		"a: &a [*a]\n":                      "too large",
		"a: 1\n<<: 3\n":                     "line 2: a merge key needs a map",
		bomb.String():                       "too large",
		strings.Repeat("[", 200) + "\n":     "not YAML",
		"a: " + strings.Repeat("[", 150) + strings.Repeat("]", 150): "too large",
	} {
		base, err := document.ParseBase("mine", []byte(data))
		var fault *document.BaseError
		if base != nil || !errors.As(err, &fault) || !strings.Contains(fault.Reason, want) {
			t.Errorf("ParseBase(%.40q) = %v, want an error with %q", data, err, want)
			continue
		}
		if !strings.HasPrefix(err.Error(), "base configuration mine: ") || !strings.HasSuffix(err.Error(), document.BaseFix) {
			t.Errorf("ParseBase(%.40q): incomplete message %v", data, err)
		}
	}
}

func TestBaseNameAndHash(t *testing.T) {
	base := mustParse(t, "version: 2\n")
	const want = "sha256:16e0d1afd6e96036b776ab20684da35f075c50d6f3c0fd599ddc8218ebbdfb56"
	if base.Name() != "mine" || base.Hash() != want {
		t.Errorf("name %q, hash %q", base.Name(), base.Hash())
	}
	if other := mustParse(t, "version: 2 # the same\n"); other.Hash() == base.Hash() {
		t.Error("other bytes have the same hash")
	}
}

func mustParse(t *testing.T, data string) *document.Base {
	t.Helper()
	base, err := document.ParseBase("mine", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return base
}
