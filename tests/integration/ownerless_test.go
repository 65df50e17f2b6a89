// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: R78 (the unowned objects of release 0.9 keep running if the custom resource cannot be built, or cannot be
// adopted because of a foreign object, and are deleted with the custom resource).
func TestDeletionLeavesNothingOfRelease09Running(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"was-config", "odd-volume"} {
		for reason, spoil := range map[string]func(e *env){
			string(problem.InvalidField): func(e *env) {
				e.PatchSpec(name, `{"workload":{"topologySpreadConstraints":null,"storage":{"mountPath":"data"}}}`)
			},
			string(problem.Conflict): func(e *env) {
				service := &corev1.Service{}
				framework.NoError(e.T, e.Get(service, name+"-service"))
				foreign := &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: service.Name},
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
				}
				framework.NoError(e.T, errors.Join(suite.Admin.Delete(e.T.Context(), service), suite.Admin.Create(e.T.Context(), foreign)))
			},
		} {
			t.Run(name+" "+reason, func(t *testing.T) {
				t.Parallel()
				e := newEnv(t)
				e.Replay(name)
				e.WaitRevision(name, "1")
				spoil(e)
				before := e.Deployment(name)
				if len(before.OwnerReferences) != 0 {
					t.Fatalf("owners %v", before.OwnerReferences)
				}
				e.StartOperator()
				e.WaitCondition(name, v1alpha2.ConditionReady, metav1.ConditionFalse, "")
				e.Eventually("the Deployment belongs to the custom resource", func() error {
					if !metav1.IsControlledBy(e.Deployment(name), e.CR(name)) {
						return errors.New("it does not")
					}
					return nil
				})
				if now := e.Deployment(name); now.Generation != before.Generation || now.UID != before.UID {
					t.Errorf("generation %d was %d", now.Generation, before.Generation)
				}
				framework.NoError(t, suite.Admin.Delete(t.Context(), e.CR(name)))
				e.Eventually("the server goes with its custom resource", func() error {
					if err := e.Get(&appsv1.Deployment{}, name); !apierrors.IsNotFound(err) {
						return fmt.Errorf("reading the Deployment: %w", err)
					}
					return nil
				})
			})
		}
	}
}
