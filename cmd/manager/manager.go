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
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09/leftovers"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/storageversion"
)

const (
	// endTimeout bounds the end of the process, below the grace period of its pods, and stopTimeout within it that of the
	// manager, which hands over its lease afterwards.
	endTimeout  = 27 * time.Second
	stopTimeout = 10 * time.Second
)

// shared is what one manager after the other uses.
type shared struct {
	counts   *metrics.Metrics
	settings *gather.SettingsStore
	apis     *gather.KnownEdgeAPIs
	// identity is the process's as the holder of the lease.
	identity string
	// isReady reports whether the API server is ready.
	isReady func(context.Context) bool
}

// runManager makes a new manager and runs it until it or the context ends. Nothing of one that ended is used again.
func runManager(ctx context.Context, restConfig *rest.Config, scheme *runtime.Scheme, known shared, f *flags) error {
	ctx, cancel := context.WithCancel(ctx) // what the manager does not start itself ends with it, too
	defer cancel()
	defer known.counts.ForgetAll() // from now on another replica counts them
	made := make(chan error, 1)
	var mgr manager.Manager
	// The look-up of the cluster's APIs takes no context: an API server that does not answer would keep the process.
	go func() {
		var err error
		mgr, err = newManager(ctx, restConfig, scheme, known, f)
		made <- err
	}()
	select {
	case err := <-made:
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newManager(ctx context.Context, restConfig *rest.Config, scheme *runtime.Scheme, known shared,
	f *flags) (manager.Manager, error) {
	if f.selector != nil && f.leaderElection {
		live, err := client.New(restConfig, client.Options{Scheme: scheme})
		if err != nil {
			return nil, err
		}
		if err := shard.AwaitWhole(ctx, live, f.operatorNamespace); err != nil {
			return nil, err
		}
	}
	watched := namespaces(f.watchNamespaces)
	again, stopping := true, stopTimeout
	lease := shard.Lease(f.selector)
	lock, err := newLock(restConfig, f.operatorNamespace, lease, known.identity, f.lease.renewDeadline)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:   scheme,
		NewCache: caching.New(ctx),
		Cache:    caching.Options(watched, f.operatorNamespace, f.selector),
		Client:   client.Options{Cache: &client.CacheOptions{DisableFor: caching.UncachedKinds(), Unstructured: true}},
		// The names of the former manager's controllers are used again. A standby fills its caches before it leads.
		Controller:                    config.Controller{SkipNameValidation: &again, EnableWarmup: &again},
		Metrics:                       metricsserver.Options{BindAddress: off},
		HealthProbeBindAddress:        off,
		GracefulShutdownTimeout:       &stopping,
		LeaderElection:                f.leaderElection,
		LeaderElectionReleaseOnCancel: true, // nothing of the manager goes on after it has stopped
		LeaseDuration:                 &f.lease.duration,
		RenewDeadline:                 &f.lease.renewDeadline,
		RetryPeriod:                   &f.lease.retryPeriod,

		LeaderElectionResourceLockInterface: lock,
		LeaderElectionID:                    lease, // the name in leader_election_master_status
	})
	if err != nil {
		return nil, err
	}
	lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor(known.identity) //nolint:staticcheck // locks take it
	if err := mgr.Add(&apiServerWatch{known.isReady}); err != nil {
		return nil, err
	}
	if err := reconcile.Setup(ctx, mgr, reconcile.Options{
		OperatorNamespace: f.operatorNamespace, OperatorImage: f.operatorImage, Pod: f.pod, Namespaces: watched,
		ForbidForeignConfigMaps: f.forbidForeignConfigMaps,
		Selector:                f.selector, LeaveSettings: f.leavesCluster(),
		AllowForeignConfigMaps: f.allowForeignConfigMaps,
		Settings:               known.settings, APIs: known.apis, Metrics: known.counts,
	}); err != nil {
		return nil, err
	}
	if len(watched) > 0 || f.leavesCluster() { // with Roles only it may not look
		return mgr, nil
	}
	if f.migrateStorage {
		if err := storageversion.Setup(mgr, known.counts.Migrated); err != nil {
			return nil, err
		}
	}
	return mgr, mgr.Add(&leftovers.Leftovers{
		Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Namespace: f.operatorNamespace,
		Recorder: mgr.GetEventRecorder("llama-stack-operator"),
	})
}
