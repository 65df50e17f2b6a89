// SPDX-License-Identifier: Apache-2.0

package downgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	stepTimeout = 2 * time.Minute
	interval    = 500 * time.Millisecond

	operatorDeployment = "llama-stack-k8s-operator-controller-manager"
	operatorLease      = "54e06e98.llamastack.io"
)

// Options configure Prepare.
type Options struct {
	// OperatorNamespace is the operator's namespace.
	OperatorNamespace string
	// Progress receives a message for each step.
	Progress io.Writer
}

type preparation struct {
	Options
	client.Client
	discovery rest.Interface
}

// Prepare makes the cluster ready for the manifest of release 0.9.
func Prepare(ctx context.Context, config *rest.Config, o Options) error {
	p, err := newPreparation(config, o)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		p.storeV1alpha1,
		p.stopOperator,
		p.removeAdmission,
		p.dropV1alpha2,
		p.handOver,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	p.progress("done: apply the manifest of release 0.9")
	return nil
}

func newPreparation(config *rest.Config, o Options) (*preparation, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	discovery := rest.CopyConfig(config)
	discovery.GroupVersion, discovery.APIPath = &schema.GroupVersion{}, "/"
	discovery.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	d, err := rest.RESTClientFor(discovery)
	if err != nil {
		return nil, err
	}
	return &preparation{Options: o, Client: c, discovery: d}, nil
}

func (p *preparation) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Progress, format+"\n", args...)
}

// poll polls a check; its error includes the last one of the check.
func poll(ctx context.Context, step string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, stepTimeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", step, errors.Join(last, err))
	}
	return nil
}

// stopOperator scales the operator to zero and waits until its Lease is free. A running operator would adopt the
// objects again.
func (p *preparation) stopOperator(ctx context.Context) error {
	key := client.ObjectKey{Namespace: p.OperatorNamespace, Name: operatorDeployment}
	d := &appsv1.Deployment{}
	switch err := p.Get(ctx, key, d); {
	case apierrors.IsNotFound(err):
		p.progress("the operator's Deployment %s does not exist", key)
	case err != nil:
		return fmt.Errorf("read the operator's Deployment: %w", err)
	case ptr.Deref(d.Spec.Replicas, 1) > 0:
		if err := p.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))); err != nil {
			return fmt.Errorf("scale the operator to zero: %w", err)
		}
	}
	if d.Spec.Selector != nil {
		err := poll(ctx, "waiting for the operator's pods to end", func(ctx context.Context) error {
			pods := &corev1.PodList{}
			if err := p.List(ctx, pods, client.InNamespace(key.Namespace),
				client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
				return err
			}
			if len(pods.Items) > 0 {
				return fmt.Errorf("%d are there", len(pods.Items))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	p.progress("the operator is stopped")
	return poll(ctx, "waiting for the operator's Lease to expire", p.checkLease)
}

// checkLease returns an error while an operator holds the Lease.
func (p *preparation) checkLease(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.OperatorNamespace, Name: operatorLease}, lease)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" || lease.Spec.RenewTime == nil {
		return nil
	}
	expiry := lease.Spec.RenewTime.Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second)
	if time.Now().Before(expiry) {
		return fmt.Errorf("%s holds the Lease %s: stop it", *lease.Spec.HolderIdentity, operatorLease)
	}
	return nil
}

func (p *preparation) removeAdmission(ctx context.Context) error {
	for kind, name := range map[string]string{
		"ValidatingWebhookConfiguration":   "llama-stack-k8s-operator-validating-webhook-configuration",
		"ValidatingAdmissionPolicyBinding": "llama-stack-k8s-operator-spec",
		"ValidatingAdmissionPolicy":        "llama-stack-k8s-operator-spec",
	} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		o.SetName(name)
		if err := client.IgnoreNotFound(p.Delete(ctx, o)); err != nil {
			return fmt.Errorf("remove the %s %s: %w", kind, name, err)
		}
	}
	p.progress("the validating webhook and the admission policy are removed")
	return nil
}
