// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/storageversion"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// v1alpha1Kind names the version; for the short name llsd, kubectl uses the preferred version.
const v1alpha1Kind = "llamastackdistributions.v1alpha1.llamastack.io"

// ownClusters is a pool of control planes, each lent to one test at a time.
var ownClusters struct {
	mu      sync.Mutex
	started int
	free    []*framework.Cluster
}

// ownCluster lends an empty control plane to the test.
func ownCluster(t *testing.T) *framework.Cluster {
	t.Helper()
	c := freeCluster(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		err := suite.KeepRequests(c)
		if err == nil && !t.Failed() {
			if err = c.Restore(ctx); err == nil {
				ownClusters.mu.Lock()
				defer ownClusters.mu.Unlock()
				ownClusters.free = append(ownClusters.free, c)
				return
			}
		}
		if err := errors.Join(err, c.Remove()); err != nil { // its state is unknown
			t.Error(err)
		}
	})
	return c
}

// freeCluster returns an unused control plane of the pool, or starts one.
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
	c, err := framework.StartCluster(framework.ControlPlane, "own", name)
	framework.NoError(t, err)
	if err := c.Snapshot(t.Context()); err != nil {
		t.Fatal(errors.Join(err, c.Remove()))
	}
	return c
}

func removeOwnClusters() error {
	var all sync.WaitGroup
	errs := make([]error, len(ownClusters.free))
	for i, c := range ownClusters.free {
		all.Go(func() { errs[i] = c.Remove() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// controlPlane is the default namespace of a borrowed control plane, whose API server reaches webhooks of this process.
type controlPlane struct {
	framework.Namespace
	service *framework.Forwarder
	// env is added to the environment of the operator's program.
	env []string
}

func newControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	c := ownCluster(t)
	config, err := c.AdminConfig()
	framework.NoError(t, err)
	config.WarningHandler = rest.NoWarnings{}
	admin, err := client.NewWithWatch(config, client.Options{Scheme: suite.Scheme})
	framework.NoError(t, err)
	return &controlPlane{
		Namespace: framework.Namespace{T: t, Cluster: c, Client: admin, Name: metav1.NamespaceDefault}, service: framework.StartForwarder(t, "127.0.0.1:0"),
	}
}

func (s *controlPlane) in(namespace string) *framework.Namespace {
	n := s.Namespace
	n.Name = namespace
	return &n
}

// install applies the released manifest, and redirects its Service to this process.
func (s *controlPlane) install() {
	s.T.Helper()
	framework.NoError(s.T, s.Cluster.Install(s.T.Context()))
	s.redirect()
}

func (s *controlPlane) established(crds ...string) {
	s.T.Helper()
	framework.NoError(s.T, s.Cluster.Established(s.T.Context(), crds...))
}

// redirect makes the webhooks' Service an external name of this machine, because no node routes to Services here.
func (s *controlPlane) redirect() {
	s.T.Helper()
	operator := s.in(framework.OperatorNamespace)
	operator.Kubectl("delete", "service", framework.WebhookService)
	operator.Kubectl("create", "service", "externalname", framework.WebhookService, "--external-name", "localhost")
	s.Kubectl("patch", framework.CRD, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/service/port","value":%d}]`, s.service.Port()))
	s.Kubectl("patch", "validatingwebhookconfiguration", certificates.ValidationName, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":%[1]d},{"op":"replace","path":"/webhooks/1/clientConfig/service/port","value":%[1]d}]`,
			s.service.Port()))
}

func (s *controlPlane) tryVersion(version, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("llamastack.io/" + version)
	u.SetKind("LlamaStackDistribution")
	return u, s.Get(u, name)
}

func (s *controlPlane) version(version, name string) *unstructured.Unstructured {
	s.T.Helper()
	u, err := s.tryVersion(version, name)
	framework.NoError(s.T, err)
	return u
}

func (s *controlPlane) secret() *corev1.Secret {
	s.T.Helper()
	secret := &corev1.Secret{}
	framework.NoError(s.T, s.in(framework.OperatorNamespace).Get(secret, certificates.SecretName))
	return secret
}

// injected returns the CA bundle of the CRD's conversion webhook.
func (s *controlPlane) injected() []byte {
	s.T.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	framework.NoError(s.T, s.Client.Get(s.T.Context(), client.ObjectKey{Name: certificates.CRDName}, crd))
	return crd.Spec.Conversion.Webhook.ClientConfig.CABundle
}

type replica struct {
	server *webhook.Server
	// end stops the webhooks, and done is closed when they have stopped.
	end  func()
	done chan struct{}
}

type replicaOptions struct {
	elsewhere bool // certificates come from another source
	lifetimes certificates.Lifetimes
	drain     time.Duration
}

func (s *controlPlane) startReplica(o replicaOptions) *replica {
	s.T.Helper()
	if o.lifetimes == (certificates.Lifetimes{}) {
		o.lifetimes = certificates.DefaultLifetimes()
	}
	config, err := s.Cluster.ServiceAccountConfig(framework.OperatorNamespace, framework.OperatorName)
	framework.NoError(s.T, err)
	server, err := webhook.Listen(s.T.Context(), config, webhook.Options{
		Address: "127.0.0.1:0", Namespace: framework.OperatorNamespace, Managed: !o.elsewhere, Lifetimes: o.lifetimes, Drain: o.drain,
	})
	framework.NoError(s.T, err)
	facts := &gather.Gatherer{Live: s.operatorClient(), OperatorNamespace: framework.OperatorNamespace}
	server.Handle((&webhook.Validation{Gather: facts.GatherForAdmission}).Kind())
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{server: server, end: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := server.Run(ctx); err != nil {
			s.T.Errorf("a replica ended with %v", err)
		}
	}()
	s.T.Cleanup(func() { cancel(); <-r.done })
	return r
}

func (r *replica) ready() error {
	return r.server.Ready(httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
}

// serve waits until a replica is ready, and adds it to the endpoints of the Service.
func (s *controlPlane) serve(r *replica) {
	s.T.Helper()
	s.Eventually("the replica is ready", r.ready)
	s.service.Add(r.server.Address().String())
}

// installed returns a control plane with the released manifest.
func installed(t *testing.T) *controlPlane {
	t.Helper()
	s := newControlPlane(t)
	s.install()
	return s
}

// serveOne returns a control plane with one replica of the webhooks.
func serveOne(t *testing.T) *controlPlane {
	t.Helper()
	s := installed(t)
	s.serve(s.startReplica(replicaOptions{}))
	return s
}

// readsConverted returns a function that reads an object from etcd in the version that it is not stored in.
func (s *controlPlane) readsConverted(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("llamastack.io/v1alpha1")
		u.SetKind("LlamaStackDistribution")
		return s.Client.Get(ctx, s.Key(name), u)
	}
}

// trusting returns the TLS configuration of a webhook client with the CA bundle.
func trusting(bundle []byte) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return &tls.Config{RootCAs: roots, ServerName: framework.WebhookHost}
}

// shakesHands returns a function that opens a new connection with the CA bundle that the CRD has at that moment.
func (s *controlPlane) shakesHands(trust func() *tls.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&tls.Dialer{Config: trust()}).DialContext(ctx, "tcp", s.service.Address())
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

func (s *controlPlane) operatorClient() client.Client {
	s.T.Helper()
	config, err := s.Cluster.ServiceAccountConfig(framework.OperatorNamespace, framework.OperatorName)
	framework.NoError(s.T, err)
	operator, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	framework.NoError(s.T, err)
	return operator
}

func (s *controlPlane) migration() *storageversion.Migration {
	operator := s.operatorClient()
	return &storageversion.Migration{Live: operator, Client: operator, StatusClient: operator}
}
