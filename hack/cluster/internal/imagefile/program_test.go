// SPDX-License-Identifier: Apache-2.0

package imagefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
)

func TestProgramImage(t *testing.T) {
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "pause"), filepath.Join(dir, "pause.tar")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := imagefile.WriteProgram(archive, "localhost/pause:1", program); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.OS != "linux" || len(file.Config.Entrypoint) != 1 || file.Config.Entrypoint[0] != "/pause" {
		t.Errorf("os %q, entry point %q", file.OS, file.Config.Entrypoint)
	}
}
