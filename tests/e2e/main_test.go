// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Shared by all parts; TestMain sets them.
var (
	tell    *framework.Progress
	cluster *framework.Cluster
	admin   *rest.Config
	kube    client.WithWatch
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run starts the cluster, runs the tests, and always stops the cluster.
func run(m *testing.M) (code int) {
	tell = framework.NewProgress(os.Stdout)
	log.SetLogger(logr.Discard()) // for the plugin's command, which runs in this process
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	defer func() {
		if cluster == nil {
			return
		}
		if err := tearDown(); err != nil {
			fmt.Fprintln(os.Stderr, "tear down:", err)
			code = 1
		}
		if code != 0 {
			tell.End("FAILED; the logs of the cluster are in %s,", cluster.Logs)
			return
		}
		tell.End("everything holds")
		_ = os.RemoveAll(cluster.Dir) // only logs are left
	}()
	if err := setUp(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "set up:", err)
		if cluster != nil {
			explain(os.Stdout)
		}
		return 1
	}
	tests := make(chan int, 1)
	go func() { tests <- m.Run() }()
	select {
	case code = <-tests:
		return code
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "interrupted")
		return 1
	}
}

func setUp(ctx context.Context) error {
	part := tell.Part("", "set up")
	images, err := gatherImages(ctx)
	if err != nil {
		return err
	}
	defer images.remove()
	part.Done("the fake model server is built")
	if cluster, err = framework.StartCluster(framework.Node); err != nil {
		return err
	}
	part.Done("a cluster with a node runs")
	if err := connect(); err != nil {
		return err
	}
	if err := cluster.Load(images.archives()...); err != nil {
		return err
	}
	part.Done("the images are loaded")
	if err := installEdgeTypes(ctx); err != nil {
		return err
	}
	if err := installOperator(ctx); err != nil {
		return err
	}
	part.Done("the operator is installed from dist/install.yaml and available")
	return nil
}

func connect() error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if admin, err = cluster.AdminConfig(); err != nil {
		return err
	}
	admin.WarningHandler = rest.NoWarnings{} // listing all kinds includes deprecated ones
	kube, err = client.NewWithWatch(admin, client.Options{Scheme: scheme})
	return err
}

// tearDown stops the cluster, and returns an error if anything of it is left.
func tearDown() error {
	part := tell.Part("", "tear down")
	before, err := traces(cluster)
	if err != nil {
		return errors.Join(err, cluster.Stop())
	}
	if err := cluster.Stop(); err != nil {
		return err
	}
	part.Done("the cluster is ended")
	used, err := rolesAllowAllRequests()
	if err != nil {
		return err
	}
	part.Done("the roles of the manifest allow all requests of the operator, which used %d of its permissions", used)
	if err := before.gone(); err != nil {
		return err
	}
	part.Done("none of its %d processes, %d network namespaces, links and mounts is left", len(before.processes), len(before.networks))
	return nil
}

// rolesAllowAllRequests checks that the released roles allow every request of the operator, and returns the number of
// permissions used.
//
// Proves: L-19.
func rolesAllowAllRequests() (used int, err error) {
	roles, err := framework.ReadRoles()
	if err != nil {
		return 0, err
	}
	requests, err := cluster.Requests()
	if err != nil {
		return 0, err
	}
	roles.Note(requests)
	if err := roles.Missing(); err != nil {
		return 0, err
	}
	return roles.Used(), nil
}
