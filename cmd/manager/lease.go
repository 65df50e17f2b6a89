// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimes are the times of leader election. By default, a dead leader is replaced within ten seconds.
type leaseTimes struct {
	duration, renewDeadline, retryPeriod time.Duration
}

func (l *leaseTimes) bindFlags(flags *flag.FlagSet) {
	flags.DurationVar(&l.duration, "leader-elect-lease-duration", 6*time.Second,
		"how long a standby waits after the last observed renewal before it acquires the lease")
	flags.DurationVar(&l.renewDeadline, "leader-elect-renew-deadline", 4*time.Second, "how long the leader retries "+
		"renewing the lease before it stops leading")
	flags.DurationVar(&l.retryPeriod, "leader-elect-retry-period", time.Second, "interval between attempts to acquire "+
		"or renew the lease")
}

// identity returns the lease holder for all managers of this process, so that the next one takes over at once.
func identity(pod string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("determine the identity of the lease holder: %w", err)
	}
	return cmp.Or(pod, host) + "_" + rand.Text(), nil
}

// newLock returns the lock on a Lease. The renewal deadline bounds its requests.
func newLock(config *rest.Config, namespace, name, identity string,
	renewDeadline time.Duration) (*resourcelock.LeaseLock, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election") // AddUserAgent changes its argument
	config.Timeout = renewDeadline
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create the client for the lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}, nil
}
