// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/logging"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var (
	cluster *framework.Cluster
	admin   client.WithWatch
	plane   *controlPlane
	figures report
	// kubeconfig has the operator's permissions.
	kubeconfig string
)

func TestMain(m *testing.M) {
	ctrl.SetLogger((&logging.Options{}).Logger(os.Stderr))
	framework.IsolatedMain(m, "chaos", setUp, func() error {
		if plane != nil {
			plane.end()
		}
		return figures.print()
	})
}

func setUp(c *framework.Cluster) (err error) {
	cluster = c
	if plane, err = openControlPlane(c); err != nil {
		return err
	}
	if err := connect(); err != nil {
		return err
	}
	// Created once: the cluster command creates none for a cluster whose processes have ended, and the tests end them.
	kubeconfig, err = c.OperatorKubeconfig()
	return err
}

func connect() error {
	config, err := cluster.AdminConfig()
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	config.Timeout = 30 * time.Second
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme)); err != nil {
		return err
	}
	if admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return cluster.Install(ctx)
}

func full() bool { return os.Getenv("LLSD_CHAOS") == "full" }
