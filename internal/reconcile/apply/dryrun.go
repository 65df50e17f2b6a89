// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// isUpdate reports whether one of the objects exists.
func isUpdate(changes []*change) bool {
	return slices.ContainsFunc(changes, func(c *change) bool { return c.live != nil })
}

// isNameTaken reports whether the status has a conflict of names, so that a creation would fail again.
func isNameTaken(owner *v1alpha2.LlamaStackDistribution) bool {
	c := meta.FindStatusCondition(owner.Status.Conditions, v1alpha2.ConditionDeploymentUpdated)
	return c != nil && (c.Reason == string(problem.Conflict) || c.Reason == string(problem.WaitingForRemoval))
}

// dryRun checks whether quotas, policies and webhooks accept the changes. It skips the first one, whose
// refusal changes nothing, unless it is a Deployment that may lose fields. It costs a new custom resource few requests.
func (a *Applier) dryRun(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, changes []*change,
	result *Result) *problem.Problem {
	asksAll := isUpdate(changes) || isNameTaken(owner)
	for i, c := range changes {
		hasValues := hasSpecValues(owner, c)
		if i == 0 && (!hasValues || c.gvk.Kind != "Deployment") || !asksAll && !hasValues {
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
			!deniedByPolicy(err): // foreign ports, which write resets
		default:
			return rejected(owner, c, err)
		}
	}
	return nil
}

func (a *Applier) dryRunOne(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, c *change) error {
	result, strict := c.DeepCopy(), c.gvk.Kind == "Deployment" && hasSpecValues(owner, c)
	var err error
	switch {
	case c.live != nil:
		err = a.send(ctx, result, client.DryRunAll)
	case strict:
		// A tree makes the API server refuse unknown fields, as an apply does; typed objects would drop them silently.
		err = a.Client.Create(ctx, result, client.DryRunAll, client.FieldOwner(FieldManager),
			client.FieldValidation(metav1.FieldValidationStrict))
	default:
		err = a.Client.Create(ctx, c.createdObject(), client.DryRunAll, client.FieldOwner(FieldManager))
	}
	if err == nil && strict {
		err = checkDropped(owner, c, result)
	}
	return err
}

// hasSpecValues reports whether the object contains values of the spec or the settings, for which a dry run pays.
func hasSpecValues(owner *v1alpha2.LlamaStackDistribution, c *change) bool {
	if c.gvk.Kind == "Deployment" {
		return owner.Spec.Workload != nil || hasModelCache(c)
	}
	return specFieldByKind[c.gvk.Kind] != "" && c.gvk.Kind != "Service"
}

// hasModelCache reports whether the Deployment has a model cache, which may come from the operator's settings.
func hasModelCache(c *change) bool {
	volumes, _, _ := unstructured.NestedFieldNoCopy(c.Object, "spec", "template", "spec", "volumes")
	list, _ := volumes.([]any)
	return slices.ContainsFunc(list, func(v any) bool { return keyOf(v, "name") == objects.ModelCacheVolume })
}

// specFieldByKind is the field of the spec that determines an object, by kind.
var specFieldByKind = map[string]string{
	"PersistentVolumeClaim":   "spec.workload.storage",
	"NetworkPolicy":           "spec.networking.allowedFrom",
	"PodDisruptionBudget":     "spec.workload.podDisruptionBudget",
	"HorizontalPodAutoscaler": "spec.workload.autoscaling",
	"Service":                 "spec.networking.port",
	"Ingress":                 "spec.networking.expose",
	"Route":                   "spec.networking.expose",
	"HTTPRoute":               "spec.networking.expose",
}

// rejected returns the problem of an object that the API server refuses, at the causing field of the spec if known.
func rejected(owner *v1alpha2.LlamaStackDistribution, c *change, err error) *problem.Problem {
	p := Failed(c.String(), "could not be applied", err)
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !deniedByPolicy(err) && !unknownField(err) &&
		!isDropped(err) {
		return p
	}
	switch {
	case unknownField(err):
		p.Fix = "remove the field, or upgrade the cluster to a Kubernetes that has it"
	case isDropped(err):
		p.Fix = "remove the field, or enable its feature gate in the cluster"
	}
	if c.gvk.Kind == "PersistentVolumeClaim" && c.live != nil && !deniedByPolicy(err) {
		p.Reason, p.Class = problem.ObjectRejected, problem.Terminal
		p.Fix = "a PVC cannot shrink, and can grow only if its storage class allows it: set spec.workload.storage.size to " +
			"its previous value, or move the data to a new custom resource"
	}
	from := rejectedField(owner, c, err)
	if from == "" && hasSpecValues(owner, c) { // the refused value is unknown
		from = "spec.workload"
	}
	if from != "" {
		p.Path, p.Detail = from, p.Path+" "+p.Detail
	}
	return p
}
