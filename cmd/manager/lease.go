// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The times of the lease. A standby asks every retryPeriod to 2.2 times that, sees the last renewal of a leader that dies that late, and takes
// the lease leaseDuration after: 4 to 5.8 seconds after the death. The leader renews at every second retryPeriod, and gives up at the latest
// renewDeadline after it began to: before anybody else may lead. An API server that takes two seconds for a request lets it
// renew in time. A lease lost costs little: the process keeps its webhooks, and starts its controllers again.
const (
	leaseDuration = 4 * time.Second // the Lease has whole seconds
	renewDeadline = 2500 * time.Millisecond
	retryPeriod   = 400 * time.Millisecond
	renewPeriod   = 2 * retryPeriod
)

// identity is the process's, for all its managers: one that follows another in the same process takes the lease back without waiting for its end.
func identity(pod string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name the holder of the lease: %w", err)
	}
	return cmp.Or(pod, host) + "_" + rand.Text(), nil
}

// newLock returns the lock on a Lease. A request may take as long as a renewal may.
func newLock(config *rest.Config, namespace, name, identity string) (*lock, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election") // it changes what it is given
	config.Timeout = renewDeadline
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for the lease: %w", err)
	}
	return &lock{LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}, nil
}

// lock writes half as often as the library asks it to: a standby has to look more often than the leader has to write.
type lock struct {
	*resourcelock.LeaseLock

	renewed time.Time
}

// Update sends what changes the holder at once, and a renewal every renewPeriod.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	if record.HolderIdentity == l.Identity() && began.Sub(l.renewed) < renewPeriod-retryPeriod/2 {
		return nil
	}
	err := l.LeaseLock.Update(ctx, record)
	if err == nil {
		l.renewed = began
	}
	return err
}
