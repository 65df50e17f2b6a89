// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// CreateAsRelease09 creates the objects of a manifest as release 0.9 does for a resource, and returns their uids by
// kind.
func CreateAsRelease09(ctx context.Context, c client.Client, resource client.Object, manifest string) (map[string]types.UID, error) {
	uids := map[string]types.UID{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, err
		}
		if err := createAsRelease09(ctx, c, resource, o); err != nil {
			return nil, err
		}
		uids[o.GetKind()] = o.GetUID()
	}
	return uids, nil
}

// createAsRelease09 creates an object with the field manager "manager" and then applies it as "llama-stack-operator" if
// it is a Deployment, or else with the name of the resource.
func createAsRelease09(ctx context.Context, c client.Client, resource client.Object, o *unstructured.Unstructured) error {
	o.SetNamespace(resource.GetNamespace())
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "llamastack.io/v1alpha1", Kind: "LlamaStackDistribution", Name: resource.GetName(), UID: resource.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}})
	applied := client.ApplyConfigurationFromUnstructured(o.DeepCopy())
	if err := c.Create(ctx, o, client.FieldOwner("manager")); err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	owner := client.FieldOwner(resource.GetName())
	switch o.GetKind() {
	case "PersistentVolumeClaim", "ConfigMap": // release 0.9 never updates it
		return nil
	case "Deployment":
		owner = "llama-stack-operator"
	}
	if err := c.Apply(ctx, applied, owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
