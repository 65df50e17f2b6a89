// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// v1alpha2Kind names the version: kubectl remembers for a while that there was no other than v1alpha1.
const v1alpha2Kind = "llamastackdistributions.v1alpha2.llamastack.io"

// upgraded is a cluster in which release 0.9 looked after the resource "full" of the namespace "ai".
type upgraded struct {
	*serving
	// uids are those of what release 0.9 made, by kind.
	uids map[string]types.UID
	// resource is what it was before the upgrade.
	resource *unstructured.Unstructured
}

// release09 builds that state: v1alpha1 is all that the API server knows.
func (s *serving) release09() *upgraded {
	s.t.Helper()
	s.apply(oldCRD)
	s.established(crdName)
	for _, namespace := range []string{"ai", "shared", operatorNamespace} {
		s.kubectl("create", "namespace", namespace)
	}
	s.apply(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"llama-stack-operator-config","namespace":"` + operatorNamespace + `"},
		"data":{"featureFlags":"enableNetworkPolicy: {enabled: true}"}}`)
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shared", Name: "trusted-ca"}, Data: map[string]string{}}
	for _, key := range []string{"a.crt", "b.crt", "not-named.crt"} {
		bundle.Data[key] = string(caElsewhere(s.t)["ca.crt"])
	}
	if err := s.admin.Create(s.t.Context(), bundle); err != nil {
		s.t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/release-0.9-everything.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	u := &upgraded{serving: s, uids: map[string]types.UID{}}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			s.t.Fatal(err)
		}
		switch {
		case o.GetKind() == v1alpha2.Kind:
			s.apply(document)
			u.resource = u.full("v1alpha1")
		case o.GetNamespace() != "":
			s.apply(document)
		default:
			if err := fixture.Make09(s.t.Context(), s.admin, u.resource, o); err != nil {
				s.t.Fatal(err)
			}
			u.uids[o.GetKind()] = o.GetUID()
		}
	}
	return u
}

// full reads the resource in one of the versions.
func (u *upgraded) full(version string) *unstructured.Unstructured {
	u.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("llamastack.io/" + version)
	o.SetKind(v1alpha2.Kind)
	u.mustRead(o, "full")
	return o
}

// mustRead reads an object, as soon as the API server can: it hears of a new CA bundle of the webhooks a moment after the operator does.
func (u *upgraded) mustRead(o client.Object, name string) {
	u.t.Helper()
	fixture.Eventually(u.t, time.Minute, name+" is read", func() error {
		return u.admin.Get(u.t.Context(), client.ObjectKey{Namespace: "ai", Name: name}, o)
	})
}

func (u *upgraded) deployment() *appsv1.Deployment {
	u.t.Helper()
	d := &appsv1.Deployment{}
	u.mustRead(d, "full")
	return d
}

// rolledOut waits until the pods are those of the revision, and all of them are there; one revision more would be one rollout too many.
func (u *upgraded) rolledOut(revision, what string) *appsv1.Deployment {
	u.t.Helper()
	var d *appsv1.Deployment
	fixture.Eventually(u.t, time.Minute, what, func() error {
		d = u.deployment()
		if at := d.Annotations["deployment.kubernetes.io/revision"]; at != revision || d.Status.ObservedGeneration != d.Generation ||
			d.Status.UpdatedReplicas != 3 || d.Status.AvailableReplicas != 3 || d.Status.Replicas != 3 {
			return fmt.Errorf("revision %s, want %s: %+v", at, revision, d.Status)
		}
		return nil
	})
	u.condition(v1alpha2.ConditionReady, "True", "")
	if now := u.deployment(); now.Generation != d.Generation {
		u.t.Errorf("%s: the Deployment was changed more than once", what)
	}
	return d
}

// condition waits for a condition of the resource, and returns its message.
func (u *upgraded) condition(name, status, reason string) (message string) {
	u.t.Helper()
	fixture.Eventually(u.t, 2*time.Minute, name+"="+status+" "+reason, func() error {
		now := u.full("v1alpha2")
		conditions, _ := field(now, "status.conditions").([]any)
		for _, c := range conditions {
			c := c.(map[string]any)
			if c["type"] == name && c["status"] == status && (reason == "" || c["reason"] == reason) && c["observedGeneration"] == now.GetGeneration() {
				message = fmt.Sprint(c["message"])
				return nil
			}
		}
		return fmt.Errorf("generation %d: %v", now.GetGeneration(), conditions)
	})
	return message
}

// mounted is what a key of the ConfigMap of a volume holds.
func (u *upgraded) mounted(d *appsv1.Deployment, volume, key string) string {
	u.t.Helper()
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name == volume && v.ConfigMap != nil {
			cm := &corev1.ConfigMap{}
			u.mustRead(cm, v.ConfigMap.Name)
			return cm.Data[key]
		}
	}
	u.t.Errorf("no ConfigMap is mounted as %s: %+v", volume, d.Spec.Template.Spec.Volumes)
	return ""
}

func (u *upgraded) shared(name string) map[string]string {
	u.t.Helper()
	cm := &corev1.ConfigMap{}
	if err := u.admin.Get(u.t.Context(), client.ObjectKey{Namespace: "shared", Name: name}, cm); err != nil {
		u.t.Fatal(err)
	}
	return cm.Data
}

// startProgram runs the operator's program until it is ready.
func (s *serving) startProgram(binary string, args ...string) *process {
	s.t.Helper()
	p := s.run(binary, args...)
	s.service.add(p.webhook)
	fixture.Eventually(s.t, installTimeout, "the operator is ready", p.ready)
	return p
}

// Proves: R21, R22, R41, R42, R45, R48, R53, R65, US-7.1, MIG-SVM, L-04, L-22, L-28 (a resource that is stored as release 0.9 stores it, with
// everything that v1alpha1 can say and all that this release made for it, goes on without a rollout; the first change brings the new pods, and what only v1alpha1 can say works on).
func TestUpgradeOfEverything(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	u := s.release09()
	nodeDouble(t, s.admin, "ai")
	u.deployed09()
	s.install()
	binary := buildManager(t)
	operator := u.startProgram(binary)
	u.checkConsent()
	if message := u.condition(v1alpha2.ConditionDeploymentUpdated, "True", ""); !strings.Contains(message, "the new pod template takes effect with the next edit") {
		t.Errorf("message %q", message)
	}
	old := u.rolledOut("1", "the upgrade rolls nothing out")
	if image := old.Spec.Template.Spec.Containers[0].Image; image != oldImage {
		t.Errorf("image %s, release 0.9 ran %s", image, oldImage)
	}
	u.checkScalingAndNetwork()
	after := u.full("v1alpha1")
	if diff := cmp.Diff(field(u.resource, "spec"), field(after, "spec")); diff != "" || after.GetUID() != u.resource.GetUID() {
		t.Errorf("the resource has changed (-before +after):\n%s", diff)
	}
	stored, err := s.cluster.Stored(t.Context(), "llamastack.io/llamastackdistributions", "ai", "full")
	if err != nil || stored["apiVersion"] != "llamastack.io/v1alpha2" {
		t.Errorf("stored as %v, %v", stored["apiVersion"], err)
	}

	// What is in the other namespace is watched there.
	s.kubectl("patch", "configmap", "mine", "-n", "shared", "--type=merge", "-p", `{"data":{"config.yaml":"version: 2\nimage_name: edited\n"}}`)
	d := u.rolledOut("2", "an edit of the configuration in the other namespace rolls out")
	u.checkPods(d)
	u.checkTakenOver()
	s.kubectl("patch", "configmap", "trusted-ca", "-n", "shared", "--type=merge", "-p",
		fmt.Sprintf(`{"data":{"b.crt":%q,"not-named.crt":"nothing"}}`, caElsewhere(t)["ca.crt"]))
	d = u.rolledOut("3", "a new CA certificate in the other namespace rolls out")
	u.checkPods(d)
	s.kubectl("patch", "configmap", "trusted-ca", "-n", "shared", "--type=merge", "-p", `{"data":{"b.crt":null}}`)
	if message := u.condition(v1alpha2.ConditionConfigGenerated, "False", string(problem.ConfigMapNotFound)); !strings.Contains(message,
		`ConfigMap trusted-ca (namespace shared) has no key "b.crt": add it`) {
		t.Errorf("message %q", message)
	}
	s.kubectl("patch", v1alpha1Kind, "full", "-n", "ai", "--type=merge", "-p", `{"spec":{"server":{"tlsConfig":{"caBundle":{"configMapKeys":["a.crt"]}}}}}`)
	d = u.rolledOut("4", "the key is not named any more")
	if got := u.mounted(d, "ca-bundle", "ca-bundle.crt"); got != u.shared("trusted-ca")["a.crt"] {
		t.Errorf("the CA certificates are\n%s", got)
	}

	// The namespace is that of the name beside it: another name, written in v1alpha2, is one of the resource's own namespace.
	s.kubectl("patch", v1alpha2Kind, "full", "-n", "ai", "--type=merge", "-p", `{"spec":{"overrideConfig":{"configMapName":"other"}}}`)
	if message := u.condition(v1alpha2.ConditionConfigGenerated, "False", string(problem.ConfigMapNotFound)); !strings.Contains(message, "ConfigMap not found: other (namespace ai)") {
		t.Errorf("message %q", message)
	}
	s.kubectl("patch", v1alpha1Kind, "full", "-n", "ai", "--type=merge", "-p", `{"spec":{"server":{"userConfig":{"configMapName":"mine","configMapNamespace":"shared"}}}}`)
	u.condition(v1alpha2.ConditionReady, "True", "")

	// An operator that does not allow that says so, and leaves alone what runs.
	before := u.deployment()
	s.service.remove(operator.webhook)
	operator.terminate(t)
	u.startProgram(binary, "--forbid-foreign-configmaps")
	message := u.condition(v1alpha2.ConditionConfigGenerated, "False", string(problem.ForbiddenBySettings))
	if !strings.Contains(message, "spec.overrideConfig.configMapName: Forbidden: ConfigMap mine is in namespace shared") ||
		!strings.Contains(message, "ConfigMap trusted-ca is in namespace shared") {
		t.Errorf("message %q", message)
	}
	if now := u.deployment(); now.Generation != before.Generation {
		t.Errorf("the Deployment was touched (-before +after):\n%s", cmp.Diff(before.Spec, now.Spec))
	}
}

// checkConsent looks that nothing happens as long as the owners of the ConfigMaps in the other namespace have not allowed their use, and
// that the operator goes on by itself once they have.
func (u *upgraded) checkConsent() {
	u.t.Helper()
	for _, name := range []string{"mine", "trusted-ca"} {
		message := u.condition(v1alpha2.ConditionConfigGenerated, "False", string(problem.ConfigMapNotFound))
		want := "ConfigMap " + name + " in namespace shared does not exist, or does not allow namespace ai to use it: annotate it with llamastack.io/allow-from: ai"
		if !strings.Contains(message, want) {
			u.t.Errorf("message %q, want %q", message, want)
		}
		if d := u.deployment(); d.Generation != 1 || d.Status.AvailableReplicas != 3 || d.Spec.Template.Spec.Containers[0].Image != oldImage {
			u.t.Errorf("the Deployment of release 0.9 was touched: generation %d, %+v", d.Generation, d.Status)
		}
		u.mustRead(&corev1.ConfigMap{}, "full-ca-bundle")
		if name == "trusted-ca" {
			u.condition(v1alpha2.ConditionAvailable, "True", "")
		}
		u.kubectl("annotate", "configmap", name, "-n", "shared", "llamastack.io/allow-from=other,ai")
	}
}

// deployed09 waits until the server of release 0.9 runs.
func (u *upgraded) deployed09() {
	u.t.Helper()
	fixture.Eventually(u.t, time.Minute, "the old server runs", func() error {
		if d := u.deployment(); d.Status.AvailableReplicas != 3 || d.Annotations["deployment.kubernetes.io/revision"] != "1" {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
}

// checkTakenOver looks whether the objects are those of release 0.9, and nothing of what it set stays for its sake.
func (u *upgraded) checkTakenOver() {
	u.t.Helper()
	for name, o := range map[string]client.Object{
		"full": &appsv1.Deployment{}, "full-service": &corev1.Service{}, "full-pvc": &corev1.PersistentVolumeClaim{}, "full-sa": &corev1.ServiceAccount{},
		"full-hpa": &autoscalingv2.HorizontalPodAutoscaler{}, "full-pdb": &policyv1.PodDisruptionBudget{},
		"full-network-policy": &networkingv1.NetworkPolicy{}, "full-ingress": &networkingv1.Ingress{},
	} {
		kind := fmt.Sprintf("%T", o)
		kind = kind[strings.Index(kind, ".")+1:]
		u.mustRead(o, name)
		if o.GetUID() != u.uids[kind] || o.GetUID() == "" {
			u.t.Errorf("%s: uid %s was %s", name, o.GetUID(), u.uids[kind])
		}
		if o.GetLabels()["release"] != "" {
			u.t.Errorf("%s keeps what release 0.9 set: %v", name, o.GetLabels())
		}
		for _, m := range o.GetManagedFields() {
			if m.Manager == "manager" || m.Manager == "full" || m.Manager == "llama-stack-operator" && m.Operation == metav1.ManagedFieldsOperationUpdate && m.Subresource == "" {
				u.t.Errorf("%s: fields still belong to %s (%s)", name, m.Manager, m.Operation)
			}
		}
	}
	if err := u.admin.Get(u.t.Context(), client.ObjectKey{Namespace: "ai", Name: "full-rb"}, &rbacv1.RoleBinding{}); !apierrors.IsNotFound(err) {
		u.t.Errorf("the RoleBinding is still there: %v", err)
	}
	claim := &corev1.PersistentVolumeClaim{}
	u.mustRead(claim, "full-pvc")
	if *claim.Spec.StorageClassName != "slow" || claim.Spec.Resources.Requests.Storage().String() != "20Gi" {
		u.t.Errorf("the claim changed: %+v", claim.Spec)
	}
}

func (u *upgraded) checkScalingAndNetwork() {
	u.t.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	u.mustRead(hpa, "full-hpa")
	if *hpa.Spec.MinReplicas != 2 || hpa.Spec.MaxReplicas != 4 || hpa.Spec.ScaleTargetRef.Name != "full" || len(hpa.Spec.Metrics) != 1 ||
		*hpa.Spec.Metrics[0].Resource.Target.AverageUtilization != 70 || hpa.Spec.Behavior != nil && hpa.Spec.Behavior.ScaleDown.StabilizationWindowSeconds != nil {
		u.t.Errorf("the autoscaler is %+v", hpa.Spec)
	}
	pdb := &policyv1.PodDisruptionBudget{}
	u.mustRead(pdb, "full-pdb")
	if pdb.Spec.MinAvailable.IntValue() != 1 || pdb.Spec.MaxUnavailable != nil || pdb.Spec.UnhealthyPodEvictionPolicy != nil {
		u.t.Errorf("the budget is %+v", pdb.Spec)
	}
	policy := &networkingv1.NetworkPolicy{}
	u.mustRead(policy, "full-network-policy")
	if text := fmt.Sprintf("%+v", policy.Spec.Ingress); len(policy.Spec.Ingress) != 1 || !strings.Contains(text, "friends") || !strings.Contains(text, "team/friends") ||
		!strings.Contains(text, operatorNamespace) || len(policy.Spec.Ingress[0].Ports) != 1 {
		u.t.Errorf("the policy is %s", text)
	}
	ingress := &networkingv1.Ingress{}
	u.mustRead(ingress, "full-ingress")
	if to := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service; to.Name != "full-service" || to.Port != (networkingv1.ServiceBackendPort{Name: "http"}) {
		u.t.Errorf("the Ingress leads to %+v", to)
	}
	service := &corev1.Service{}
	u.mustRead(service, "full-service")
	if p := service.Spec.Ports; len(p) != 1 || p[0].Port != 8400 || p[0].TargetPort.IntVal != 8400 {
		u.t.Errorf("the Service has the ports %+v", p)
	}
}

// checkPods compares the pods with what the resource says in v1alpha1, what v1alpha2 cannot say included.
func (u *upgraded) checkPods(d *appsv1.Deployment) {
	u.t.Helper()
	pod := d.Spec.Template.Spec
	server := pod.Containers[0]
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 1 || pod.InitContainers[0].Name != "trust" || server.Name != "main" || *pod.TerminationGracePeriodSeconds != 90 ||
		server.Ports[0].ContainerPort != 8400 || server.Resources.Requests.Memory().String() != "2Gi" || d.Spec.Template.Annotations["release"] != "" ||
		len(pod.TopologySpreadConstraints) != 1 || pod.ServiceAccountName != "full-sa" {
		u.t.Errorf("the pods are %+v", pod)
	}
	values := map[string]string{}
	for _, v := range server.Env {
		values[v.Name] = v.Value
	}
	_, old := values["OLD_VARIABLE"]
	if old || values["VLLM_URL"] == "" || values["HF_HOME"] != "/data" || values["SSL_CERT_FILE"] == "" {
		u.t.Errorf("the environment is %v", values)
	}
	mounts := map[string]string{}
	for _, m := range server.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	if mounts["/data"] != "lls-storage" || mounts["/scratch"] != "scratch" || mounts["/etc/llama-stack"] != "user-config" || mounts["/etc/ssl/old"] != "" {
		u.t.Errorf("mounted are %v", mounts)
	}
	var got, want map[string]any
	for text, into := range map[string]*map[string]any{u.mounted(d, "user-config", "config.yaml"): &got, u.shared("mine")["config.yaml"]: &want} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			u.t.Fatalf("%v:\n%s", err, text)
		}
	}
	want["server"] = map[string]any{"workers": float64(2)} // of the resource: release 0.9 passed it on the command line
	if diff := cmp.Diff(want, got); diff != "" {
		u.t.Errorf("the configuration (-want +got):\n%s", diff)
	}
	bundle := u.shared("trusted-ca")
	if got, want := u.mounted(d, "ca-bundle", "ca-bundle.crt"), bundle["b.crt"]+bundle["a.crt"]; got != want {
		u.t.Errorf("the CA certificates are\n%s, want\n%s", got, want)
	}
}

// Proves: R21, L-04 (what release 0.9 made is taken over where its Deployment is gone).
func TestUpgradeWithoutDeployment(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	uids := e.release09(oldImage)
	if err := admin.Delete(t.Context(), e.deployment("old"), client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, time.Minute, "the Deployment is gone", func() error {
		if err := e.get(&appsv1.Deployment{}, "old"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	e.startOperator(operatorOptions{})
	e.waitReady("old")
	service, claim := &corev1.Service{}, &corev1.PersistentVolumeClaim{}
	if err := e.get(service, "old-service"); err != nil || service.UID != uids["Service"] || service.Labels["release"] != "" {
		t.Errorf("the Service: %v, %+v", err, service.ObjectMeta)
	}
	if err := e.get(claim, "old-pvc"); err != nil || claim.UID != uids["PersistentVolumeClaim"] || *claim.Spec.StorageClassName != "slow" {
		t.Errorf("the claim: %v, %+v", err, claim)
	}
	if err := e.get(&rbacv1.RoleBinding{}, "old-rb"); !apierrors.IsNotFound(err) {
		t.Errorf("the RoleBinding is still there: %v", err)
	}
}
