// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/logging"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	operatorNamespace      = "llama-stack-k8s-operator-system"
	operatorServiceAccount = "llama-stack-k8s-operator-controller-manager"
)

var (
	cluster        *framework.Cluster
	scheme         = runtime.NewScheme()
	admin          client.WithWatch
	operatorConfig *rest.Config
	operatorLog    = &safeBuffer{}
	canaries       framework.Canaries
)

func TestMain(m *testing.M) {
	logger, err := highestLogLevel(operatorLog)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctrl.SetLogger(logger)
	var code int
	code, err = run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code != 0 && cluster != nil {
		fmt.Fprintln(os.Stderr, "logs of the cluster:", cluster.Logs)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = framework.StartCluster(framework.ControlPlane); err != nil {
		return 1, err
	}
	defer func() {
		end := cluster.Stop
		if code == 0 {
			end = cluster.Remove
		}
		err = errors.Join(err, end())
	}()
	if err := connect(); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, errors.Join(removeOwnClusters(), secretsAreNowhereElse(), rolesFitTheRequests())
}

// highestLogLevel is the operator's logger with the highest level that its flag accepts.
func highestLogLevel(w io.Writer) (logr.Logger, error) {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	var options logging.Options
	options.BindFlags(flags)
	err := flags.Parse([]string{"--" + logging.FlagLevel + "=127"})
	return options.Logger(w), err
}

// secretsAreNowhereElse searches, after all tests, what they left in the cluster and what their operators logged.
//
// Proves: R7, NFR-003.
func secretsAreNowhereElse() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stored, err := cluster.NonSecretObjects(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for place, text := range map[string]string{"an object": stored, "the operator's log": operatorLog.String()} {
		for _, found := range canaries.Find(text) {
			errs = append(errs, fmt.Errorf("after all tests, %s contains %s", place, found))
		}
	}
	return errors.Join(errs...)
}

// connect installs the released manifest and takes the operator's own permissions.
func connect() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme, objects.AddToScheme, endpoint.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if out, err := cluster.KubectlRun(ctx, "apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml")); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := established(ctx, cluster, crdName); err != nil {
		return err
	}
	// Nobody serves webhooks in this cluster, and the second one rejects what it cannot ask about.
	if out, err := cluster.KubectlRun(ctx, "patch", "validatingwebhookconfiguration", certificates.ValidationName, "--type=json",
		"-p", `[{"op":"remove","path":"/webhooks/1"}]`); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	config, err := cluster.AdminConfig()
	if err != nil {
		return err
	}
	if admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := errors.Join(allowExemptions(ctx), awaitPolicy(ctx, metav1.NamespaceDefault, inForce), ownPod(ctx)); err != nil {
		return err
	}
	operatorConfig, err = cluster.ServiceAccountConfig(operatorNamespace, operatorServiceAccount)
	return err
}

// operatorPod is what the operators of these tests take for their own pod, and operatorImage its image.
var (
	operatorPod   = types.NamespacedName{Namespace: operatorNamespace, Name: "operator-of-the-tests"}
	operatorImage string
)

// ownPod creates the operator's own pod as the released manifest describes it. No node runs it.
func ownPod(ctx context.Context) error {
	var d appsv1.Deployment
	if err := admin.Get(ctx, types.NamespacedName{Namespace: operatorNamespace, Name: "llama-stack-k8s-operator-controller-manager"}, &d); err != nil {
		return err
	}
	operatorImage = d.Spec.Template.Spec.Containers[0].Image
	return admin.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorPod.Namespace, Name: operatorPod.Name}, Spec: d.Spec.Template.Spec,
	})
}
