// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const testNamespace = "ns"

func crd(namespace string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: CRDName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: namespace, Name: "hook"}},
			},
		}},
	}
}

func validation(namespaces ...string) *admissionv1.ValidatingWebhookConfiguration {
	v := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ValidationName}}
	for _, n := range namespaces {
		v.Webhooks = append(v.Webhooks, admissionv1.ValidatingWebhook{
			Name:         n + ".llamastack.io",
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: n, Name: "hook"}},
		})
	}
	return v
}

type world struct {
	t      *testing.T
	client client.Client
	writes []string
	// serverTime is the API server's clock; nil means that responses have no time.
	serverTime func() time.Time
	// beforeWrite runs once, before the first write of a Secret.
	beforeWrite func()
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, serverTime: time.Now}
	secretWrite := func(verb string) {
		w.writes = append(w.writes, verb+" Secret")
		if first := w.beforeWrite; first != nil {
			w.beforeWrite = nil
			first()
		}
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				if w.serverTime == nil {
					return errors.New("no answer")
				}
				review.CreationTimestamp = metav1.NewTime(w.serverTime())
				return nil
			}
			secretWrite("create")
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			secretWrite("update")
			return c.Update(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			kind := o.(interface{ GetKind() string }).GetKind()
			w.writes = append(w.writes, "apply "+kind)
			if kind != "CustomResourceDefinition" {
				return c.Apply(ctx, o, opts...)
			}
			// The fake, unlike a server, treats required fields that the patch lacks as empty.
			text, err := json.Marshal(o)
			if err != nil {
				return err
			}
			return c.Patch(ctx, crd(testNamespace), client.RawPatch(types.MergePatchType, text))
		},
	}).Build()
	return w
}

func (w *world) keeper() *Keeper {
	return &Keeper{Reader: w.client, Client: w.client, Namespace: testNamespace, Managed: true, Lifetimes: DefaultLifetimes(), Served: &ServingCertificate{}}
}

func (w *world) reconcile(k *Keeper) reconcile.Result {
	w.t.Helper()
	result, err := k.Reconcile(w.t.Context(), reconcile.Request{})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) secret() *corev1.Secret {
	w.t.Helper()
	s := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: SecretName}, s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// injected returns the CA bundles of the CRD and the webhook configuration, in this order.
func (w *world) injected() [][]byte {
	w.t.Helper()
	c, v := &apiextensionsv1.CustomResourceDefinition{}, &admissionv1.ValidatingWebhookConfiguration{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: CRDName}, c); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: ValidationName}, v); err != nil {
		w.t.Fatal(err)
	}
	lists := [][]byte{c.Spec.Conversion.Webhook.ClientConfig.CABundle}
	for i := range v.Webhooks {
		lists = append(lists, v.Webhooks[i].ClientConfig.CABundle)
	}
	return lists
}

// Proves: L-27 (the CRD and the webhook configuration get the CA bundle, and a second reconcile writes nothing).
func TestKeeperCreatesAndInjectsCertificate(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace, "other"))
	k := w.keeper()
	w.reconcile(k)
	w.reconcile(k)
	if result := w.reconcile(k); result.RequeueAfter != resyncPeriod {
		t.Errorf("the next pass is in %s: a clock that jumps would not be noticed", result.RequeueAfter)
	}
	want := []string{"create Secret", "apply CustomResourceDefinition", "apply ValidatingWebhookConfiguration"}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	secret := w.secret()
	if secret.Type != corev1.SecretTypeTLS {
		t.Errorf("the Secret is of type %s", secret.Type)
	}
	for i, list := range w.injected() {
		if other := i == 2; bytes.Equal(list, secret.Data[keyCABundle]) == other {
			t.Errorf("target %d has the CA bundle %q; the Secret %q", i, list, secret.Data[keyCABundle])
		}
	}
	if err := k.Trusted(t.Context()); err != nil {
		t.Error(err)
	}
	if c, err := k.Served.GetCertificate(nil); err != nil || c.Leaf.VerifyHostname("hook.ns.svc") != nil {
		t.Errorf("served %+v, %v", c, err)
	}
}

// Proves: R71, L-27 (the CRD trusts the serving certificate, whatever the webhook configuration and the local clock).
func TestTrusted(t *testing.T) {
	long := epoch.Add(-20 * 365 * day)
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	w.serverTime = func() time.Time { return long }
	k := w.keeper()
	if err := k.Trusted(t.Context()); err == nil || !strings.Contains(err.Error(), "no caBundle") {
		t.Errorf("before a CA bundle is there: %v", err)
	}
	w.reconcile(k)
	other := validation(testNamespace)
	if err := w.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	other.Webhooks[0].ClientConfig.CABundle = []byte("broken")
	if err := errors.Join(w.client.Create(t.Context(), other), k.Trusted(t.Context())); err != nil {
		t.Error(err)
	}
	good := crd(testNamespace)
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(good), good); err != nil {
		t.Fatal(err)
	}
	stranger, err := Next(Facts{Now: epoch, Names: []string{"hook.ns.svc"}, Lifetimes: DefaultLifetimes()})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*apiextensionsv1.WebhookClientConfig){
		"certificate signed by unknown authority": func(c *apiextensionsv1.WebhookClientConfig) { c.CABundle = stranger.Data[keyCABundle] },
		"not other.ns.svc":                        func(c *apiextensionsv1.WebhookClientConfig) { c.Service.Name = "other" },
	} {
		bad := good.DeepCopy()
		change(bad.Spec.Conversion.Webhook.ClientConfig)
		if err := w.client.Update(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		good.ResourceVersion = bad.ResourceVersion
		if err := k.Trusted(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := w.client.Delete(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if err := k.Trusted(t.Context()); err == nil || !strings.Contains(err.Error(), CRDName) {
		t.Errorf("without the CRD: %v", err)
	}
}

// Proves: R71.
func TestKeeperIgnoresWebhooksOfImpossibleServices(t *testing.T) {
	broken := validation(testNamespace, testNamespace)
	broken.Webhooks[0].ClientConfig.Service.Name = "höök"
	broken.Webhooks[1].Name = "good.llamastack.io"
	w := newWorld(t, crd(testNamespace), broken)
	k := w.keeper()
	w.reconcile(k)
	want := w.secret().Data[keyCABundle]
	for i, list := range w.injected() {
		if impossible := i == 1; bytes.Equal(list, want) == impossible {
			t.Errorf("target %d has the CA bundle %q; the Secret %q", i, list, want)
		}
	}
	if c, err := k.Served.GetCertificate(nil); err != nil || c.Leaf.VerifyHostname("hook.ns.svc") != nil {
		t.Errorf("served %+v, %v", c, err)
	}
}

// Proves: L-27 (certificates from a clock that was ahead are replaced at once, with one write).
func TestKeeperReplacesCertificatesFromTheFuture(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	now := epoch.Add(3 * time.Hour)
	w.serverTime = func() time.Time { return now }
	k := w.keeper()
	k.now = w.serverTime
	w.reconcile(k)
	w.reconcile(k)
	now = epoch
	w.writes = nil
	for range 20 {
		w.reconcile(k)
	}
	want := []string{"update Secret", "apply CustomResourceDefinition", "apply ValidatingWebhookConfiguration"}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	served, err := k.Served.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.injected()[0])
	if _, err := served.Leaf.Verify(x509.VerifyOptions{DNSName: "hook.ns.svc", Roots: roots, CurrentTime: epoch}); err != nil {
		t.Error(err)
	}
}

// Proves: L-27 (a wrong local clock replaces nothing valid, and new certificates are valid by the server's clock).
func TestKeeperDecidesByTheClockOfTheAPIServer(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, -time.Hour, 365 * day, -365 * day, 20 * 365 * day} {
		w := newWorld(t, crd(testNamespace), validation(testNamespace))
		w.serverTime = func() time.Time { return epoch }
		k := w.keeper()
		k.now = func() time.Time { return epoch.Add(wrong) }
		for range 3 {
			w.reconcile(k)
		}
		if want := []string{"create Secret", "apply CustomResourceDefinition", "apply ValidatingWebhookConfiguration"}; !slices.Equal(w.writes, want) {
			t.Errorf("%s: writes %v", wrong, w.writes)
		}
		if leaf := k.Served.current.Load().Leaf; !validAt(epoch, leaf) {
			t.Errorf("%s: valid from %s to %s", wrong, leaf.NotBefore, leaf.NotAfter)
		}
	}
}

// Proves: L-27 (replicas with clocks years apart and no server time reject each other's certificates, and back off).
func TestKeepersThatDisagreeBackOff(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	w.serverTime = nil
	ahead, behind := w.keeper(), w.keeper()
	ahead.now, behind.now = func() time.Time { return epoch.Add(20 * 365 * day) }, func() time.Time { return epoch }
	var wait time.Duration
	for range 50 {
		wait = max(w.reconcile(ahead).RequeueAfter, w.reconcile(behind).RequeueAfter)
	}
	if n := len(slices.DeleteFunc(slices.Clone(w.writes), func(s string) bool { return !strings.HasSuffix(s, "Secret") })); n > 2*writeBurst {
		t.Errorf("%d writes of the Secret in no time", n)
	}
	if wait < DefaultLifetimes().WritePeriod/2 {
		t.Errorf("the next pass is in %s", wait)
	}
}

// Proves: L-27 (a replaced CRD gets the CA bundle again).
func TestKeeperInjectsAgain(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	k := w.keeper()
	w.reconcile(k)
	replaced := crd(testNamespace)
	old := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(replaced), old); err != nil {
		t.Fatal(err)
	}
	old.Spec = replaced.Spec
	if err := w.client.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := k.Trusted(t.Context()); err == nil {
		t.Error("it does not notice that no caBundle is there")
	}
	w.reconcile(k)
	if !bytes.Equal(w.injected()[0], w.secret().Data[keyCABundle]) {
		t.Error("the CA bundle did not come back")
	}
}

// Proves: L-27 (one of two concurrent writes wins, and the other replica uses its content).
func TestTwoKeepers(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	first, second := w.keeper(), w.keeper()
	w.beforeWrite = func() { w.reconcile(second) } // between the first one's read and write
	w.reconcile(first)
	winner := w.secret()
	if c, _ := first.Served.GetCertificate(nil); c != nil {
		t.Error("the loser serves a certificate that is not in the Secret")
	}
	w.reconcile(first)
	a, _ := first.Served.GetCertificate(nil)
	b, _ := second.Served.GetCertificate(nil)
	if a == nil || b == nil || !a.Leaf.Equal(b.Leaf) || w.secret().ResourceVersion != winner.ResourceVersion {
		t.Errorf("they serve %v and %v", a, b)
	}

	// An existing Secret is decided by its resourceVersion.
	damaged := w.secret()
	damaged.Data[keyServing] = []byte("damaged")
	if err := w.client.Update(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	w.beforeWrite = func() { w.reconcile(second) }
	w.reconcile(first)
	w.reconcile(first)
	a, _ = first.Served.GetCertificate(nil)
	b, _ = second.Served.GetCertificate(nil)
	if !a.Leaf.Equal(b.Leaf) {
		t.Error("they serve different certificates")
	}
}

// A replica with stale reads must not inject a replaced CA bundle.
func TestLaggingKeeperInjectsNothing(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	k := w.keeper()
	w.reconcile(k)
	stale := &staleSecret{Client: w.client, secret: w.secret()}
	if err := w.client.Delete(t.Context(), w.secret()); err != nil {
		t.Fatal(err)
	}
	w.reconcile(k) // another CA, which is injected
	touched := w.secret()
	touched.Labels = map[string]string{"a": "b"} // the fake, unlike a server, can reuse a resourceVersion for a new object
	if err := w.client.Update(t.Context(), touched); err != nil {
		t.Fatal(err)
	}
	want := w.injected()
	lagging := w.keeper()
	lagging.Reader = stale
	w.reconcile(lagging)
	if diff := cmp.Diff(want, w.injected()); diff != "" {
		t.Errorf("an old list was injected:\n%s", diff)
	}
}

type staleSecret struct {
	client.Client
	secret *corev1.Secret
}

func (s *staleSecret) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if secret, ok := o.(*corev1.Secret); ok {
		s.secret.DeepCopyInto(secret)
		return nil
	}
	return s.Client.Get(ctx, key, o, opts...)
}

// Proves: L-34 (with external certificates the operator only reads).
func TestKeeperThatDoesNotManage(t *testing.T) {
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	k := w.keeper()
	k.Managed = false
	w.reconcile(k)
	made := mustNext(t, Facts{Now: time.Now(), Names: []string{"hook.ns.svc"}})
	delete(made.Data, keyCAKey)
	delete(made.Data, keyCABundle) // OpenShift writes none
	err := w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: SecretName}, Data: made.Data})
	if err != nil {
		t.Fatal(err)
	}
	w.writes = nil
	w.reconcile(k)
	if _, err := k.Served.GetCertificate(nil); err != nil {
		t.Error(err)
	}
	if len(w.writes) != 0 {
		t.Errorf("it wrote: %v", w.writes)
	}
}

// Objects that are being deleted, lack a conversion or have another target get no CA bundle.
func TestKeeperWithoutTargets(t *testing.T) {
	leaving := crd(testNamespace)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: epoch}, []string{"x"}
	none := crd(testNamespace)
	none.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	for name, objects := range map[string][]client.Object{
		"none": nil, "elsewhere": {crd("other"), validation("other")}, "being deleted": {leaving}, "without conversion": {none},
	} {
		w := newWorld(t, objects...)
		k := w.keeper()
		if result := w.reconcile(k); result != (reconcile.Result{}) || len(w.writes) != 0 {
			t.Errorf("%s: %+v, writes %v", name, result, w.writes)
		}
		if err := k.Trusted(t.Context()); err == nil {
			t.Errorf("%s: an object trusts it", name)
		}
	}
}

// Proves: R7.
func TestKeeperLogsNoKey(t *testing.T) {
	var text bytes.Buffer
	log := funcr.New(func(prefix, args string) { text.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10})
	ctx := logf.IntoContext(t.Context(), log)
	w := newWorld(t, crd(testNamespace), validation(testNamespace))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, SecretName, nil)
	k := w.keeper()
	k.Client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return forbidden },
	})
	tell := func() {
		if _, err := k.Reconcile(ctx, reconcile.Request{}); err != nil {
			text.WriteString(err.Error())
		}
	}
	tell()
	secret := w.secret()
	keys := [][]byte{secret.Data[keyCAKey], secret.Data[keyServingKey]}
	secret.Data[keyServing] = []byte("damaged")
	if err := w.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	tell()
	k.Managed = false
	tell()
	if text.Len() == 0 {
		t.Fatal("it told nothing")
	}
	for _, key := range slices.Concat(keys, slices.Collect(maps.Values(map[string][]byte{"tag": []byte("PRIVATE")}))) {
		if lines := bytes.Split(key, []byte("\n")); bytes.Contains(text.Bytes(), lines[min(1, len(lines)-1)]) {
			t.Errorf("a key stands in:\n%s", text.String())
		}
	}
}
