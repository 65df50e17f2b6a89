// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	operatorNamespace = "llama-stack-k8s-operator-system"
	operatorName      = "llama-stack-k8s-operator-controller-manager"

	modelServerImage = "localhost/model-server-double:e2e"
)

// images are the archives that the node needs.
type images struct {
	operator, server, modelServer string
	// serverRef is the name of the server's image, and serverVersion the release in it.
	serverRef, serverVersion string

	scratch string
}

func (i *images) archives() []string { return []string{i.operator, i.server, i.modelServer} }

func (i *images) remove() { _ = os.RemoveAll(i.scratch) }

func gatherImages(ctx context.Context) (*images, error) {
	i := &images{operator: os.Getenv("LLSD_OPERATOR_IMAGE"), server: os.Getenv("LLSD_SERVER_IMAGE")}
	if i.operator == "" || i.server == "" {
		return nil, errors.New(`LLSD_OPERATOR_IMAGE and LLSD_SERVER_IMAGE do not name image archives: run these tests by "make test-e2e"`)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(i.server) })
	if err != nil {
		return nil, fmt.Errorf("image archive %s: %w", i.server, err)
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return nil, fmt.Errorf("image archive %s: want one image with one name", i.server)
	}
	i.serverRef = manifest[0].RepoTags[0]
	i.serverVersion = i.serverRef[strings.LastIndex(i.serverRef, ":")+1:]
	if i.scratch, err = os.MkdirTemp("", "llsd-e2e-"); err != nil {
		return nil, err
	}
	i.modelServer = filepath.Join(i.scratch, "model-server.tar")
	if err := buildModelServer(ctx, i.scratch, i.modelServer); err != nil {
		i.remove()
		return nil, err
	}
	return i, nil
}

// buildModelServer builds the stand-in for the model server and packs it into an image archive.
func buildModelServer(ctx context.Context, scratch, archive string) error {
	binary := filepath.Join(scratch, "model-server-double")
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./tests/backend/cmd/model-server-double"},
		{"run", "./hack/image", "--binary", binary, "--ref", modelServerImage, "--output", archive},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = fixture.Root()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// installOperator does what a user does: it applies the manifest, and registers the server's image under the names that
// the samples use.
func installOperator(ctx context.Context, i *images) error {
	if _, err := cluster.KubectlRun(ctx, "apply", "-f", filepath.Join(fixture.Root(), "dist", "install.yaml")); err != nil {
		return err
	}
	base, err := os.ReadFile(filepath.Join(fixture.Root(), "tests", "server", "testdata", "light-base.yaml"))
	if err != nil {
		return err
	}
	registration := settings.Registration{Image: i.serverRef, ServerVersion: i.serverVersion, Config: string(base)}
	distributions, err := yaml.Marshal(map[string]settings.Registration{"light": registration, "starter": registration})
	if err != nil {
		return err
	}
	if err := kube.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: settings.ConfigMapName},
		Data:       map[string]string{settings.KeyDistributions: string(distributions)},
	}); err != nil {
		return err
	}
	_, err = cluster.KubectlRun(ctx, "-n", operatorNamespace, "rollout", "status", "deployment/"+operatorName, "--timeout=120s")
	return err
}
