// SPDX-License-Identifier: Apache-2.0

package downgrade

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

const (
	crdName  = "llamastackdistributions.llamastack.io"
	resource = "llamastackdistributions"
	pageSize = 100
)

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

func (p *preparation) crd(ctx context.Context) (*unstructured.Unstructured, []map[string]any, error) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	if err := p.Get(ctx, client.ObjectKey{Name: crdName}, crd); err != nil {
		return nil, nil, fmt.Errorf("read the CRD: %w", err)
	}
	list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return nil, nil, fmt.Errorf("read the CRD: %w", err)
	}
	versions := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if version, ok := v.(map[string]any); ok {
			versions = append(versions, version)
		}
	}
	return crd, versions, nil
}

// storeV1alpha1 makes v1alpha1 the storage version and rewrites every custom resource. The operator must be running for
// conversion.
func (p *preparation) storeV1alpha1(ctx context.Context) error {
	crd, versions, err := p.crd(ctx)
	if err != nil {
		return err
	}
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if slices.Equal(stored, []string{v1alpha1.GroupVersion.Version}) {
		return nil // already done
	}
	var patch []map[string]any
	for i, version := range versions {
		patch = append(patch, map[string]any{
			"op": "replace", "path": fmt.Sprintf("/spec/versions/%d/storage", i),
			"value": version["name"] == v1alpha1.GroupVersion.Version,
		})
	}
	if err := p.patch(ctx, crd, patch); err != nil {
		return fmt.Errorf("set v1alpha1 as the storage version of the CRD: %w", err)
	}
	if err := poll(ctx, "waiting for the API server to store v1alpha1", p.storesV1alpha1); err != nil {
		return err
	}
	count, err := p.rewriteAll(ctx)
	if err != nil {
		return err
	}
	if crd, _, err = p.crd(ctx); err != nil {
		return err
	}
	trimmed := []byte(fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"storedVersions":[%q]}}`,
		crd.GetResourceVersion(), v1alpha1.GroupVersion.Version))
	if err := p.Status().Patch(ctx, crd, client.RawPatch(types.MergePatchType, trimmed)); err != nil {
		return fmt.Errorf("write status.storedVersions of the CRD: %w", err)
	}
	p.progress("%d custom resources are stored as v1alpha1", count)
	return nil
}

func (p *preparation) patch(ctx context.Context, o client.Object, operations any) error {
	raw, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	return p.Patch(ctx, o, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner("kubectl-llamastack"))
}

// storesV1alpha1 checks discovery, because the API server applies a change of the CRD with a delay.
func (p *preparation) storesV1alpha1(ctx context.Context) error {
	raw, err := p.discovery.Get().AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version).DoRaw(ctx)
	if err != nil {
		return err
	}
	list := &metav1.APIResourceList{}
	if err := json.Unmarshal(raw, list); err != nil {
		return err
	}
	// The API server's hash of the storage version.
	sum := sha256.Sum256([]byte(v1alpha1.GroupVersion.String() + "/" + v1alpha2.Kind))
	for i := range list.APIResources {
		if r := &list.APIResources[i]; r.Name == resource &&
			r.StorageVersionHash == base64.StdEncoding.EncodeToString(sum[:8]) {
			return nil
		}
	}
	return errors.New("it still stores another version")
}

// resources calls visit with the v1alpha1 metadata of every custom resource.
func (p *preparation) resources(ctx context.Context, visit func(*metav1.PartialObjectMetadata) error) error {
	next := ""
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha2.Kind + "List"))
		if err := p.List(ctx, page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return fmt.Errorf("list the custom resources: %w", err)
		}
		for i := range page.Items {
			o := &page.Items[i]
			o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha2.Kind))
			if err := visit(o); err != nil {
				return fmt.Errorf("%s: %w", client.ObjectKeyFromObject(o), err)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

func (p *preparation) rewriteAll(ctx context.Context) (int, error) {
	count := 0
	return count, p.resources(ctx, func(o *metav1.PartialObjectMetadata) error {
		err := p.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte("{}"))) // an empty patch rewrites the object
		if apierrors.IsNotFound(err) {
			return nil
		}
		count++
		if fields := v1alpha2Fields(o); len(fields) > 0 && err == nil {
			p.progress("warning: %s: v1alpha1 has no field for %s: release 0.9 runs the server without",
				client.ObjectKeyFromObject(o), strings.Join(fields, ", "))
		}
		return err
	})
}

// v1alpha2Fields returns the fields that v1alpha1 does not have, from the conversion annotation.
func v1alpha2Fields(o *metav1.PartialObjectMetadata) []string {
	record, err := v1alpha2.ParseConversionRecord(o.Annotations[v1alpha2.ConversionAnnotation])
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(record.Kept))
}

// dropV1alpha2 removes v1alpha2 and the conversion webhook from the CRD.
func (p *preparation) dropV1alpha2(ctx context.Context) error {
	crd, versions, err := p.crd(ctx)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(versions, func(v map[string]any) bool { return v["name"] != v1alpha1.GroupVersion.Version })
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"versions": kept, "conversion": map[string]any{"strategy": "None", "webhook": nil},
	}})
	if err != nil {
		return err
	}
	if err := p.Patch(ctx, crd, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("remove v1alpha2 from the CRD: %w", err)
	}
	p.progress("the CRD has only v1alpha1")
	return nil
}
