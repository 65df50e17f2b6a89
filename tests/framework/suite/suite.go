// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// The shared control plane. Main sets these variables before the first test.
var (
	Cluster *framework.Cluster
	Scheme  = runtime.NewScheme()
	// Admin has the permissions of an administrator, and OperatorConfig those of the operator.
	Admin          client.WithWatch
	OperatorConfig *rest.Config
	// Canaries must not be outside of Secrets.
	Canaries framework.Canaries
	// OperatorImage is the image of the operator's Deployment.
	OperatorImage string
)

// operatorPod is the pod of the operators that run in this process.
var operatorPod = types.NamespacedName{Namespace: framework.OperatorNamespace, Name: "operator-of-the-tests"}

// logBuffer is a buffer for concurrent writers.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Main starts the control plane, runs the tests, calls the functions after them, and exits. kind selects the check of
// the roles.
func Main(m *testing.M, kind Kind, after ...func() error) {
	log := &logBuffer{}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	var options logging.Options
	options.BindFlags(flags)
	err := flags.Parse([]string{"--" + logging.FlagLevel + "=127"})
	code := 1
	if err == nil {
		ctrl.SetLogger(options.Logger(log))
		code, err = run(m, log, append(after, kind.checkRoles))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code != 0 && Cluster != nil {
		fmt.Fprintln(os.Stderr, "logs of the cluster:", Cluster.Logs)
	}
	os.Exit(code)
}

func run(m *testing.M, log *logBuffer, after []func() error) (code int, err error) {
	if Cluster, err = framework.StartCluster(framework.ControlPlane); err != nil {
		return 1, err
	}
	defer func() {
		end := Cluster.Stop
		if code == 0 {
			end = Cluster.Remove
		}
		err = errors.Join(err, end())
	}()
	if err := connect(); err != nil {
		return 1, err
	}
	code = m.Run()
	err = findSecrets(log)
	for _, f := range after {
		err = errors.Join(err, f())
	}
	return code, err
}

// findSecrets searches the objects of the cluster and the operators' log for secret values.
//
// Proves: R7, NFR-003.
func findSecrets(log *logBuffer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stored, err := Cluster.NonSecretObjects(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for place, text := range map[string]string{"an object": stored, "the operator's log": log.b.String()} {
		for _, found := range Canaries.Find(text) {
			errs = append(errs, fmt.Errorf("after all tests, %s contains %s", place, found))
		}
	}
	return errors.Join(errs...)
}

// connect installs the released manifest and takes the operator's own permissions.
func connect() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme, objects.AddToScheme, endpoint.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(Scheme); err != nil {
			return err
		}
	}
	if err := Cluster.Install(ctx); err != nil {
		return err
	}
	// The second webhook rejects what it cannot validate, and no process serves webhooks in this cluster.
	if _, err := Cluster.KubectlRun(ctx, "patch", "validatingwebhookconfiguration", certificates.ValidationName, "--type=json",
		"-p", `[{"op":"remove","path":"/webhooks/1"}]`); err != nil {
		return err
	}
	config, err := Cluster.AdminConfig()
	if err != nil {
		return err
	}
	if Admin, err = client.NewWithWatch(config, client.Options{Scheme: Scheme}); err != nil {
		return err
	}
	if err := errors.Join(allowExemptions(ctx), awaitPolicy(ctx, metav1.NamespaceDefault, validated), createOperatorPod(ctx)); err != nil {
		return err
	}
	OperatorConfig, err = Cluster.ServiceAccountConfig(framework.OperatorNamespace, framework.OperatorName)
	return err
}

// createOperatorPod creates the operator's pod as the released manifest describes it. No node runs it.
func createOperatorPod(ctx context.Context) error {
	var d appsv1.Deployment
	if err := Admin.Get(ctx, types.NamespacedName{Namespace: framework.OperatorNamespace, Name: framework.OperatorName}, &d); err != nil {
		return err
	}
	OperatorImage = d.Spec.Template.Spec.Containers[0].Image
	return Admin.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorPod.Namespace, Name: operatorPod.Name}, Spec: d.Spec.Template.Spec,
	})
}
