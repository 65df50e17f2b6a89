// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/shard"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09/leftovers"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/storageversion"
)

const (
	// shutdownTimeout bounds the process's shutdown within the pods' grace period, and stopTimeout the manager's part.
	shutdownTimeout = 27 * time.Second
	stopTimeout     = 10 * time.Second
)

// shared has the parts that successive managers share.
type shared struct {
	metrics  *metrics.Metrics
	settings *gather.SettingsStore
	apis     *gather.KnownEdgeAPIs
	// identity is the process's name as holder of the lease.
	identity string
	isReady  func(context.Context) bool
}

// runManager creates a manager and runs it until it or the context ends.
func runManager(ctx context.Context, restConfig *rest.Config, scheme *runtime.Scheme, common shared, f *flags) error {
	ctx, cancel := context.WithCancel(ctx) // also ends goroutines that the manager did not start
	defer cancel()
	defer common.metrics.ForgetAll() // another replica counts them from now on
	created := make(chan error, 1)
	var mgr manager.Manager
	// The discovery of APIs takes no context, so a hanging API server would block the shutdown.
	go func() {
		var err error
		mgr, err = newManager(ctx, restConfig, scheme, common, f)
		created <- err
	}()
	select {
	case err := <-created:
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newManager(ctx context.Context, restConfig *rest.Config, scheme *runtime.Scheme, common shared,
	f *flags) (manager.Manager, error) {
	if f.selector != nil && f.leaderElection {
		live, err := client.New(restConfig, client.Options{Scheme: scheme})
		if err != nil {
			return nil, err
		}
		if err := shard.AwaitUnsharded(ctx, live, f.operatorNamespace); err != nil {
			return nil, err
		}
	}
	watched := namespaces(f.watchNamespaces)
	enabled, gracefulShutdown := true, stopTimeout
	lease := shard.Lease(f.selector)
	lock, err := newLock(restConfig, f.operatorNamespace, lease, common.identity, f.lease.renewDeadline)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:   scheme,
		NewCache: caching.New(ctx),
		Cache:    caching.Options(watched, f.operatorNamespace, f.selector),
		Client:   client.Options{Cache: &client.CacheOptions{DisableFor: caching.UncachedKinds(), Unstructured: true}},
		// Controllers reuse the names of the previous manager's; a standby fills its caches before it leads.
		Controller:                    config.Controller{SkipNameValidation: &enabled, EnableWarmup: &enabled},
		Metrics:                       metricsserver.Options{BindAddress: disabled},
		HealthProbeBindAddress:        disabled,
		GracefulShutdownTimeout:       &gracefulShutdown,
		LeaderElection:                f.leaderElection,
		LeaderElectionReleaseOnCancel: true, // nothing of the manager continues after it stopped
		LeaseDuration:                 &f.lease.duration,
		RenewDeadline:                 &f.lease.renewDeadline,
		RetryPeriod:                   &f.lease.retryPeriod,

		LeaderElectionResourceLockInterface: lock,
		LeaderElectionID:                    lease, // the name in leader_election_master_status
	})
	if err != nil {
		return nil, err
	}
	lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor(common.identity) //nolint:staticcheck // locks take it
	if err := mgr.Add(&apiServerWatch{common.isReady}); err != nil {
		return nil, err
	}
	if err := reconcile.Setup(ctx, mgr, reconcile.Options{
		OperatorNamespace: f.operatorNamespace, OperatorImage: f.operatorImage, Pod: f.pod, Namespaces: watched,
		ForbidForeignConfigMaps: f.forbidForeignConfigMaps,
		Selector:                f.selector, SkipSettingsReport: f.isSecondaryShard(),
		AllowForeignConfigMaps: f.allowForeignConfigMaps,
		Settings:               common.settings, APIs: common.apis, Metrics: common.metrics,
	}); err != nil {
		return nil, err
	}
	if len(watched) > 0 || f.isSecondaryShard() { // Roles do not permit it, or another shard does it
		return mgr, nil
	}
	if f.migrateStorage {
		if err := storageversion.Setup(mgr, common.metrics.Migrated); err != nil {
			return nil, err
		}
	}
	return mgr, mgr.Add(&leftovers.Leftovers{
		Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Namespace: f.operatorNamespace,
		Recorder: mgr.GetEventRecorder("llama-stack-operator"),
	})
}
