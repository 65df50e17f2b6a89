// SPDX-License-Identifier: Apache-2.0

package build

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

// remoteStores returns the stores that the server's configuration puts into PostgreSQL or Redis; nil if it is unknown.
func (d *Desired) remoteStores() []serverconfig.RemoteStore {
	switch {
	case d.Config != nil:
		return d.Config.RemoteStores
	case d.Override != nil && string(d.OverrideContent) != secret.OnCluster:
		stores, _ := serverconfig.RemoteStores(d.OverrideContent, nil) // reported where it is read
		return stores
	case d.Override == nil && d.Distribution != nil && d.Distribution.Base != nil:
		return serverconfig.RemoteStoresOf(d.Distribution.Base)
	}
	return nil
}
