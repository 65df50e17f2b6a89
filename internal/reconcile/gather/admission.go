// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// GatherForAdmission returns the inputs of validation: the spec and the settings. It reads no user object, because
// anyone may reach the webhooks' port; Secrets and ConfigMaps count as found.
func (g *Gatherer) GatherForAdmission(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs,
	problem.List) {
	return g.gatherForAdmission(ctx, cr, g.settings)
}

// GatherForAdmissionLive is GatherForAdmission with settings that are read live.
func (g *Gatherer) GatherForAdmissionLive(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs,
	problem.List) {
	return g.gatherForAdmission(ctx, cr, g.settingsLive)
}

func (g *Gatherer) gatherForAdmission(
	ctx context.Context, cr *v1alpha2.LlamaStackDistribution,
	read func(context.Context) (*settings.Settings, *problem.Problem),
) (*build.Inputs, problem.List) {
	in := build.NewInputs(cr)
	in.PackagesUnread = true
	in.Build, in.ClusterAssignsUserIDs, in.OperatorNamespace = g.Build, true, g.OperatorNamespace
	var problems problem.Collector
	known, f := read(ctx)
	if f == nil {
		in.EdgeAPIs = g.edgeAPIs()
		in.NetworkPolicyFlag, in.Forbidden, in.Edge = known.NetworkPolicy, known.Forbidden, known.Edge
		in.ClusterName = known.Telemetry.ClusterName
		in.CompleteWorkload(known.PodDefaults)
		in.CompleteProxy(known.Proxy)
		in.CompleteModelCache(known.ModelCacheImage)
		in.Distribution, f = known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(in, build.ReportedLine(cr)))
		in.Unresolved = f != nil
		in.AssumeEndpointsFound(&known.EndpointFrom)
		in.LabelsUnread = f == nil && in.Distribution.NeedsLabels() && known.Registries.ReadsLabels()
	}
	problems.AddFound(f)
	in.AssumeReferencesFound()
	if ref, ok := in.OverrideRef(); ok {
		in.Override = &build.OverrideFact{Ref: ref, Content: []byte(secret.OnCluster)}
		in.Override.State = g.namespaceState(cr.Namespace, ref.Namespace)
	}
	if in.CABundle = in.NamedCABundle(); in.CABundle != nil {
		if in.CABundle.State = g.namespaceState(cr.Namespace, in.CABundle.Namespace); in.CABundle.State == build.Found {
			in.CABundle.State = build.Unknown
		}
	}
	return in, problems.List()
}
