// SPDX-License-Identifier: Apache-2.0

package tlsprofile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	logName = "tls-profile"
	// kind and objectName are those of the only object with the profile.
	kind       = "APIServer"
	objectName = "cluster"
)

const (
	// absentInterval is the polling interval for the API, or for permission to read it; retryInterval the one after a
	// failure.
	absentInterval = 5 * time.Minute
	retryInterval  = 10 * time.Second
)

// controller-gen reads this marker only if a blank line follows it.
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers,resourceNames=cluster,verbs=list;watch

// Follower knows the current profile. It is safe for concurrent use.
type Follower struct {
	config  *rest.Config
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	current atomic.Pointer[Settings]
}

// NewFollower returns a Follower with the profile Intermediate, without a request.
func NewFollower(config *rest.Config) (*Follower, error) {
	scheme := runtime.NewScheme()
	if err := configv1.Install(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configv1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	f := &Follower{config: config, scheme: scheme, mapper: mapper}
	f.current.Store(&intermediate)
	return f, nil
}

// Secure returns a config whose handshakes use the current profile.
func (f *Follower) Secure(base *tls.Config) *tls.Config {
	secured := base.Clone()
	secured.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current, config := f.current.Load(), base.Clone()
		config.MinVersion, config.CipherSuites, config.CurvePreferences = current.MinVersion, current.CipherSuites,
			current.Groups
		return config, nil
	}
	return secured
}

// Start follows the cluster's profile until the context ends. It does not fail, because the ports stay open without it.
func (f *Follower) Start(ctx context.Context) error {
	log := ctrl.Log.WithName(logName)
	var reported string
	for {
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the context ended
		}
		pause, text := absentInterval, fmt.Sprint(err)
		switch {
		case errors.Is(err, errNoAPI):
		case apierrors.IsForbidden(err):
			if text != reported {
				log.Info("not permitted to read the TLS profile of the cluster; Intermediate applies", "cause", text)
			}
		default:
			pause = retryInterval
			if text != reported {
				log.Error(err, "cannot read the TLS profile of the cluster yet; Intermediate applies")
			}
		}
		reported = text
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// errNoAPI means that the cluster has no TLS profiles.
var errNoAPI = errors.New("the cluster has no APIServers of config.openshift.io")

// follow watches the profile until the context ends. It fails if the first read fails.
func (f *Follower) follow(ctx context.Context) error {
	if err := f.discover(ctx); err != nil {
		return err
	}
	live, err := client.New(f.config, client.Options{Scheme: f.scheme, Mapper: f.mapper})
	if err != nil {
		return err
	}
	// An informer would hide a denied request and repeat it.
	if err := live.List(ctx, &configv1.APIServerList{}, client.MatchingFieldsSelector{Selector: onlyCluster}); err != nil {
		return fmt.Errorf("list APIServers: %w", err)
	}
	informers, err := cache.New(f.config, cache.Options{
		Scheme: f.scheme, Mapper: f.mapper,
		ByObject: map[client.Object]cache.ByObject{&configv1.APIServer{}: {Field: onlyCluster}},
	})
	if err != nil {
		return err
	}
	informer, err := informers.GetInformer(ctx, &configv1.APIServer{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { f.update(profileOf(now)) },
		UpdateFunc: func(before, now any) {
			if !equality.Semantic.DeepEqual(profileOf(before), profileOf(now)) {
				f.update(profileOf(now))
			}
		},
		DeleteFunc: func(any) { f.update(nil) },
	}); err != nil {
		return err
	}
	return informers.Start(ctx)
}

// onlyCluster selects the only APIServer.
var onlyCluster = fields.OneTermEqualSelector("metadata.name", objectName)

// discover returns errNoAPI if the cluster has no APIServers. Without it, a request for one could be denied where there
// is nothing to permit.
func (f *Follower) discover(ctx context.Context) error {
	discoverer, err := discovery.NewDiscoveryClientForConfig(f.config)
	if err != nil {
		return err
	}
	resources, err := discoverer.ServerResourcesForGroupVersionWithContext(ctx, configv1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return errNoAPI
	}
	if err != nil {
		return fmt.Errorf("discover the API of TLS profiles: %w", err)
	}
	for i := range resources.APIResources {
		if resources.APIResources[i].Kind == kind {
			return nil
		}
	}
	return errNoAPI
}

func profileOf(object any) *configv1.TLSSecurityProfile {
	if server, ok := object.(*configv1.APIServer); ok {
		return server.Spec.TLSSecurityProfile
	}
	return nil
}

// update applies the profile.
func (f *Follower) update(profile *configv1.TLSSecurityProfile) {
	settings, ignored, err := Resolve(profile)
	f.current.Store(&settings)
	log := ctrl.Log.WithName(logName).WithValues("minTLSVersion", tls.VersionName(settings.MinVersion))
	if len(ignored) > 0 {
		log = log.WithValues("unsupported", limits.Names(ignored))
	}
	if err != nil {
		log.Error(err, "cannot use the cluster's TLS profile; the profile Intermediate applies")
		return
	}
	log.Info("the cluster's TLS profile applies")
}
