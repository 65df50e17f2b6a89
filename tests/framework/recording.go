// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/llamastack/llama-stack-k8s-operator/tests/golden"
)

// Recorded is a custom resource of release 0.9 and the objects that release 0.9 made for it, recorded in
// testdata/release-0.9.
type Recorded struct {
	// Resource is the custom resource, in v1alpha1.
	Resource *unstructured.Unstructured
	// Objects are the objects of release 0.9, sorted by kind, without those of other controllers, such as ReplicaSets.
	Objects []*unstructured.Unstructured
}

// NAMESPACE-NAME.yaml is the difference of a custom resource and its objects against recordedBase.
const (
	recordedBase   = "own-old-server"
	recordedBeside = "beside"
)

// Recording reads all recorded custom resources, sorted by name, and the users' objects that they refer to.
func Recording() (recorded []*Recorded, beside []*unstructured.Unstructured, err error) {
	dir := filepath.Join(Root(), "tests", "framework", "testdata", "release-0.9")
	base, err := os.ReadFile(filepath.Join(dir, recordedBase+".yaml"))
	if err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		stem := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if stem == recordedBeside {
			if beside, err = readDocuments(file); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			continue
		}
		one, err := readRecorded(file, stem, string(base))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		recorded = append(recorded, one)
	}
	return recorded, beside, nil
}

// readRecorded reads a custom resource and its objects, which are named after it.
func readRecorded(file, stem, base string) (*Recorded, error) {
	namespace, name, _ := strings.Cut(stem, "-")
	baseNamespace, baseName, _ := strings.Cut(recordedBase, "-")
	named := strings.NewReplacer(baseName, name, "namespace: "+baseNamespace, "namespace: "+namespace).Replace(base)
	var tree any
	if err := yamlv3.Unmarshal([]byte(named), &tree); err != nil {
		return nil, err
	}
	if stem != recordedBase {
		difference, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if tree, err = golden.Apply(tree, difference); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var byKind map[string]map[string]any
	if err := json.Unmarshal(text, &byKind); err != nil {
		return nil, err
	}
	one := &Recorded{}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		if o := (&unstructured.Unstructured{Object: byKind[kind]}); kind == "LlamaStackDistribution" {
			one.Resource = o
		} else {
			one.Objects = append(one.Objects, o)
		}
	}
	return one, nil
}

func readDocuments(file string) ([]*unstructured.Unstructured, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), len(raw))
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if o.Object != nil {
			list = append(list, o)
		}
	}
}

// Name returns the name of the custom resource.
func (r *Recorded) Name() string { return r.Resource.GetName() }

// Object returns the recorded object of the kind, or nil.
func (r *Recorded) Object(kind string) *unstructured.Unstructured {
	i := slices.IndexFunc(r.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		return nil
	}
	return r.Objects[i]
}

// WithoutServerFields returns the object for the namespace, without the fields that an API server sets.
func WithoutServerFields(o *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	fresh := o.DeepCopy()
	fresh.SetNamespace(namespace)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"} {
		unstructured.RemoveNestedField(fresh.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(fresh.Object, "status")
	for _, field := range []string{"clusterIP", "clusterIPs"} { // specific to the recorded cluster
		if o.GetKind() == "Service" {
			unstructured.RemoveNestedField(fresh.Object, "spec", field)
		}
	}
	unstructured.RemoveNestedField(fresh.Object, "spec", "volumeName")
	annotations := fresh.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision") // set by the Deployment controller
	fresh.SetAnnotations(annotations)
	return fresh
}

// Replay creates the objects in the namespace of the custom resource with the owners and managed fields of release 0.9.
func (r *Recorded) Replay(ctx context.Context, c client.Client, resource client.Object) error {
	for _, recorded := range r.Objects {
		o := WithoutServerFields(recorded, resource.GetNamespace())
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		entries, err := r.managedFields(recorded, resource)
		if err != nil {
			return err
		}
		err = retryOnConflict(ctx, func() error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			o.SetOwnerReferences(ownersOf(recorded, resource))
			o.SetManagedFields(entries)
			return c.Update(ctx, o)
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// retryOnConflict repeats a write for a minute while it conflicts, because controllers may write the object often.
func retryOnConflict(ctx context.Context, write func() error) error {
	return Poll(ctx, time.Minute, func() error {
		err := write()
		if err != nil && !apierrors.IsConflict(err) {
			return Terminal(err)
		}
		return err
	})
}

// managedFields returns the recorded managed fields with the current uid of the custom resource.
func (r *Recorded) managedFields(recorded *unstructured.Unstructured, resource client.Object) ([]metav1.ManagedFieldsEntry, error) {
	raw, err := json.Marshal(recorded.GetManagedFields())
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(raw), string(r.Resource.GetUID()), string(resource.GetUID()))
	var entries []metav1.ManagedFieldsEntry
	err = json.Unmarshal([]byte(text), &entries)
	return entries, err
}

func ownersOf(recorded *unstructured.Unstructured, resource client.Object) []metav1.OwnerReference {
	owners := recorded.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = resource.GetUID()
	}
	return owners
}

// WriteAgain writes the objects as release 0.9 does when it runs again: it applies again by force, and creates missing
// objects. refused counts the Deployments that the API server refuses because the fields of both operators conflict.
func (r *Recorded) WriteAgain(ctx context.Context, c client.Client, converter managedfields.TypeConverter, resource client.Object) (refused int, err error) {
	for _, recorded := range r.Objects {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(recorded.GroupVersionKind())
		key := client.ObjectKey{Namespace: resource.GetNamespace(), Name: recorded.GetName()}
		switch err := c.Get(ctx, key, now); {
		case apierrors.IsNotFound(err):
			o := WithoutServerFields(recorded, resource.GetNamespace())
			o.SetOwnerReferences(ownersOf(recorded, resource))
			if err := c.Create(ctx, o, client.FieldOwner("manager")); err != nil {
				return refused, err
			}
			continue
		case err != nil:
			return refused, err
		}
		applied, err := appliedBy(recorded, r.Name(), converter)
		if err != nil {
			return refused, err
		}
		if applied == nil {
			continue
		}
		applied.SetNamespace(resource.GetNamespace())
		err = retryOnConflict(ctx, func() error { // the API server retries only a few times
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(r.Name()), client.ForceOwnership)
		})
		if apierrors.IsInvalid(err) && recorded.GetKind() == "Deployment" {
			refused++
			continue
		}
		if err != nil {
			return refused, fmt.Errorf("%s %s: %w", recorded.GetKind(), recorded.GetName(), err)
		}
	}
	return refused, nil
}

// appliedBy returns the fields of a recorded object that the manager applied, or nil if it never did.
func appliedBy(recorded *unstructured.Unstructured, manager string, converter managedfields.TypeConverter) (*unstructured.Unstructured, error) {
	for _, e := range recorded.GetManagedFields() {
		if e.Manager != manager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		typed, err := converter.ObjectToTyped(recorded)
		if err != nil {
			return nil, err
		}
		tree, ok := typed.ExtractItems(set.Leaves()).AsValue().Unstructured().(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s %s: nothing is applied", recorded.GetKind(), recorded.GetName())
		}
		o := &unstructured.Unstructured{Object: tree}
		o.SetGroupVersionKind(recorded.GroupVersionKind())
		o.SetName(recorded.GetName())
		return o, nil
	}
	return nil, nil
}
