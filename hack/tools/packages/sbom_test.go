// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	spdx "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/llamastack/llama-stack-k8s-operator/hack/release/sbom"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The SPDX library reads the document and finds the modules of the program.
func TestSBOMIsValidSPDX(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if text, err := exec.Command("go", "build", "-C", framework.Root(), "-o", program, "./hack/release").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := sbom.Input{Program: program, Artifact: "a_1.0.0.tar.gz", Version: "1.0.0", Namespace: "https://example.com/v1.0.0", Created: now}.JSON()
	framework.NoError(t, err)
	document, err := spdx.Read(bytes.NewReader(text))
	framework.NoError(t, err)
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	roots, err := spdxlib.GetDescribedPackageIDs(document)
	if err != nil || len(roots) != 1 {
		t.Errorf("it describes %v (%v)", roots, err)
	}
	var names []string
	for _, p := range document.Packages {
		names = append(names, p.PackageName)
	}
	for _, want := range []string{"std", "sigs.k8s.io/yaml", "github.com/google/go-containerregistry"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %s", want, strings.Join(names, " "))
		}
	}
}
