// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/storageversion"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	webhookService = "llama-stack-k8s-operator-webhook-service"
	crdName        = "crd/llamastackdistributions.llamastack.io"
	// v1alpha1Kind names the version. With the short name, llsd, kubectl forgets it and means the preferred one.
	v1alpha1Kind   = "llamastackdistributions.v1alpha1.llamastack.io"
	installTimeout = 3 * time.Minute
)

// ownClusters are the control planes that are lent to one test at a time: as many as were needed at once.
var ownClusters struct {
	mu      sync.Mutex
	started int
	free    []*framework.Cluster
}

// ownCluster lends the test a control plane in which there is nothing yet, until its end.
func ownCluster(t *testing.T) *framework.Cluster {
	t.Helper()
	c := freeCluster(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		err := keepRequests(c)
		if err == nil && !t.Failed() {
			if err = c.Restore(ctx); err == nil {
				ownClusters.mu.Lock()
				defer ownClusters.mu.Unlock()
				ownClusters.free = append(ownClusters.free, c)
				return
			}
		}
		if err := errors.Join(err, c.Remove()); err != nil { // nobody knows what is still going on there
			t.Error(err)
		}
	})
	return c
}

// freeCluster is a control plane that another test has left, or starts one.
func freeCluster(t *testing.T) *framework.Cluster {
	t.Helper()
	own := &ownClusters
	own.mu.Lock()
	if last := len(own.free) - 1; last >= 0 {
		defer own.mu.Unlock()
		c := own.free[last]
		own.free = own.free[:last]
		return c
	}
	own.started++
	name := strconv.Itoa(own.started)
	own.mu.Unlock()
	c, err := framework.StartCluster(framework.ControlPlane, "serving", name)
	framework.NoError(t, err)
	if err := c.Snapshot(t.Context()); err != nil {
		t.Fatal(errors.Join(err, c.Remove()))
	}
	return c
}

// removeOwnClusters ends the control planes that were lent.
func removeOwnClusters() error {
	var all sync.WaitGroup
	errs := make([]error, len(ownClusters.free))
	for i, c := range ownClusters.free {
		all.Go(func() { errs[i] = c.Remove() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// serving is a cluster of its own, in which the API server reaches webhooks of this process.
type serving struct {
	t       *testing.T
	cluster *framework.Cluster
	admin   client.WithWatch
	service *framework.Forwarder
	// env is what the programs that the test starts have in their environment besides.
	env []string
}

func newServing(t *testing.T) *serving {
	t.Helper()
	c := ownCluster(t)
	s := &serving{t: t, cluster: c, service: framework.StartForwarder(t, "127.0.0.1:0")}
	config, err := c.AdminConfig()
	framework.NoError(t, err)
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	framework.NoError(t, errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)))
	if s.admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return s
}

// install applies the released manifest, and leads its Service to this process: where no node runs, a Service is not more
// than a name, and one of the type ExternalName is the name of this machine.
func (s *serving) install() {
	s.t.Helper()
	s.kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	s.established(crdName)
	s.redirect()
}

// established waits until the API server serves what the CRDs define.
func (s *serving) established(crds ...string) {
	s.t.Helper()
	framework.NoError(s.t, established(s.t.Context(), s.cluster, crds...))
}

// established is polled, because kubectl wait ends with an error where a CRD has no condition yet.
func established(ctx context.Context, c *framework.Cluster, crds ...string) error {
	return framework.Poll(ctx, time.Minute, func() error {
		_, err := c.KubectlRun(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, crds...)...)
		return err
	})
}

func (s *serving) redirect() {
	s.t.Helper()
	s.kubectl("-n", operatorNamespace, "delete", "service", webhookService)
	s.kubectl("-n", operatorNamespace, "create", "service", "externalname", webhookService, "--external-name", "localhost")
	s.kubectl("patch", crdName, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/service/port","value":%d}]`, s.service.Port()))
	s.kubectl("patch", "validatingwebhookconfiguration", certificates.ValidationName, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":%[1]d},{"op":"replace","path":"/webhooks/1/clientConfig/service/port","value":%[1]d}]`,
			s.service.Port()))
}

func (s *serving) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.cluster.KubectlRun(s.t.Context(), args...)
	framework.NoError(s.t, err)
	return out
}

func (s *serving) apply(manifest string, args ...string) {
	s.t.Helper()
	if _, err := s.cluster.KubectlInput(s.t.Context(), manifest, append([]string{"apply", "-f", "-"}, args...)...); err != nil {
		s.t.Fatal(err)
	}
}

// get reads an object of the namespace default in one of the versions.
func (s *serving) get(version, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("llamastack.io/" + version)
	u.SetKind("LlamaStackDistribution")
	return u, s.admin.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, u)
}

func (s *serving) mustGet(version, name string) *unstructured.Unstructured {
	s.t.Helper()
	u, err := s.get(version, name)
	framework.NoError(s.t, err)
	return u
}

func (s *serving) secret() *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	if err := s.admin.Get(s.t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: certificates.SecretName}, secret); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// injected is the CA bundle that the API server has for the conversion.
func (s *serving) injected() []byte {
	s.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	framework.NoError(s.t, s.admin.Get(s.t.Context(), client.ObjectKey{Name: certificates.CRDName}, crd))
	return crd.Spec.Conversion.Webhook.ClientConfig.CABundle
}

// replica is the webhooks of one replica of the operator.
type replica struct {
	server *webhook.Server
	// end stops it, and done is closed when it has ended.
	end  func()
	done chan struct{}
}

type replicaOptions struct {
	elsewhere bool // certificates are made elsewhere
	lifetimes certificates.Lifetimes
	drain     time.Duration
}

// start starts a replica with the operator's own permissions.
func (s *serving) start(o replicaOptions) *replica {
	s.t.Helper()
	if o.lifetimes == (certificates.Lifetimes{}) {
		o.lifetimes = certificates.DefaultLifetimes()
	}
	config, err := s.cluster.ServiceAccountConfig(operatorNamespace, operatorServiceAccount)
	framework.NoError(s.t, err)
	server, err := webhook.Listen(s.t.Context(), config, webhook.Options{
		Address: "127.0.0.1:0", Namespace: operatorNamespace, Managed: !o.elsewhere, Lifetimes: o.lifetimes, Drain: o.drain,
	})
	framework.NoError(s.t, err)
	reader, err := client.New(config, client.Options{Scheme: s.admin.Scheme()})
	framework.NoError(s.t, err)
	facts := &gather.Gatherer{Live: reader, OperatorNamespace: operatorNamespace}
	server.Handle((&webhook.Validation{Gather: facts.GatherForAdmission}).Kind())
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{server: server, end: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := server.Run(ctx); err != nil {
			s.t.Errorf("a replica ended with %v", err)
		}
	}()
	s.t.Cleanup(func() { cancel(); <-r.done })
	return r
}

func (r *replica) ready() error {
	return r.server.Ready(httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
}

// serve makes a replica one of the endpoints of the Service when it is ready, as its readiness probe does.
func (s *serving) serve(r *replica) {
	s.t.Helper()
	framework.Eventually(s.t, time.Minute, "the replica is ready", r.ready)
	s.service.Add(r.server.Address().String())
}

// serveOne is a cluster with one replica that converts.
func serveOne(t *testing.T) *serving {
	t.Helper()
	s := newServing(t)
	s.install()
	s.serve(s.start(replicaOptions{}))
	return s
}

// readsConverted reads a stored object in the version that it is not stored in, each time from the store.
func (s *serving) readsConverted(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("llamastack.io/v1alpha1")
		u.SetKind("LlamaStackDistribution")
		return s.admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, u)
	}
}

// trusting is what a client of the webhooks trusts that has the CA bundle.
func trusting(bundle []byte) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return &tls.Config{RootCAs: roots, ServerName: webhookService + "." + operatorNamespace + ".svc"}
}

// shakesHands opens a connection of its own, with the trust that the CRD gives the API server at that moment.
func (s *serving) shakesHands(trust func() *tls.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&tls.Dialer{Config: trust()}).DialContext(ctx, "tcp", s.service.Address())
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// operatorClient has the operator's own permissions.
func (s *serving) operatorClient() client.Client {
	s.t.Helper()
	config, err := s.cluster.ServiceAccountConfig(operatorNamespace, operatorServiceAccount)
	framework.NoError(s.t, err)
	operator, err := client.New(config, client.Options{Scheme: s.admin.Scheme()})
	framework.NoError(s.t, err)
	return operator
}

// migration is the migration of storage with the operator's own permissions.
func (s *serving) migration() *storageversion.Migration {
	operator := s.operatorClient()
	return &storageversion.Migration{Live: operator, Client: operator, StatusClient: operator}
}
