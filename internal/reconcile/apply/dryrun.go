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

// dryRun asks the API server whether it takes the changes: quotas, policies and webhooks of others decide, too. The
// first change is not asked for: it is written first, and refusing it leaves everything as it was. But it would write a
// Deployment without the fields that it leaves out.
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
		case c.live == nil && apierrors.IsAlreadyExists(err): // for new custom resources, nothing was looked up before
			if _, p := a.existing(ctx, owner, c, result); p != nil {
				return p
			}
		case err == nil, apierrors.IsBadRequest(err) && strings.HasSuffix(err.Error(),
			"does not support dry run"): // a webhook with side effects
		case c.gvk.Kind == "Service" && c.live != nil && apierrors.IsInvalid(err) &&
			!deniedByOthers(err): // ports that somebody else added: writing it resets them
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
		// As a tree, the server refuses fields of a later Kubernetes, as an apply does. Otherwise it drops them silently.
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

// passesThrough reports whether values of the spec are in an object as they are. The others hold what the operator
// decides: asking for them before a server is made would only cost requests, as nothing runs yet that a refusal could
// harm.
func passesThrough(owner *v1alpha2.LlamaStackDistribution, c *change) bool {
	if c.gvk.Kind == "Deployment" {
		return owner.Spec.Workload != nil
	}
	return fieldsOfKinds[c.gvk.Kind] != "" && c.gvk.Kind != "Service"
}

// fieldsOfKinds is the field of the spec that an object is made from, by its kind.
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

// refused is the problem of an object that the API server does not take. It is about the field of the spec, where there
// is one.
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
	if from == "" && passesThrough(owner, c) { // which of its values was refused is not known
		from = "spec.workload"
	}
	if from != "" {
		p.Path, p.Detail = from, p.Path+" "+p.Detail
	}
	return p
}
