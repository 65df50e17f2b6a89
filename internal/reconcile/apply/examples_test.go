// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R74 (the examples of docs/status.md).
func TestExamplesMatchReportsOfApply(t *testing.T) {
	owner := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Name: "my-server"}}
	owner.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{}
	of := func(kind, name string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}}
	}
	const deployment = "Deployment my-server"
	framework.ExpectExample(t, problem.Conflict, problem.List{*Conflict(deployment, of("StatefulSet", "other"), owner)})
	framework.ExpectExample(t, problem.WaitingForRemoval, problem.List{*Conflict(deployment, of(v1alpha2.Kind, "my-server"), owner)})
	framework.ExpectExample(t, problem.ApplyFailed, problem.List{*Failed(deployment, "could not be applied", errors.New("etcdserver: request timed out"))})
}
