// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoapply "k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const recordedSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: llama-stack-operator-config, namespace: ` + framework.OperatorNamespace + `}
data:
  featureFlags: "enableNetworkPolicy: {enabled: true}"
  image-overrides: "remote-vllm: registry.example.com/mirror/vllm-dist:2026-01"
`

// leftAlone are recorded custom resources whose Deployment the upgrade does not change, with the reason in
// ConfigGenerated or SecretsResolved; empty if there is no Deployment.
var leftAlone = map[string]string{
	"unknown-name": "",
	"a-name-that-is-quite-long-for-a-server-of-llama-stack-x63": "",
	"old-server":     string(problem.UnsupportedRelease),
	"missing-secret": string(problem.SecretNotFound),
}

// notDesired are recorded objects that this operator does not make: the custom resource names a user's ServiceAccount.
var notDesired = map[string]bool{"everything-sa": true}

// replayed is a cluster in which release 0.9 watched all custom resources of the recording.
type replayed struct {
	*controlPlane
	recorded  []*framework.Recorded
	kubelet   *framework.FakeKubelet
	endpoints *framework.Endpoints
	converter managedfields.TypeConverter
}

// replay creates the recorded state, with a CRD that has v1alpha1 only.
func (s *controlPlane) replay() *replayed {
	s.T.Helper()
	recorded, beside, err := framework.Recording()
	if err != nil || len(recorded) != 22 {
		s.T.Fatalf("%d custom resources are recorded: %v", len(recorded), err)
	}
	r := &replayed{controlPlane: s, recorded: recorded, converter: clientgoapply.NewTypeConverter(s.Client.Scheme())}
	s.Apply(oldCRD)
	s.established(framework.CRD)
	namespaces := []string{"own", "names", "odh", "shared", framework.OperatorNamespace}
	for _, namespace := range namespaces {
		s.Kubectl("create", "namespace", namespace)
	}
	s.Apply(recordedSettings)
	for _, o := range append(beside, r.shared()...) {
		framework.NoError(s.T, s.Client.Create(s.T.Context(), framework.WithoutServerFields(o, o.GetNamespace())))
	}
	r.kubelet = framework.StartFakeKubelet(s.T, s.Client, namespaces[:3]...)
	r.endpoints = framework.WatchEndpoints(s.T, s.Client)
	for _, one := range recorded {
		resource := framework.WithoutServerFields(one.Resource, one.Resource.GetNamespace())
		framework.NoError(s.T, s.Client.Create(s.T.Context(), resource))
		framework.NoError(s.T, one.Replay(s.T.Context(), s.Client, resource))
	}
	for _, one := range recorded {
		if one.Object("Deployment") != nil {
			r.rolledOut(one)
		}
	}
	return r
}

// shared returns the ConfigMaps in another namespace that a custom resource names, which the recording lacks.
func (r *replayed) shared() []*unstructured.Unstructured {
	configMap := func(name string, data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"namespace": "shared", "name": name, "annotations": map[string]any{"llamastack.io/allow-from": "*"}},
		}}
	}
	ca, _, _ := unstructured.NestedMap(r.one("other-ns").Object("ConfigMap").Object, "data")
	return []*unstructured.Unstructured{
		configMap("global-ca", ca), configMap("shared-conf", map[string]any{"config.yaml": "version: '2'\nimage_name: shared\n"}),
	}
}

func (r *replayed) one(name string) *framework.Recorded {
	return r.recorded[slices.IndexFunc(r.recorded, func(o *framework.Recorded) bool { return o.Name() == name })]
}

func key(one *framework.Recorded) client.ObjectKey { return client.ObjectKeyFromObject(one.Resource) }

func (r *replayed) deployment(one *framework.Recorded) *appsv1.Deployment {
	r.T.Helper()
	return r.in(key(one).Namespace).Deployment(one.Name())
}

// rolledOut waits until all pods have the Deployment's template and are ready.
func (r *replayed) rolledOut(one *framework.Recorded) {
	r.T.Helper()
	r.Eventually(one.Name()+" is rolled out", func() error { return framework.RolledOut(r.deployment(one)) })
}

// switchedOver waits until the rollout is complete, and the fields that held it are removed.
func (r *replayed) switchedOver(one *framework.Recorded) {
	r.T.Helper()
	r.rolledOut(one)
	service := one.Object("Service")
	if service == nil {
		return
	}
	r.Eventually(one.Name()+" is as if it had never been held", func() error {
		if d := r.deployment(one); release09.IsHeld(d) || d.Spec.MinReadySeconds != 0 {
			return fmt.Errorf("the Deployment is %+v", d.ObjectMeta)
		}
		now := &corev1.Service{}
		if err := r.Client.Get(r.T.Context(), client.ObjectKeyFromObject(service), now); err != nil {
			return err
		}
		if !maps.Equal(now.Spec.Selector, names.Selector(one.Name())) {
			return fmt.Errorf("the Service selects %v", now.Spec.Selector)
		}
		return nil
	})
}

// adopted waits until this operator has adopted the Deployment, and release 0.9 manages no field of the objects.
func (r *replayed) adopted(one *framework.Recorded) {
	r.T.Helper()
	err := framework.Poll(r.T.Context(), framework.Patience, func() error {
		for _, recorded := range one.Objects {
			if slices.Contains([]string{"RoleBinding", "ConfigMap"}, recorded.GetKind()) {
				continue
			}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(recorded.GroupVersionKind())
			err := r.Client.Get(r.T.Context(), client.ObjectKeyFromObject(recorded), o)
			if apierrors.IsNotFound(err) && notDesired[recorded.GetName()] {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s %s: %w", recorded.GetKind(), recorded.GetName(), err)
			}
			if release09.Owns(o, one.Name()) {
				return fmt.Errorf("%s %s has fields of release 0.9", o.GetKind(), o.GetName())
			}
			if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].Name != one.Name() || owners[0].Controller == nil || !*owners[0].Controller {
				return fmt.Errorf("%s %s is owned by %v", o.GetKind(), o.GetName(), owners)
			}
			if o.GetKind() == "Deployment" && o.GetAnnotations()[names.AnnotationBuild] == "" {
				return errors.New("its Deployment is not adopted yet")
			}
		}
		return nil
	})
	if err != nil {
		r.T.Errorf("%s is not adopted: %v", one.Name(), err)
	}
}

// allAdopted waits until all Deployments are adopted, except those in leftAlone, whose conditions have the reason.
func (r *replayed) allAdopted() {
	r.T.Helper()
	for _, one := range r.recorded {
		if reason, alone := leftAlone[one.Name()]; !alone {
			r.adopted(one)
		} else if reason != "" {
			r.explained(one, reason)
		}
	}
}

// editAll edits each custom resource without changing its pods.
func (r *replayed) editAll() { r.setBudgets(map[string]any{"minAvailable": nil, "maxUnavailable": 1}) }

func (r *replayed) restoreAll() { r.setBudgets(nil) }

// setBudgets gives each custom resource a PodDisruptionBudget; nil means the recorded one.
func (r *replayed) setBudgets(budget map[string]any) {
	r.T.Helper()
	for _, one := range r.recorded {
		value := any(budget)
		if budget == nil {
			value = nil
			if recorded, ok := field(one.Resource, "spec.server.podDisruptionBudget").(map[string]any); ok {
				value = recorded
				r.patchBudget(one, nil)
			}
		}
		r.patchBudget(one, value)
	}
}

func (r *replayed) patchBudget(one *framework.Recorded, budget any) {
	r.T.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"server": map[string]any{"podDisruptionBudget": budget}}})
	framework.NoError(r.T, err)
	r.Kubectl("patch", v1alpha1Kind, one.Name(), "-n", key(one).Namespace, "--type=merge", "-p", string(patch))
}

// allApplied waits until every Deployment that is not in leftAlone has this operator's pod template.
func (r *replayed) allApplied() {
	r.T.Helper()
	for _, one := range r.recorded {
		if _, alone := leftAlone[one.Name()]; !alone {
			r.applied(one)
		}
	}
}

// applied waits until the Deployment has this operator's pod template.
func (r *replayed) applied(one *framework.Recorded) {
	r.T.Helper()
	r.Eventually(one.Name()+" has the new pod template", func() error {
		if d := r.deployment(one); !names.HasNewPods(&d.Spec.Template) {
			return fmt.Errorf("the Deployment is %+v", d.ObjectMeta)
		}
		return nil
	})
}

// explained waits until a condition of the custom resource has the reason why its Deployment is left alone.
func (r *replayed) explained(one *framework.Recorded, reason string) {
	r.T.Helper()
	err := framework.Poll(r.T.Context(), framework.Patience, func() error {
		conditions, _, err := unstructured.NestedSlice(r.resource(one).Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, c := range conditions {
			if condition, ok := c.(map[string]any); ok && condition["reason"] == reason {
				return nil
			}
		}
		return fmt.Errorf("no condition has the reason %s: %v", reason, conditions)
	})
	if err != nil {
		r.T.Errorf("%s: %v", one.Name(), err)
	}
}

func (r *replayed) revision(one *framework.Recorded) int {
	r.T.Helper()
	n, err := strconv.Atoi(r.deployment(one).Annotations["deployment.kubernetes.io/revision"])
	if err != nil {
		r.T.Fatalf("%s: %v", one.Name(), err)
	}
	return n
}

type state struct {
	revision int
	template any
}

func (r *replayed) states() map[string]state {
	r.T.Helper()
	all := map[string]state{}
	for _, one := range r.recorded {
		if one.Object("Deployment") != nil {
			all[one.Name()] = state{r.revision(one), meaning(framework.Tree(r.T, r.deployment(one).Spec.Template))}
		}
	}
	return all
}

// upgraded waits until all Deployments are adopted and rolled out, and returns the number of rollouts. It checks that a
// Deployment has rolled out once if its pods changed, and otherwise not.
func (r *replayed) upgraded(before map[string]state) (rolled int) {
	r.T.Helper()
	r.allAdopted()
	for name, was := range before {
		r.switchedOver(r.one(name))
		want := was.revision
		if !cmp.Equal(was.template, meaning(framework.Tree(r.T, r.deployment(r.one(name)).Spec.Template))) {
			want++
			rolled++
		}
		if got := r.revision(r.one(name)); got != want {
			r.T.Errorf("%s: revision %d, want %d", name, got, want)
		}
		if _, alone := leftAlone[name]; alone && want != was.revision {
			r.T.Errorf("%s is not left alone", name)
		}
	}
	return rolled
}

func (r *replayed) stop(p *framework.Process) {
	r.T.Helper()
	r.service.Remove(p.Webhook)
	p.Terminate(r.T)
}

// versions returns the resource versions of all objects that an operator could write in the recording's namespaces,
// except custom resources, whose status changes after a while because no server responds.
func (r *replayed) versions() map[string]string {
	r.T.Helper()
	all := map[string]string{}
	kinds := append(apply.FullKinds(), &corev1.ConfigMap{}, &corev1.Secret{}, &rbacv1.RoleBinding{})
	for _, namespace := range []string{"own", "names", "odh"} {
		maps.Copy(all, r.in(namespace).ResourceVersions("", kinds...))
	}
	return all
}

// reviewed is a reviewed difference between the pods of release 0.9 and those after the upgrade.
type reviewed struct {
	// Path is the path of the difference; "*" matches anything but a dot.
	Path   string `json:"path"`
	Reason string `json:"reason"`
	used   bool
}

// checkTemplates compares the pod templates with the recorded ones, ignoring the order of unordered lists. Each
// difference must be reviewed, and each reviewed difference must occur.
func (r *replayed) checkTemplates() {
	r.T.Helper()
	text := framework.ReadFile(r.T, "testdata/release-0.9-reviewed.yaml")
	var list []*reviewed
	framework.NoError(r.T, yaml.UnmarshalStrict(text, &list))
	for _, one := range r.recorded {
		if _, alone := leftAlone[one.Name()]; alone || one.Object("Deployment") == nil {
			continue
		}
		for _, line := range r.changed(one) {
			at, _, _ := strings.Cut(line, " ")
			i := slices.IndexFunc(list, func(d *reviewed) bool {
				ok, err := path.Match(parts(d.Path), parts(at))
				return ok && err == nil
			})
			if i < 0 {
				r.T.Errorf("%s: unreviewed change: %s", one.Name(), line)
				continue
			}
			list[i].used = true
		}
	}
	for _, d := range list {
		if !d.used || d.Reason == "" {
			r.T.Errorf("reviewed, but there is no such difference, or no reason: %s", d.Path)
		}
	}
}

// parts returns a path whose parts are divided by slashes.
func parts(at string) string { return strings.ReplaceAll(strings.ReplaceAll(at, "/", "|"), ".", "/") }

// changed lists the differences between the recorded and the current pod template.
func (r *replayed) changed(one *framework.Recorded) []string {
	r.T.Helper()
	template, _, _ := unstructured.NestedMap(one.Object("Deployment").Object, "spec", "template")
	return differences("", meaning(template), meaning(framework.Tree(r.T, r.deployment(one).Spec.Template)))
}

// meaning returns a tree in which unordered lists are maps, by the key of their items.
func meaning(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if item = meaning(item); item != nil {
				out[k] = item
			}
		}
		delete(out, "creationTimestamp")
		return out
	case []any:
		out := map[string]any{}
		for _, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				return fmt.Sprint(v)
			}
			id := fmt.Sprint(len(out))
			for _, k := range []string{"mountPath", "containerPort", "topologyKey", "name"} {
				if value, found := m[k]; found {
					id = strings.ReplaceAll(fmt.Sprint(value), ".", "_")
					break
				}
			}
			out[id] = meaning(m)
		}
		return out
	case nil:
		return nil
	default:
		return fmt.Sprint(v)
	}
}

// differences lists the differences between two trees, as "path was -> is".
func differences(at string, was, is any) []string {
	a, aMap := was.(map[string]any)
	b, bMap := is.(map[string]any)
	if !aMap || !bMap {
		if fmt.Sprint(was) == fmt.Sprint(is) {
			return nil
		}
		return []string{fmt.Sprintf("%s %v -> %v", at, was, is)}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var list []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		below := k
		if at != "" {
			below = at + "." + k
		}
		list = append(list, differences(below, a[k], b[k])...)
	}
	return list
}
