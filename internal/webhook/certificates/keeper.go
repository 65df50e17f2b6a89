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

// SecretName is the name of the Secret that holds the certificate, in the operator's namespace.
const SecretName = "llama-stack-operator-webhook-cert"

// lookPeriod is how often a pass is made where nothing happens: a clock that jumps ends no wait.
const lookPeriod = time.Minute

// writeBurst is how many writes follow each other without a pause: replacing everything takes one, a rotation three.
const writeBurst = 5

// Keeper keeps the certificate. See the package comment.
type Keeper struct {
	// Reader reads the Secret, the CRD and the webhook configuration; it may lag behind. Client asks the API server
	// itself.
	Reader client.Reader
	Client client.Client
	// Namespace is the operator's own.
	Namespace string
	// Managed says that the operator makes the certificates. Otherwise someone else writes the Secret and the CA bundles.
	Managed   bool
	Lifetimes Lifetimes
	// Served gets what is to be served.
	Served *Served

	// now is this machine's clock; nil means the real one.
	now func() time.Time
	// writes limits how often the Secret is written.
	writes *rate.Limiter
}

// controller-gen reads these only where they stand apart.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=llamastackdistributions.llamastack.io,verbs=list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=llama-stack-k8s-operator-validating-webhook-configuration,verbs=list;watch;patch

// Reconcile makes one pass: it serves what the Secret holds, brings about what is due, and injects it.
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
	if err != nil || len(found) == 0 { // nobody asks for a certificate yet; a target that appears wakes us
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
	if decision.Did != "" {
		if wait := k.wait(); wait > 0 {
			logf.FromContext(ctx).Info("webhook certificates: written too often, waiting", "next", decision.Did, "wait", wait)
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
	return reconcile.Result{RequeueAfter: min(max(decision.Wake.Sub(facts.Now), time.Second/10), lookPeriod)}, nil
}

// decide decides by this machine's clock. If something is due, it decides again by that of the API server, which checks
// the certificate: a replica whose clock is wrong must not make one that the API server refuses.
func (k *Keeper) decide(ctx context.Context, f *Facts) (Decision, error) {
	decision, err := Next(*f)
	if err == nil && decision.Did == "" {
		return decision, nil
	}
	review := &authenticationv1.SelfSubjectReview{}
	if k.Client.Create(ctx, review) != nil || review.CreationTimestamp.IsZero() {
		return decision, err
	}
	f.Now = review.CreationTimestamp.Time
	return Next(*f)
}

// wait is how long the next write must wait; zero counts as the write. Two writers that each find unusable what the
// other one wrote must not take turns at full speed.
func (k *Keeper) wait() time.Duration {
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

// read returns the Secret, an empty one where there is none.
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

// write writes what was decided, and reports whether it was this replica that did. Where another one was faster, its
// write wakes us.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, d Decision) (bool, error) {
	// Other content of the Secret is someone else's.
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
	logf.FromContext(ctx).Info("webhook certificates: " + d.Did)
	return true, nil
}

// inject writes the CA bundle into the CRD and the webhook configuration that do not have it.
func (k *Keeper) inject(ctx context.Context, found []target, secret *corev1.Secret, caBundle []byte) error {
	found = slices.DeleteFunc(found, func(d target) bool { return d.trusts(caBundle) })
	if len(found) == 0 {
		return nil
	}
	// Another replica may have injected a newer list already: a target that it wrote can get here before its Secret.
	live := &corev1.Secret{}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(secret), live)
	if err == nil && live.ResourceVersion != secret.ResourceVersion || apierrors.IsNotFound(err) {
		return nil // that change wakes us
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
		logf.FromContext(ctx).Info("webhook certificates: injected the CA bundle", "kind", patch.GetKind(), "name",
			patch.GetName())
	}
	return errors.Join(failed...)
}

// Trusted returns nil if the CustomResourceDefinition trusts the certificate that is served, so that API servers can
// ask for conversion. The ValidatingWebhookConfiguration has no say in it: requests that do not reach its webhooks are
// admitted.
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
	// The time is not checked: only the API server's clock counts, and the certificate is the same in all replicas.
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
