// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// SecretName is the name of the certificate Secret in the operator's namespace.
const SecretName = "llama-stack-operator-webhook-cert"

// resyncPeriod is the longest time between two reconciles, so that a clock jump cannot delay a renewal.
const resyncPeriod = time.Minute

// writeBurst is the number of writes allowed without a pause; a full rotation needs three.
const writeBurst = 5

// Keeper reconciles the certificate Secret, the CRD and the webhook configuration.
type Keeper struct {
	// Reader reads from the cache, Client from the API server.
	Reader client.Reader
	Client client.Client
	// Namespace is the operator's namespace.
	Namespace string
	// Managed reports whether the operator issues the certificates; otherwise cert-manager or OpenShift does.
	Managed   bool
	Lifetimes Lifetimes
	// Served receives the certificate to serve.
	Served *ServingCertificate

	// now replaces time.Now in tests.
	now    func() time.Time
	writes *rate.Limiter
}

// controller-gen reads these markers only if a blank line follows.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=llamastackdistributions.llamastack.io,verbs=list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=llama-stack-k8s-operator-validating-webhook-configuration,verbs=list;watch;patch

// Reconcile serves the Secret, renews certificates that are due, and injects the CA bundle.
func (k *Keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret, err := k.read(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !k.Managed {
		if len(secret.Data) == 0 { // its creation triggers the next reconcile
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, k.Served.set(secret.Data)
	}
	found, err := targets(ctx, k.Reader, k.Namespace)
	if err != nil || len(found) == 0 { // a new target triggers the next reconcile
		return reconcile.Result{}, err
	}
	facts := Facts{
		Now: time.Now(), Data: secret.Data, Names: names(found), Lifetimes: k.Lifetimes,
		Injected: !slices.ContainsFunc(found, func(d target) bool { return !d.trusts(secret.Data[keyCABundle]) }),
	}
	if k.now != nil {
		facts.Now = k.now()
	}
	decision, err := k.decide(ctx, &facts)
	if err != nil {
		return reconcile.Result{}, err
	}
	if decision.Change != "" {
		if wait := k.throttle(); wait > 0 {
			logf.FromContext(ctx).Info("webhook certificates change too often, waiting", "next", decision.Change, "wait", wait)
			return reconcile.Result{RequeueAfter: wait}, k.Served.set(secret.Data)
		}
		if written, err := k.write(ctx, secret, decision); err != nil || !written {
			return reconcile.Result{}, err
		}
	}
	if err := k.Served.set(decision.Data); err != nil {
		return reconcile.Result{}, err
	}
	if err := k.inject(ctx, found, secret, decision.Data[keyCABundle]); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: min(max(decision.NextAt.Sub(facts.Now), time.Second/10), resyncPeriod)}, nil
}

// decide returns the next step by the local clock. A step that is due is confirmed with the API server's clock, because
// the API server verifies the certificate.
func (k *Keeper) decide(ctx context.Context, f *Facts) (Decision, error) {
	decision, err := Next(*f)
	if err == nil && decision.Change == "" {
		return decision, nil
	}
	review := &authenticationv1.SelfSubjectReview{}
	if k.Client.Create(ctx, review) != nil || review.CreationTimestamp.IsZero() {
		return decision, err
	}
	f.Now = review.CreationTimestamp.Time
	return Next(*f)
}

// throttle returns how long to delay the next write, and reserves the write if it returns zero. It stops two replicas
// from overwriting each other's certificates at full speed.
func (k *Keeper) throttle() time.Duration {
	if k.writes == nil {
		k.writes = rate.NewLimiter(rate.Every(k.Lifetimes.WritePeriod), writeBurst)
	}
	r := k.writes.Reserve()
	wait := r.Delay()
	if wait > 0 {
		r.Cancel()
	}
	return wait
}

// read returns the Secret, or an empty one if it does not exist.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := k.Reader.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: SecretName}, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: SecretName}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("webhook certificate in Secret %s: %w", SecretName, err)
	}
	return secret.DeepCopy(), nil
}

// write writes the decided data to the Secret. It returns false on a conflict: the other replica's write triggers the
// next reconcile.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, d Decision) (bool, error) {
	// Keep other keys of the Secret.
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, d.Data)
	var err error
	if secret.ResourceVersion == "" {
		secret.Type = corev1.SecretTypeTLS
		err = k.Client.Create(ctx, secret)
	} else {
		err = k.Client.Update(ctx, secret)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("webhook certificate in Secret %s: %w", SecretName, err)
	}
	logf.FromContext(ctx).Info("changed the webhook certificates", "change", d.Change)
	return true, nil
}

// inject applies the CA bundle to the targets that do not have it yet.
func (k *Keeper) inject(ctx context.Context, found []target, secret *corev1.Secret, caBundle []byte) error {
	found = slices.DeleteFunc(found, func(d target) bool { return d.trusts(caBundle) })
	if len(found) == 0 {
		return nil
	}
	// Another replica may have injected a newer bundle before its Secret reached this cache.
	live := &corev1.Secret{}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(secret), live)
	if err == nil && live.ResourceVersion != secret.ResourceVersion || apierrors.IsNotFound(err) {
		return nil // that change triggers the next reconcile
	}
	if err != nil {
		return fmt.Errorf("webhook certificate in Secret %s: %w", SecretName, err)
	}
	var failed []error
	for _, d := range found {
		patch := d.patch(caBundle)
		if err := k.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), client.ForceOwnership,
			client.FieldOwner(fieldManager)); err != nil {
			failed = append(failed, fmt.Errorf("%s %s: %w", patch.GetKind(), patch.GetName(), err))
			continue
		}
		logf.FromContext(ctx).Info("injected the CA bundle", "kind", patch.GetKind(), "name",
			patch.GetName())
	}
	return errors.Join(failed...)
}

// Trusted returns nil if the CRD's CA bundle verifies the serving certificate, so that API servers can convert. The
// ValidatingWebhookConfiguration does not count: requests that cannot reach the webhook are admitted.
func (k *Keeper) Trusted(ctx context.Context) error {
	d, err := conversionTarget(ctx, k.Reader, k.Namespace)
	if err != nil {
		return err
	}
	if d == nil {
		return fmt.Errorf("CustomResourceDefinition %s does not exist, or does not send conversion to a Service of "+
			"namespace %s",
			CRDName, k.Namespace)
	}
	if len(d.trusted[0]) == 0 {
		return fmt.Errorf("CustomResourceDefinition %s has no caBundle for %s yet", CRDName, d.names[0])
	}
	served, err := k.Served.GetCertificate(nil)
	if err != nil {
		return err
	}
	roots, chain := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(d.trusted[0])
	for _, der := range served.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain.AddCert(c)
		}
	}
	// Do not check the time: only the API server's clock counts.
	leaf := served.Leaf
	_, err = leaf.Verify(x509.VerifyOptions{
		DNSName: d.names[0], Roots: roots, Intermediates: chain,
		CurrentTime: leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2),
	})
	return err
}

func names(found []target) []string {
	var all []string
	for _, d := range found {
		all = append(all, d.names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
