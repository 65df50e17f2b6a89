// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	awaitPeriod = time.Second
	// defaultDuration is how long a Lease without a duration counts as held.
	defaultDuration = 15 * time.Second
)

// AwaitUnsharded waits until no operator without a selector leads in the namespace, or returns an error.
func AwaitUnsharded(ctx context.Context, live client.Reader, namespace string) error {
	key := types.NamespacedName{Namespace: namespace, Name: Lease(nil)}
	var renewed string
	var since time.Time
	for {
		lease := &coordinationv1.Lease{}
		err := live.Get(ctx, key, lease)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the Lease %s: %w", key, err)
		}
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		if holder == "" {
			return nil
		}
		if now := holder + " " + lease.ResourceVersion; now != renewed {
			if since.IsZero() {
				logf.FromContext(ctx).Info("waiting for an operator without --"+Flag+" to end", "lease", key.String(), "holder",
					holder)
			}
			renewed, since = now, time.Now()
		}
		duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
		if duration <= 0 {
			duration = defaultDuration
		}
		if time.Since(since) > duration {
			return nil // the Lease expired
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPeriod):
		}
	}
}
