// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// full returns an owner and one object of each kind. All but the first depend on the generation.
func full(generation int32) (*v1alpha2.LlamaStackDistribution, []objects.Object) {
	cr := fakecluster.Owner()
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{Port: new(8000 + generation)}
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{
		Replicas: new(int32(2)), Autoscaling: &v1alpha2.AutoscalingSpec{MaxReplicas: new(3 + generation)},
		PodDisruptionBudget: &v1alpha2.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(generation))},
	}
	cr.Spec.Workload.Storage = &v1alpha2.PVCStorageSpec{Size: resource.NewQuantity(int64(generation)<<30, resource.BinarySI)}
	p := &objects.Params{
		CR: cr, Image: "registry.example/starter:0.7.1", Config: []byte{'a' + byte(generation)}, NetworkPolicy: true,
		Derived: map[string]secret.Value{"A": secret.New([]byte("a"))}, DerivedName: fmt.Sprintf("my-stack-env-%d", generation),
		Expose: parse.Expose{Enabled: true, Hostname: fmt.Sprintf("g%d.example", generation)},
	}
	edge := func(kind settings.EdgeKind) *objects.Params {
		of := *p
		of.Edge = settings.Edge{Kind: kind, Gateway: &settings.Gateway{Namespace: "gateways", Name: "main"}}
		return &of
	}
	return cr, []objects.Object{
		objects.ServiceAccount(p), objects.NetworkPolicy(p), objects.ConfigMap(p), objects.DerivedSecret(p), objects.PersistentVolumeClaim(p),
		objects.PodDisruptionBudget(p), objects.Deployment(p), objects.HorizontalPodAutoscaler(p), objects.Service(p), objects.Ingress(p),
		objects.Route(edge(settings.EdgeRoute)), objects.HTTPRoute(edge(settings.EdgeHTTPRoute)),
	}
}

// Proves: R61 (each changed object except the first is dry-run once; the first write needs no dry run).
func TestRejectedObjectPreventsOtherWrites(t *testing.T) {
	_, every := full(1)
	for _, o := range every[1:] {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		t.Run(kind, func(t *testing.T) {
			c := fakecluster.New(t)
			a := applier(c)
			cr, list := full(1)
			if _, f := a.Apply(t.Context(), cr, list); f != nil {
				t.Fatal(f)
			}
			c.Asked = nil
			if _, f := a.Apply(t.Context(), cr, list); f != nil || len(c.Asked) > 0 {
				t.Errorf("nothing changes, and %v was asked: %v", c.Asked, f)
			}
			cr, list = full(2)
			class := problem.Transient
			if kind == "PersistentVolumeClaim" { // only an edit fixes a violation of a storage class
				class = problem.Terminal
			}
			what := ""
			for _, o := range list {
				if o.GetObjectKind().GroupVersionKind().Kind == kind {
					what = kind + "/" + o.GetName()
				}
			}
			c.Applied = nil
			c.Refuse[what] = apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", nil)
			result, f := a.Apply(t.Context(), cr, list)
			if f == nil || result.Changed > 0 || !strings.Contains(f.String(), kind) || f.Class != class {
				t.Fatalf("result %+v, fault %+v", result, f)
			}
			if written := slices.DeleteFunc(c.Applied, func(w string) bool { return w == what }); len(written) > 0 {
				t.Errorf("%s is refused, and written are %v", what, written)
			}
			delete(c.Refuse, what)
			c.Asked, c.Applied = nil, nil
			if _, f := a.Apply(t.Context(), cr, list); f != nil || len(c.Applied) != len(every)-1 || !slices.Equal(c.Asked, c.Applied[1:]) {
				t.Errorf("fault %v, asked %v, written %v", f, c.Asked, c.Applied)
			}
		})
	}
}

// Proves: R61.
func TestNewObjectsOfTheSpecAreDryRun(t *testing.T) {
	c := fakecluster.New(t)
	if _, f := applier(c).Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1")); f != nil || len(c.Asked) > 0 || len(c.Applied) != 4 {
		t.Errorf("asked %v, written %v, %v", c.Asked, c.Applied, f)
	}
	cr, list := full(1)
	c = fakecluster.New(t)
	if _, f := applier(c).Apply(t.Context(), cr, list); f != nil || slices.ContainsFunc(c.Asked, func(what string) bool {
		return strings.HasPrefix(what, "ConfigMap/") || strings.HasPrefix(what, "Secret/") || strings.HasPrefix(what, "Service/") || strings.HasPrefix(what, "ServiceAccount/")
	}) || len(c.Asked) != len(list)-4 {
		t.Errorf("asked %v, %v", c.Asked, f)
	}
}

// Proves: R61.
func TestDryRunThatIsNotSupportedIsIgnored(t *testing.T) {
	c := fakecluster.New(t)
	cr, list := full(1)
	a := applier(c)
	c.Refuse["Deployment/my-stack"] = apierrors.NewBadRequest("admission webhook x does not support dry run")
	_, f := a.Apply(t.Context(), cr, list)
	if f == nil || !slices.Contains(c.Applied, "Deployment/my-stack") { // the fake API server rejects the write too
		t.Errorf("written %v, %v", c.Applied, f)
	}
}

// Proves: R61, R19 (such a webhook returns 400, as the API server does for an unsupported dry run).
func TestWebhookDenialPreventsOtherWrites(t *testing.T) {
	c := fakecluster.New(t)
	cr, list := full(1)
	a := applier(c)
	if _, f := a.Apply(t.Context(), cr, list); f != nil {
		t.Fatal(f)
	}
	c.Applied = nil
	c.Refuse["Deployment/my-stack"] = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: `admission webhook "x" denied the request: the image is not signed`,
	}}
	cr, list = full(2)
	result, f := a.Apply(t.Context(), cr, list)
	if f == nil || f.Class != problem.Transient || f.Path != "spec.workload" || result.Changed > 0 {
		t.Errorf("written %d, %+v", result.Changed, f)
	}
	if written := slices.DeleteFunc(c.Applied, func(w string) bool { return w == "Deployment/my-stack" }); len(written) > 0 {
		t.Errorf("written are %v", written)
	}
}

// Proves: R61, R74 (the field of the spec comes first).
func TestRefusalNamesTheField(t *testing.T) {
	invalid := func(path *field.Path) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "s", field.ErrorList{field.Invalid(path, "x", "must be less")})
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "s", nil)
	owner := fakecluster.Owner()
	owner.Spec.Workload = &v1alpha2.WorkloadSpec{}
	container := field.NewPath("spec", "template", "spec", "containers").Index(0)
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: `admission webhook "x" denied the request: the image is not signed`,
	}}
	// Responses of API servers to an object with a field of a later Kubernetes version.
	created := apierrors.NewBadRequest(`Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: ` +
		`unknown field "spec.template.spec.topologySpreadConstraints[0].later"`)
	applied := apierrors.NewInternalError(errors.New(`failed to create typed patch object: .spec.template.spec.later: field not declared in schema`))
	for _, err := range []error{created, applied} {
		if p := Failed("Deployment s", "could not be applied", err); p.Reason != problem.ObjectRejected || p.Class != problem.Terminal {
			t.Errorf("%v: %s, class %v: only an edit helps", err, p.Reason, p.Class)
		}
	}
	for _, c := range []struct {
		kind string
		err  error
		want string
	}{
		{"PodDisruptionBudget", forbidden, "spec.workload.podDisruptionBudget: PodDisruptionBudget s could not be applied: "},
		{"Ingress", forbidden, "spec.networking.expose: Ingress s"},
		{"ServiceAccount", forbidden, "ServiceAccount s"},
		{"ServiceAccount", webhook, "ServiceAccount s"},
		{"Ingress", webhook, "spec.networking.expose: Ingress s"},
		{"Deployment", forbidden, "spec.workload: Deployment s"},
		{"Deployment", webhook, "spec.workload: Deployment s"},
		{"Deployment", invalid(container.Child("resources", "requests").Key("cpu")), "spec.workload.resources: Deployment s"},
		{"Deployment", invalid(container.Child("volumeMounts").Index(2)), "spec.workload.overrides.volumeMounts: Deployment s"},
		{"Deployment", invalid(field.NewPath("spec", "template", "labels").Key("a")), "spec.workload.podMetadata.labels: Deployment s"},
		{"Deployment", invalid(field.NewPath("spec", "template", "annotations").Key("a")), "spec.workload.podMetadata.annotations: Deployment s"},
		{"Deployment", invalid(field.NewPath("spec", "strategy")), "spec.workload: Deployment s"},
		{"Deployment", created, "spec.workload.topologySpreadConstraints: Deployment s"},
		{"Deployment", applied, "spec.workload: Deployment s"},
		{"Ingress", apierrors.NewTimeoutError("slow", 1), "Ingress s"},
	} {
		u := &unstructured.Unstructured{}
		u.SetName("s")
		f := rejected(owner, &change{Unstructured: u, gvk: schema.GroupVersionKind{Kind: c.kind}}, c.err)
		if !strings.HasPrefix(f.String(), c.want) {
			t.Errorf("message %q, want it to begin with %q", f.String(), c.want)
		}
		if f := rejected(fakecluster.Owner(), &change{Unstructured: u, gvk: schema.GroupVersionKind{Kind: "Deployment"}}, c.err); f.Path == "spec.workload" {
			t.Errorf("a spec without workload is blamed for it: %s", f)
		}
	}
}

// Proves: R61, R74 (the operator's own list entries do not count).
func TestRefusalNamesTheValue(t *testing.T) {
	owner, list := full(1)
	w := owner.Spec.Workload
	w.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	w.PodMetadata = &v1alpha2.PodMetadataSpec{Labels: map[string]string{"a": "b"}}
	w.Scheduling = &v1alpha2.SchedulingSpec{Tolerations: []corev1.Toleration{{Key: "a", Operator: "Exists"}}}
	w.Overrides = &v1alpha2.WorkloadOverrides{
		Env:          []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "B", Value: "b"}},
		Volumes:      []corev1.Volume{{Name: "mine"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "mine", MountPath: "/mine"}},
	}
	owner.Spec.Networking.Expose = &apiextensionsv1.JSON{Raw: []byte(`{"hostname":"a.example"}`)}
	for i, o := range list {
		if o.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
			list[i] = objects.Deployment(&objects.Params{CR: owner, Image: "registry.example/starter:0.7.1", Config: []byte("a")})
		}
	}
	made := func(kind string) *change {
		for _, o := range list {
			if gvk := o.GetObjectKind().GroupVersionKind(); gvk.Kind == kind {
				content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
				if err != nil {
					t.Fatal(err)
				}
				return &change{Unstructured: &unstructured.Unstructured{Object: content}, gvk: gvk}
			}
		}
		t.Fatalf("there is no %s", kind)
		return nil
	}
	pod := made("Deployment").Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	place := func(list any, key, name string) int {
		return slices.IndexFunc(list.([]any), func(entry any) bool { return keyOf(entry, key) == name })
	}
	first := pod["containers"].([]any)[0].(map[string]any)
	variable, volume, mount := place(first["env"], "name", "B"), place(pod["volumes"], "name", "mine"), place(first["volumeMounts"], "mountPath", "/mine")
	if variable < 2 || volume < 1 || mount < 1 {
		t.Fatalf("the operator has no entries before those of the spec: %d, %d, %d", variable, volume, mount)
	}
	for _, c := range []struct{ kind, field, want string }{
		{"Deployment", "spec.template.spec.containers[0].resources.requests[cpu]", "spec.workload.resources.requests[cpu]"},
		{"Deployment", fmt.Sprintf("spec.template.spec.containers[0].env[%d].value", variable), "spec.workload.overrides.env[1].value"},
		{"Deployment", "spec.template.spec.containers[0].env[0].name", "spec.workload.overrides.env"},
		{"Deployment", "spec.template.spec.containers[0].env[99].name", "spec.workload.overrides.env"},
		{"Deployment", "spec.template.spec.containers[0].env", "spec.workload.overrides.env"},
		{"Deployment", fmt.Sprintf("spec.template.spec.volumes[%d].ephemeral.spec", volume), "spec.workload.overrides.volumes[0].ephemeral.spec"},
		{"Deployment", fmt.Sprintf("spec.template.spec.containers[0].volumeMounts[%d].name", mount), "spec.workload.overrides.volumeMounts[0].name"},
		{"Deployment", "spec.template.spec.containers[0].imagePullPolicy", ""},
		{"Deployment", "spec.template.labels[a]", "spec.workload.podMetadata.labels[a]"},
		{"Deployment", "spec.template.spec.tolerations[0].key", "spec.workload.scheduling.tolerations[0].key"},
		{"Deployment", "spec.template.spec.affinity.nodeAffinity", "spec.workload.scheduling.affinity"},
		{"PodDisruptionBudget", "spec.maxUnavailable", "spec.workload.podDisruptionBudget.maxUnavailable"},
		{"PodDisruptionBudget", "spec.minAvailable", "spec.workload.podDisruptionBudget"},
		{"HorizontalPodAutoscaler", "spec.maxReplicas", "spec.workload.autoscaling.maxReplicas"},
		{"HorizontalPodAutoscaler", "spec.metrics[0]", "spec.workload.autoscaling"},
		{"PersistentVolumeClaim", "spec.resources.requests.storage", "spec.workload.storage.size"},
		{"Ingress", "spec.rules[0].host", "spec.networking.expose.hostname"},
		{"Ingress", "metadata.annotations", "spec.networking.expose"},
	} {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: c.field}}}}}
		if got := rejectedField(owner, made(c.kind), err); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.field, got, c.want)
		}
	}
}
