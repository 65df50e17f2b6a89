// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
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
	// kubeconfig has the operator's own permissions.
	kubeconfig string
)

func TestMain(m *testing.M) {
	ctrl.SetLogger((&logging.Options{}).Logger(os.Stderr))
	code, err := framework.RunIsolated(func() (int, error) { return inside(m) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inside(m *testing.M) (code int, err error) {
	if cluster, err = framework.StartCluster(framework.ControlPlane, "chaos"); err != nil {
		return 1, err
	}
	defer func() {
		end := cluster.Remove
		if code != 0 {
			fmt.Fprintln(os.Stderr, "logs of the cluster:", cluster.Logs)
			end = cluster.Stop
		}
		if plane != nil {
			plane.end()
		}
		err = errors.Join(err, end())
	}()
	if plane, err = openControlPlane(cluster); err != nil {
		return 1, err
	}
	if err := connect(); err != nil {
		return 1, err
	}
	// Once: the cluster command makes none for a cluster whose processes have ended, and the tests end them.
	if kubeconfig, err = cluster.OperatorKubeconfig(); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, figures.print()
}

// connect installs the released manifest.
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

// full reports whether the long faults run, too.
func full() bool { return os.Getenv("LLSD_CHAOS") == "full" }
