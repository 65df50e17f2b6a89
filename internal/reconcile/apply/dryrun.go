// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// dryRun asks the API server whether quotas, policies and webhooks accept the changes. It skips the first one, whose
// refusal changes nothing, unless it is a Deployment that may lose fields.
func (a *Applier) dryRun(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, changes []*change,
	result *Result) *problem.Problem {
	edit := slices.ContainsFunc(changes, func(c *change) bool { return c.live != nil })
	for i, c := range changes {
		passes := passesThrough(owner, c)
		if i == 0 && (!passes || c.gvk.Kind != "Deployment") || !edit && !passes {
			continue
		}
		err := a.dryRunOne(ctx, owner, c)
		switch {
		case c.live == nil && apierrors.IsAlreadyExists(err): // new custom resources are not looked up first
			if _, p := a.existing(ctx, owner, c, result); p != nil {
				return p
			}
		case err == nil, apierrors.IsBadRequest(err) && strings.HasSuffix(err.Error(),
			"does not support dry run"): // a webhook with side effects
		case c.gvk.Kind == "Service" && c.live != nil && apierrors.IsInvalid(err) &&
			!deniedByOthers(err): // foreign ports, which write resets
		default:
			return refused(owner, c, err)
		}
	}
	return nil
}

func (a *Applier) dryRunOne(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, c *change) error {
	answer, strict := c.DeepCopy(), c.gvk.Kind == "Deployment" && passesThrough(owner, c)
	var err error
	switch {
	case c.live != nil:
		err = a.send(ctx, answer, client.DryRunAll)
	case strict:
		// A tree makes the API server refuse unknown fields, as an apply does; typed objects would drop them silently.
		err = a.Client.Create(ctx, answer, client.DryRunAll, client.FieldOwner(FieldManager),
			client.FieldValidation(metav1.FieldValidationStrict))
	default:
		err = a.Client.Create(ctx, c.new(), client.DryRunAll, client.FieldOwner(FieldManager))
	}
	if err == nil && strict {
		err = leftOut(owner, c, answer)
	}
	return err
}

// passesThrough reports whether the object contains values of the spec, for which a dry run pays.
func passesThrough(owner *v1alpha2.LlamaStackDistribution, c *change) bool {
	if c.gvk.Kind == "Deployment" {
		return owner.Spec.Workload != nil
	}
	return fieldsOfKinds[c.gvk.Kind] != "" && c.gvk.Kind != "Service"
}

// fieldsOfKinds is the field of the spec that determines an object, by kind.
var fieldsOfKinds = map[string]string{
	"PersistentVolumeClaim":   "spec.workload.storage",
	"NetworkPolicy":           "spec.networking.allowedFrom",
	"PodDisruptionBudget":     "spec.workload.podDisruptionBudget",
	"HorizontalPodAutoscaler": "spec.workload.autoscaling",
	"Service":                 "spec.networking.port",
	"Ingress":                 "spec.networking.expose",
	"Route":                   "spec.networking.expose",
	"HTTPRoute":               "spec.networking.expose",
}

// refused returns the problem of an object that the API server refuses, at the causing field of the spec if known.
func refused(owner *v1alpha2.LlamaStackDistribution, c *change, err error) *problem.Problem {
	p := Failed(c.what(), "could not be applied", err)
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !deniedByOthers(err) && !unknownField(err) &&
		!isLeftOut(err) {
		return p
	}
	switch {
	case unknownField(err):
		p.Fix = "remove the field, or upgrade the cluster to a Kubernetes that has it"
	case isLeftOut(err):
		p.Fix = "remove the field, or turn its feature gate on in the cluster"
	}
	if c.gvk.Kind == "PersistentVolumeClaim" && c.live != nil && !deniedByOthers(err) {
		p.Reason, p.Class = problem.ObjectRejected, problem.Terminal
		p.Fix = "a PVC cannot shrink, and grows only where its storage class allows it: set spec.workload.storage.size to " +
			"what it was, or move the data to a new custom resource"
	}
	from := refusedField(owner, c, err)
	if from == "" && passesThrough(owner, c) { // the refused value is unknown
		from = "spec.workload"
	}
	if from != "" {
		p.Path, p.Detail = from, p.Path+" "+p.Detail
	}
	return p
}
