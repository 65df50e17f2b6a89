// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const modelServerImage = "localhost/model-server-double:e2e"

type images struct {
	operator, modelServer string

	scratch string
}

func (i *images) archives() []string {
	return []string{i.operator, pinned.archive, newest.archive, i.modelServer}
}

func (i *images) remove() { _ = os.RemoveAll(i.scratch) }

func gatherImages(ctx context.Context) (*images, error) {
	i := &images{operator: os.Getenv("LLSD_OPERATOR_IMAGE")}
	if i.operator == "" {
		return nil, errors.New(`LLSD_OPERATOR_IMAGE names no image archive: run these tests by "make test-e2e"`)
	}
	err := errors.Join(pinned.find("LLSD_SERVER_IMAGE"), newest.find("LLSD_NEWEST_SERVER_IMAGE"))
	if err != nil {
		return nil, err
	}
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

// buildModelServer builds the fake model server and packs it into an image archive.
func buildModelServer(ctx context.Context, scratch, archive string) error {
	binary := filepath.Join(scratch, "model-server-double")
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./tests/backend/cmd/model-server-double"},
		{"-C", "hack/cluster", "run", "./cmd/image", "--binary", binary, "--ref", modelServerImage, "--output", archive},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = framework.Root()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// installOperator applies the manifest, and registers the server's image under the names that the samples use.
func installOperator(ctx context.Context) error {
	if err := cluster.Install(ctx); err != nil {
		return err
	}
	// The highest log level, so that the search for secret values covers all that the operator can log.
	if _, err := cluster.KubectlRun(ctx, "-n", framework.OperatorNamespace, "patch", "deployment", framework.OperatorName, "--type=json",
		"-p", `[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--zap-log-level=127"}]`); err != nil {
		return err
	}
	if err := register(ctx, &pinned); err != nil {
		return err
	}
	return operatorRollsOut(ctx)
}

func operatorRollsOut(ctx context.Context) error {
	_, err := cluster.KubectlRun(ctx, "-n", framework.OperatorNamespace, "rollout", "status", "deployment/"+framework.OperatorName, "--timeout=120s")
	return err
}
