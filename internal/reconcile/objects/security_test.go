// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: L-18, R27, R43 (integration and end-to-end tests enforce the restricted Pod Security Standard).
func TestNoUserIDIfClusterAssignsThem(t *testing.T) {
	p := with(t, func(p *objects.Params) { p.ClusterAssignsUserIDs = true })
	if c := pod(p).SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil || server(t, p).SecurityContext.RunAsUser != nil {
		t.Errorf("ids where the cluster assigns them: %+v", c)
	}
}
