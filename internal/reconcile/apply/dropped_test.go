// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// withoutImages is an API server without the feature gate for image volumes.
type withoutImages struct{ client.Client }

func (c withoutImages) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, o, opts...)
	if u, ok := o.(*unstructured.Unstructured); ok && len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
		c.leaveOut(u)
	}
	return err
}

func (c withoutImages) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := c.Client.Apply(ctx, o, opts...)
	c.leaveOut(o.(interface{ UnstructuredContent() map[string]any }))
	return err
}

func (withoutImages) leaveOut(o interface{ UnstructuredContent() map[string]any }) {
	// Kubernetes removes the whole volume.
	volumes, _, _ := unstructured.NestedSlice(o.UnstructuredContent(), "spec", "template", "spec", "volumes")
	volumes = slices.DeleteFunc(volumes, func(v any) bool { return v.(map[string]any)["image"] != nil })
	_ = unstructured.SetNestedSlice(o.UnstructuredContent(), volumes, "spec", "template", "spec", "volumes")
}

// Proves: R61, R74 (dropped fields are refused before any write, even if only the Deployment changes).
func TestDroppedFieldsAreRejected(t *testing.T) {
	deployment := func(volumes ...corev1.Volume) (*v1alpha2.LlamaStackDistribution, []objects.Object) {
		cr, list := full(1)
		cr.Spec.Workload.Overrides = &v1alpha2.WorkloadOverrides{Volumes: volumes}
		i := slices.IndexFunc(list, func(o objects.Object) bool { _, ok := o.(*appsv1.Deployment); return ok })
		list[i] = objects.Deployment(&objects.Params{CR: cr, Image: "registry.example/starter:0.7.1", Config: []byte{'b'}})
		return cr, list
	}
	models := corev1.Volume{Name: "models", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "registry.example/models:1"}}}
	const want = "spec.workload.overrides.volumes[0].image: Deployment my-stack could not be applied: this cluster's API server drops spec.template.spec.volumes["
	check := func(what string, c *fakecluster.Cluster, f *problem.Problem) {
		if f == nil || !strings.HasPrefix(f.String(), want) || f.Class != problem.Terminal || !strings.Contains(f.Fix, "feature gate") || len(c.Applied) > 0 {
			t.Errorf("%s: written %v, %v", what, c.Applied, f)
		}
	}
	c := fakecluster.New(t)
	a := applier(c)
	a.Client = withoutImages{c}
	cr, list := deployment(models)
	_, f := a.Apply(t.Context(), cr, list)
	check("a new custom resource", c, f)

	cr, list = deployment()
	if _, f := a.Apply(t.Context(), cr, list); f != nil {
		t.Fatal(f)
	}
	c.Applied = nil
	cr, list = deployment(models)
	_, f = a.Apply(t.Context(), cr, list)
	check("an edit of the Deployment alone", c, f)
}

// Proves: R107, R74 (a model cache is not dropped, also if the settings name it).
func TestDroppedModelCacheIsRejected(t *testing.T) {
	for want, workload := range map[string]*v1alpha2.WorkloadSpec{
		"spec.workload.modelCache: ":            {ModelCache: &v1alpha2.ModelCacheSpec{Image: new("registry.example/models:1")}},
		"operator settings: modelCache.image: ": nil,
	} {
		c := fakecluster.New(t)
		a := applier(c)
		a.Client = withoutImages{c}
		cr, list := full(1)
		cr.Spec.Workload = workload
		completed := cr.DeepCopy()
		completed.Spec.Workload = &v1alpha2.WorkloadSpec{ModelCache: &v1alpha2.ModelCacheSpec{Image: new("registry.example/models:1")}}
		i := slices.IndexFunc(list, func(o objects.Object) bool { _, ok := o.(*appsv1.Deployment); return ok })
		list[i] = objects.Deployment(&objects.Params{CR: completed, Image: "registry.example/starter:0.7.1", ModelCacheImage: "registry.example/models:1"})
		_, f := a.Apply(t.Context(), cr, list)
		if f == nil || !strings.HasPrefix(f.String(), want+"Deployment my-stack could not be applied: this cluster's API server drops spec.template.spec.volumes[") ||
			f.Class != problem.Terminal || !strings.Contains(f.Fix, "feature gate") || len(c.Applied) > 0 {
			t.Errorf("written %v, %v, want %s", c.Applied, f, want)
		}
	}
}

// Proves: R74 (the operator's additions, other values, map keys and list entries are not named).
func TestDroppedFieldsAreReportedBySpecPath(t *testing.T) {
	owner := fakecluster.Owner()
	owner.Spec.Workload = &v1alpha2.WorkloadSpec{
		Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}, Claims: []corev1.ResourceClaim{{Name: "gpu", Request: "one"}},
		},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}},
		Scheduling: &v1alpha2.SchedulingSpec{
			NodeSelector: map[string]string{"a": "b"}, Tolerations: []corev1.Toleration{{Key: "a", Operator: "Exists", TolerationSeconds: new(int64(5))}},
		},
		Overrides: &v1alpha2.WorkloadOverrides{
			Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k"}}}},
			Volumes: []corev1.Volume{
				{Name: "one", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}},
				{Name: "two", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "ca.crt"}},
				}}}},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "one", MountPath: "/one"}, {Name: "one", MountPath: "/again", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible)},
			},
		},
	}
	made := objects.Deployment(&objects.Params{CR: owner, Image: "registry.example/starter:0.7.1", Config: []byte("a")})
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec, *corev1.Container)
		want   []string
	}{
		"nothing": {func(*corev1.PodSpec, *corev1.Container) {}, nil},
		"what others do": {func(pod *corev1.PodSpec, server *corev1.Container) {
			server.Resources.Requests["cpu"] = resource.MustParse("2")
			server.Env = append([]corev1.EnvVar{{Name: "Z"}}, server.Env...)
			slices.Reverse(server.VolumeMounts)
			pod.NodeSelector = map[string]string{"c": "d"}
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: "b"})
			pod.Containers = append([]corev1.Container{{Name: "sidecar"}}, pod.Containers...)
			pod.Volumes = pod.Volumes[1:]
		}, nil},
		"what the operator adds": {func(pod *corev1.PodSpec, server *corev1.Container) {
			server.Lifecycle, server.StartupProbe, pod.SecurityContext = nil, nil, nil
		}, nil},
		"fields": {func(pod *corev1.PodSpec, server *corev1.Container) {
			pod.ResourceClaims, server.Resources.Claims[0].Request = nil, ""
			for i := range pod.Volumes {
				if p := pod.Volumes[i].Projected; p != nil {
					p.Sources[0].ClusterTrustBundle = nil
				}
			}
			for i := range server.VolumeMounts {
				server.VolumeMounts[i].RecursiveReadOnly = nil
			}
			for i := range server.Env {
				if server.Env[i].ValueFrom != nil {
					server.Env[i].ValueFrom.FileKeyRef = nil
				}
			}
			pod.Tolerations[0].TolerationSeconds = nil
		}, []string{
			"spec.workload.overrides.env[0].valueFrom.fileKeyRef", "spec.workload.resources.claims[0].request",
			"spec.workload.overrides.volumeMounts[1].recursiveReadOnly", "spec.workload.resourceClaims",
			"spec.workload.scheduling.tolerations[0].tolerationSeconds", "spec.workload.overrides.volumes[1].projected.sources[0].clusterTrustBundle",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := newChange(made)
			if err != nil {
				t.Fatal(err)
			}
			answered := made.DeepCopy()
			c.change(&answered.Spec.Template.Spec, &answered.Spec.Template.Spec.Containers[0])
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answered)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if out, ok := errors.AsType[*droppedFieldsError](checkDropped(owner, change, &unstructured.Unstructured{Object: content})); ok {
				for _, field := range out.fields {
					got = append(got, rejectedField(owner, change, &droppedFieldsError{[]string{field}}))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("left out are\n%q, want\n%q", got, c.want)
			}
		})
	}
}
