// SPDX-License-Identifier: Apache-2.0

// Command manager runs the operator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/logging"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/shard"
	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/tlsprofile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
)

// disabled is the address that disables an endpoint.
const disabled = "0"

type flags struct {
	metricsAddress, healthAddress, webhookAddress string
	// metricsCertificate is a directory, validationClientCA a file.
	metricsCertificate, validationClientCA string

	leaderElection          bool
	lease                   leaseTimes
	manageCertificates      bool
	migrateStorage          bool
	watchNamespaces         string
	watchLabelSelector      string
	operatorNamespace       string
	operatorImage           string
	pod                     types.NamespacedName
	forbidForeignConfigMaps bool
	allowForeignConfigMaps  bool
	log                     logging.Options

	// selector is the parsed watchLabelSelector; nil means all custom resources.
	selector labels.Selector
}

// isSecondaryShard reports whether another shard, which serves the webhooks, does the work for the whole cluster.
func (f *flags) isSecondaryShard() bool {
	return f.selector != nil && f.webhookAddress == disabled && f.watchNamespaces == ""
}

func main() {
	f := parse()
	ctrl.SetLogger(f.log.Logger(os.Stderr))
	if err := run(ctrl.SetupSignalHandler(), f); err != nil {
		ctrl.Log.Error(err, "operator failed")
		os.Exit(1)
	}
}

func parse() *flags {
	f := &flags{}
	flag.StringVar(&f.metricsAddress, "metrics-bind-address", ":8443",
		`address of the metrics endpoint, over HTTPS, for clients authorized to "get" /metrics; "0" disables it`)
	flag.StringVar(&f.metricsCertificate, "metrics-certificate-dir", "",
		"directory with tls.crt and tls.key for the metrics endpoint; without them, its certificate is self-signed")
	flag.StringVar(&f.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flag.StringVar(&f.webhookAddress, "webhook-bind-address", ":9443",
		"address of the conversion and validation webhooks; \"0\" disables them, for clusters without conversion")
	flag.StringVar(&f.validationClientCA, "validation-client-ca-file", "",
		"file with CA certificates; the validation webhook accepts only clients with a certificate signed by one of them; "+
			"API servers present none for conversion")
	flag.BoolVar(&f.manageCertificates, "manage-certificates", true,
		"issue the webhooks' certificates; set to false if cert-manager or OpenShift writes the "+
			"Secret "+certificates.SecretName)
	flag.BoolVar(&f.migrateStorage, "migrate-storage", true,
		"rewrite custom resources that are stored as v1alpha1; never done with --watch-namespaces")
	flag.BoolVar(&f.leaderElection, "leader-elect", false, "enable leader election, so that only one replica reconciles")
	f.lease.bindFlags(flag.CommandLine)
	flag.StringVar(&f.watchNamespaces, "watch-namespaces", "", "comma-separated namespaces to watch; empty means all")
	flag.StringVar(&f.watchLabelSelector, shard.Flag, "",
		"reconcile only custom resources that match this label selector, with a separate Lease; empty means all")
	flag.StringVar(&f.operatorNamespace, "operator-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the operator's own ConfigMap, Secret and Lease; defaults to $POD_NAMESPACE")
	flag.StringVar(&f.operatorImage, "operator-image", "",
		"image of the operator, which pods use to install external providers; empty means the image of the pod $POD_NAME")
	flag.BoolVar(&f.forbidForeignConfigMaps, "forbid-foreign-configmaps", false,
		"reject ConfigMaps outside the custom resource's namespace, which v1alpha1's userConfig and caBundle can refer to")
	flag.BoolVar(&f.allowForeignConfigMaps, "allow-foreign-configmaps", false,
		"use ConfigMaps of other namespaces without their annotation "+v1alpha2.AllowFromAnnotation+", as release 0.9 "+
			"does; users who can create LlamaStackDistributions can then read the ConfigMaps of all watched namespaces")
	f.pod = types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")}
	f.log.BindFlags(flag.CommandLine)
	flag.Parse()
	return f
}

func run(ctx context.Context, f *flags) error {
	if f.operatorNamespace == "" {
		return errors.New("--operator-namespace is empty: name the operator's namespace, or set POD_NAMESPACE")
	}
	if f.forbidForeignConfigMaps && f.allowForeignConfigMaps {
		return errors.New("--forbid-foreign-configmaps and --allow-foreign-configmaps exclude each other: remove one of them")
	}
	var err error
	if f.selector, err = shard.Parse(f.watchLabelSelector); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme), objects.AddToScheme(scheme),
		endpoint.AddToScheme(scheme))
	if err != nil {
		return err
	}
	restConfig, err := loadConfig()
	if err != nil {
		return err
	}
	isReady, err := apiServerReady(restConfig)
	if err != nil {
		return err
	}
	id, err := identity(f.pod.Name)
	if err != nil {
		return err
	}
	profile, err := tlsprofile.NewFollower(restConfig)
	if err != nil {
		return err
	}
	serveMetrics, err := metricsServer(restConfig, f, profile)
	if err != nil {
		return err
	}
	counts := metrics.New(catalog.Lines())
	if err := ctrlmetrics.Registry.Register(counts); err != nil {
		return err
	}
	known, err := gather.NewSettingsStore(ctx, restConfig, f.operatorNamespace)
	if err != nil {
		return err
	}
	apis, err := edgeAPIs(restConfig)
	if err != nil {
		return err
	}
	ready := map[string]healthz.Checker{}
	manage := func(ctx context.Context) error {
		return keepRunning(ctx, isReady, func(ctx context.Context) error {
			return runManager(ctx, restConfig, scheme, shared{counts, known, apis, id, isReady}, f)
		})
	}
	run := []func(context.Context) error{serveMetrics, known.Start, apis.Start, manage}
	if f.metricsAddress != disabled || f.webhookAddress != disabled {
		run = append(run, profile.Start)
	}
	if f.webhookAddress != disabled {
		webhooks, err := listen(ctx, restConfig, scheme, known, apis, profile, f)
		if err != nil {
			return err
		}
		ready["webhooks"] = webhooks.Ready
		counts.ServeExpiry(webhooks.CertificateExpiry)
		run = append(run, webhooks.Run)
	}
	ctrl.Log.Info("operator starts", "version", version.Version(), "build", version.Build())
	return runAll(ctx, append(run, healthServer(f.healthAddress, ready))...)
}

// loadConfig returns the client config. A silent connection fails after eight seconds instead of the default of 45.
func loadConfig() (*rest.Config, error) {
	for variable, value := range map[string]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "5",
		"HTTP2_PING_TIMEOUT_SECONDS": "3"} {
		if os.Getenv(variable) != "" {
			continue
		}
		if err := os.Setenv(variable, value); err != nil {
			return nil, err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot load kubeconfig: %w", err)
	}
	return config, nil
}

func edgeAPIs(restConfig *rest.Config) (*gather.KnownEdgeAPIs, error) {
	httpClient, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(restConfig, httpClient)
	if err != nil {
		return nil, err
	}
	return gather.NewKnownEdgeAPIs(mapper), nil
}

// listen returns the webhooks, listening on their port. It sends no request to the API server.
func listen(
	ctx context.Context, restConfig *rest.Config, scheme *runtime.Scheme, known *gather.SettingsStore,
	apis *gather.KnownEdgeAPIs, profile *tlsprofile.Follower, f *flags,
) (*webhook.Server, error) {
	live, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	webhooks, err := webhook.Listen(ctx, restConfig, webhook.Options{
		Address: f.webhookAddress, Namespace: f.operatorNamespace, Managed: f.manageCertificates,
		ClientCAFile: f.validationClientCA, Secure: profile.Secure,
		Lifetimes: certificates.DefaultLifetimes(), Drain: webhook.DefaultDrain,
	})
	if err != nil {
		return nil, err
	}
	facts := &gather.Gatherer{
		Live: live, Store: known, OperatorNamespace: f.operatorNamespace, Build: version.Build(),
		Namespaces: namespaces(f.watchNamespaces), ForbidForeignConfigMaps: f.forbidForeignConfigMaps,
		EdgeAPIs: apis.Get,
	}
	webhooks.Handle((&webhook.Validation{Gather: facts.GatherForAdmission,
		GatherLive: facts.GatherForAdmissionLive}).Kind())
	return webhooks, nil
}

// runAll runs all functions until the context or one of them ends, and then cancels the others for at most
// shutdownTimeout. The webhooks are separate from the manager, because its caches may need them.
func runAll(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(all))
	for _, run := range all {
		go func() {
			defer cancel()
			ended <- run(ctx)
		}()
	}
	var err error
	var late <-chan time.Time // nil until the context ends
	stop := ctx.Done()
	for waiting := len(all); waiting > 0; {
		select {
		case e := <-ended:
			err = errors.Join(err, e)
			waiting--
		case <-stop:
			stop, late = nil, time.After(shutdownTimeout)
		case <-late:
			return errors.Join(err, fmt.Errorf("%d of %d servers did not stop within %s", waiting, len(all), shutdownTimeout))
		}
	}
	return err
}

// namespaces parses the flag; an empty list means all namespaces.
func namespaces(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}
