// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var cluster *framework.Cluster

func TestMain(m *testing.M) {
	code, err := framework.RunIsolated(func() (int, error) { return inside(m) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inside(m *testing.M) (code int, err error) {
	if cluster, err = framework.StartCluster(framework.ControlPlane, "hostile"); err != nil {
		return 1, err
	}
	defer func() {
		end := cluster.Remove
		if code != 0 {
			fmt.Fprintln(os.Stderr, "logs of the cluster:", cluster.Logs)
			end = cluster.Stop
		}
		err = errors.Join(err, end())
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := cluster.Install(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
