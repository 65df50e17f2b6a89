// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
	"github.com/llamastack/llama-stack-k8s-operator/tests/leaves"
)

// Fields that cannot be set alone.
var (
	// refusedByTheAPIServer are structs that must not be empty.
	refusedByTheAPIServer = []string{
		"spec.networking.tls.caBundle{}", "spec.overrideConfig{}", "spec.workload.modelCache{}",
		"spec.storage.kv.password{}", "spec.storage.kv.password.secretKeyRef{}",
		"spec.storage.kv.connectionString{}", "spec.storage.kv.connectionString.secretKeyRef{}",
		"spec.storage.sql.connectionString{}", "spec.storage.sql.connectionString.secretKeyRef{}",
		"spec.storage.sql.password{}", "spec.storage.sql.password.secretKeyRef{}", "spec.storage.kv.caBundle{}", "spec.storage.sql.caBundle{}",
	}
	// ofTheNewestLine are fields that the release line of starter does not have.
	ofTheNewestLine = []string{"spec.auth.tenancy"}
)

type spec = v1alpha2.LlamaStackDistributionSpec

// taken are fields below open ones whose values come from other objects.
var taken = map[string]func(*spec){
	"spec.providers.inference.endpointFrom": func(s *spec) {
		s.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm","endpointFrom":{"kind":"Service","name":"x"}}`)}}
	},
	"spec.resources.tools.endpointFrom": func(s *spec) {
		s.Resources = &v1alpha2.ResourcesSpec{Tools: []apiextensionsv1.JSON{{Raw: []byte(`{"name":"mcp::x","endpointFrom":{"kind":"Service","name":"x"}}`)}}}
	},
}

// symmetry compares the custom resources of a namespace with twins that never had the field.
type symmetry struct {
	*env
	mu     sync.Mutex
	twins  map[string]twin // by spec
	newest string
}

// anyName replaces the name of a custom resource in comparisons.
const anyName = "NAME"

// twin is a custom resource that the test does not edit.
type twin struct {
	// refused is the reason if the spec is rejected, or empty.
	refused   string
	objects   map[string]any
	inputHash string
}

// Each field of the spec is set at creation or later, and then unset by server-side apply without it or by a merge
// patch with null. The custom resource must then own the same objects as a twin that never had the field.
//
// Proves: L-04, R41, R42, R43, R44 (setting and then unsetting a field leaves no trace, for every field).
func TestEachFieldSetThenUnsetIsNeverSet(t *testing.T) {
	t.Parallel()
	s := &symmetry{env: newEnvWithSettings(t), twins: map[string]twin{}}
	s.WithoutPolicy()
	s.referents()
	s.registerNewest()
	s.StartOperator()
	all := leaves.All(t)
	// spec.distribution must not be empty.
	maps.DeleteFunc(all, func(path string, _ func(*spec)) bool { return strings.HasPrefix(path, "spec.distribution") })
	maps.Copy(all, taken)
	if framework.OldKubernetes() { // before 1.34, PVCs had other fields
		delete(all, "spec.workload.resourceClaims")
	}
	paths := slices.Sorted(maps.Keys(all))
	work := make(chan int)
	var lanes sync.WaitGroup
	for range 10 {
		lanes.Go(func() {
			for i := range work {
				if err := s.check(t.Context(), fmt.Sprintf("leaf-%03d", i), paths[i], all[paths[i]]); err != nil {
					t.Errorf("%s: %v", paths[i], err)
				}
			}
		})
	}
	for i := range paths {
		work <- i
	}
	close(work)
	lanes.Wait()
}

// referents creates the objects that the fields refer to. No pod is created, because only the templates are compared.
func (s *symmetry) referents() {
	s.T.Helper()
	dsn := "postgresql://user:" + url.QueryEscape(suite.Canaries.New()) + "@db.example/stack"
	cert := framework.NewCA(s.T).ServerSecret([]string{"*." + s.Name + ".svc"})
	secretX := map[string][]byte{"x": []byte(dsn), "y": []byte(dsn), "b": []byte(dsn)}
	maps.Copy(secretX, cert)
	for _, o := range []client.Object{
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "no-pods"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
		}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: secretX},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string][]byte{"b": []byte(dsn), "x": []byte(dsn)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "llama-tls"}, Type: corev1.SecretTypeTLS, Data: cert},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string]string{
			"ca-bundle.crt": framework.CACertificate, "config.yaml": "version: 2\napis: []\nproviders: {}\n",
		}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8000}}}},
	} {
		o.SetNamespace(s.Name)
		framework.NoError(s.T, suite.Admin.Create(s.T.Context(), o))
	}
}

func (s *symmetry) registerNewest() {
	s.T.Helper()
	s.newest = "newest-" + s.Name
	base, ok := distributions.Base("starter", catalog.Newest())
	if !ok {
		s.T.Fatal("the newest release line has no starter")
	}
	s.Register(s.newest, map[string]string{
		"image": "registry.example.com/ai/" + s.newest, "serverVersion": catalog.Newest() + ".0", "config.yaml": string(base),
	})
}

// check sets and unsets a field of a new custom resource, twice.
func (s *symmetry) check(ctx context.Context, name, path string, set func(*spec)) error {
	base := spec{Distribution: v1alpha2.DistributionSpec{Name: new("starter")}}
	if slices.Contains(ofTheNewestLine, path) {
		base.Distribution.Name = &s.newest
	}
	around, with := base, base
	leaves.Surround(path)(&around)
	leaves.Surround(path)(&with)
	// A server keeps its release line, which is not a trace of the field.
	base.Distribution.Version = around.Distribution.Version
	set(&with)
	never, err := s.twin(ctx, base)
	if err != nil {
		return err
	}
	unset, err := s.twin(ctx, around)
	if err != nil {
		return err
	}
	// The fields that accompany the field are invalid without it, so both are unset.
	if unset.refused != "" {
		around, unset = base, never
	}
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name}}
	for _, step := range []struct {
		title string
		how   func(context.Context, *v1alpha2.LlamaStackDistribution, spec) error
		spec  spec
		like  *twin
	}{
		{"created with it", s.applied, with, nil},
		{"applied without it", s.applied, around, &unset},
		{"patched with it", s.patched, with, nil},
		{"patched without it", s.patched, base, &never},
	} {
		err := step.how(ctx, cr, step.spec)
		if slices.Contains(refusedByTheAPIServer, path) {
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("%s: %v, want that the API server refuses it", step.title, err) //nolint:errorlint // may be nil
			}
			return nil
		}
		var refused string
		if err == nil {
			refused, err = s.inForce(ctx, cr)
		}
		switch {
		case err == nil && refused != "":
			err = fmt.Errorf("refused: %s", refused)
		case err == nil && step.like != nil:
			err = s.like(ctx, cr, path, *step.like)
		case err == nil:
			err = s.unlike(ctx, cr, unset)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return nil
}

// unlike returns an error if the inputs of the custom resource's Deployment equal the twin's, because then the field is
// not applied.
func (s *symmetry) unlike(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, other twin) error {
	hash, err := s.inputHash(ctx, cr)
	if err == nil && (hash == "" || hash == other.inputHash) {
		err = fmt.Errorf("it is not applied: the input hash is %q", hash)
	}
	return err
}

// twin returns a custom resource that only ever had this spec.
func (s *symmetry) twin(ctx context.Context, of spec) (twin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := json.Marshal(of)
	if err != nil {
		return twin{}, err
	}
	if known, ok := s.twins[string(raw)]; ok {
		return known, nil
	}
	made := twin{}
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: fmt.Sprintf("twin-%03d", len(s.twins))}}
	err = s.applied(ctx, cr, of)
	if apierrors.IsInvalid(err) {
		made.refused, err = err.Error(), nil
	} else if err == nil {
		made.refused, err = s.inForce(ctx, cr)
	}
	if err == nil && made.refused == "" {
		made.objects, err = s.objectsOf(ctx, cr.Name)
	}
	if err == nil && made.refused == "" {
		made.inputHash, err = s.inputHash(ctx, cr)
	}
	if err == nil {
		s.twins[string(raw)] = made
	}
	return made, err
}

// inputHash returns the hash of all inputs of the custom resource's Deployment.
func (s *symmetry) inputHash(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (string, error) {
	d := &appsv1.Deployment{}
	err := suite.Admin.Get(ctx, client.ObjectKeyFromObject(cr), d)
	return d.Annotations[names.AnnotationInputHash], err
}

func (s *symmetry) applied(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, to spec) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&to)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	u.SetNamespace(cr.Namespace)
	u.SetName(cr.Name)
	return suite.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("user"))
}

func (s *symmetry) patched(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, to spec) error {
	before := cr.DeepCopy()
	cr.Spec = to
	return suite.Admin.Patch(ctx, cr, client.MergeFrom(before))
}

// inForce waits until the operator has reconciled the spec, and returns the reason if it rejected it.
func (s *symmetry) inForce(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (refused string, err error) {
	err = framework.Poll(ctx, framework.Patience, func() error {
		if err := suite.Admin.Get(ctx, client.ObjectKeyFromObject(cr), cr); err != nil {
			return err
		}
		for _, condition := range []string{v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved, v1alpha2.ConditionDeploymentUpdated} {
			c := meta.FindStatusCondition(cr.Status.Conditions, condition)
			if c == nil || c.ObservedGeneration != cr.Generation {
				return fmt.Errorf("generation %d, condition %+v", cr.Generation, c)
			}
			if c.Status == metav1.ConditionFalse && !slices.Contains(v1alpha2.RolloutReasons(), c.Reason) && c.Reason != v1alpha2.ReasonRolloutStuck {
				refused = condition + ": " + c.Message
				return nil
			}
		}
		refused = ""
		return nil
	})
	return refused, err
}

// like waits until the custom resource owns the same objects as the twin, except for those that outlive an edit by
// design.
func (s *symmetry) like(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, path string, want twin) error {
	return framework.Poll(ctx, framework.Patience, func() error {
		got, err := s.objectsOf(ctx, cr.Name)
		if err != nil {
			return err
		}
		maps.DeleteFunc(got, func(name string, _ any) bool { return want.objects[name] == nil && outlives(name, path) })
		if diff := cmp.Diff(want.objects, got); diff != "" {
			return fmt.Errorf("the objects differ (-never set +set and unset):\n%s", diff)
		}
		return nil
	})
}

// outlives reports whether an object of a former spec stays: generated objects are kept for a rollback, and a PVC has
// data.
func outlives(object, path string) bool {
	kind, name, _ := strings.Cut(object, " ")
	switch kind {
	case "ConfigMap", "Secret":
		return slices.Contains([]string{anyName + "-config-", anyName + "-ca-bundle-", anyName + "-env-"}, objects.Family(name))
	case "PersistentVolumeClaim":
		return strings.HasPrefix(path, "spec.workload.storage")
	}
	return false
}

// objectsOf returns a custom resource's objects by kind and name, without what depends on the custom resource's name.
func (s *symmetry) objectsOf(ctx context.Context, name string) (map[string]any, error) {
	var all []unstructured.Unstructured
	var hashes []string // hashes of generated contents with the name, each followed by the hash without it
	for _, kind := range append(apply.FullKinds(), &corev1.ConfigMap{}, &corev1.Secret{}) {
		gvk, err := apiutil.GVKForObject(kind, suite.Scheme)
		if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := suite.Admin.List(ctx, list, client.InNamespace(s.Name), client.MatchingLabels(names.Selector(name))); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		for i := range list.Items {
			data, _, _ := unstructured.NestedStringMap(list.Items[i].Object, "data")
			for _, content := range data {
				was, is := sha256.Sum256([]byte(content)), sha256.Sum256([]byte(strings.ReplaceAll(content, name, anyName)))
				before, after := hex.EncodeToString(was[:]), hex.EncodeToString(is[:])
				hashes = append(hashes, before, after, before[:10], after[:10])
			}
		}
	}
	common := strings.NewReplacer(append(hashes, name, anyName)...)
	found := map[string]any{}
	autoscaled := slices.ContainsFunc(all, func(o unstructured.Unstructured) bool { return o.GetKind() == "HorizontalPodAutoscaler" })
	for i := range all {
		o := &all[i]
		clean(o)
		if autoscaled && o.GetKind() == "Deployment" {
			unstructured.RemoveNestedField(o.Object, "spec", "replicas") // the autoscaler changes it
		}
		raw, err := o.MarshalJSON()
		if err != nil {
			return nil, err
		}
		var content map[string]any
		if err := json.Unmarshal([]byte(common.Replace(string(raw))), &content); err != nil {
			return nil, err
		}
		found[o.GetKind()+" "+common.Replace(o.GetName())] = content
	}
	return found, nil
}

// clean removes the fields that differ between equal objects.
func clean(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	delete(annotations, names.AnnotationCreatedFrom)
	delete(annotations, "deployment.kubernetes.io/revision")
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
	for _, path := range []string{"status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp",
		"metadata.managedFields", "spec.clusterIP", "spec.clusterIPs"} {
		unstructured.RemoveNestedField(o.Object, strings.Split(path, ".")...)
	}
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = ""
	}
	o.SetOwnerReferences(owners)
}
