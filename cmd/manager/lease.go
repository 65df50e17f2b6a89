// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimes are the times of leader election. With the defaults, a leader that dies is replaced within ten seconds, and an API server
// that takes two seconds for a request costs nobody the lease.
type leaseTimes struct {
	duration, renewDeadline, retryPeriod time.Duration
}

func (l *leaseTimes) bindFlags(flags *flag.FlagSet) {
	flags.DurationVar(&l.duration, "leader-elect-lease-duration", 6*time.Second,
		"how long a standby waits after the last renewal that it saw before it takes the lease")
	flags.DurationVar(&l.renewDeadline, "leader-elect-renew-deadline", 4*time.Second, "how long the leader tries to renew the lease before it stops leading")
	flags.DurationVar(&l.retryPeriod, "leader-elect-retry-period", time.Second, "how often replicas try to take or to renew the lease")
}

// identity returns the holder of the lease for all managers of this process: a manager that follows another one takes the lease over at once.
func identity(pod string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name the holder of the lease: %w", err)
	}
	return cmp.Or(pod, host) + "_" + rand.Text(), nil
}

// newLock returns the lock on the Lease.
func newLock(config *rest.Config, namespace, name string, renewDeadline time.Duration, lock resourcelock.ResourceLockConfig) (resourcelock.Interface, error) {
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, name, lock,
		rest.AddUserAgent(rest.CopyConfig(config), "leader-election"), renewDeadline)
}
