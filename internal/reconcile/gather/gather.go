// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Gatherer reads the inputs of a reconcile. Set its fields before the first call.
type Gatherer struct {
	// Live reads Secrets and ConfigMaps from the API server.
	Live client.Reader
	// Cached reads the operator's own objects.
	Cached client.Reader
	// Store has the operator's settings; nil means reading them live each time.
	Store             *SettingsStore
	OperatorNamespace string
	// HashKey is the operator's key for hashes of secret content.
	HashKey secret.Value
	Build   string
	// Namespaces are the watched namespaces; empty means all.
	Namespaces []string
	// ForbidForeignConfigMaps refuses ConfigMaps of other namespaces, which v1alpha1 can name.
	ForbidForeignConfigMaps bool
	// AllowForeignConfigMaps accepts ConfigMaps of other namespaces without their owners' consent, as release 0.9 does.
	AllowForeignConfigMaps bool
	// ClusterAssignsUserIDs reports that the cluster assigns user IDs to pods (OpenShift).
	ClusterAssignsUserIDs bool
	// Labels reads the labels of images; nil means that labels do not count.
	Labels *imagelabels.Reader
	// MirrorSets are the kinds with the cluster's image mirrors, where registry requests go.
	MirrorSets []schema.GroupVersionKind
	// OperatorImage is the operator's image, which installs external providers; empty if unknown.
	OperatorImage string
	// EdgeAPIs reports the cluster's APIs to expose servers; nil means none.
	EdgeAPIs func() objects.EdgeAPIs

	// Hosts has all custom resources with HostIndex; nil disables the check of shared hosts.
	Hosts client.Reader
}

// Gathered is the result of Gather.
type Gathered struct {
	Inputs   *build.Inputs
	Settings *settings.Settings
	// ForeignDeployment is a foreign Deployment of the resource's name and selector; the Service routes to its pods.
	ForeignDeployment *appsv1.Deployment
	// LabelsPending is the start of the oldest pending registry request, or zero; an event follows each result.
	LabelsPending     time.Time
	DeploymentUnknown bool
}

// Gather reads the inputs for the custom resource. It skips the live look-up of a new one's Deployment.
func (g *Gatherer) Gather(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*Gathered, problem.List) {
	if IsNew(cr) {
		return g.gather(ctx, cr, nil)
	}
	return g.gather(ctx, cr, g.Live)
}

// GatherLive is Gather with the live look-up, for a new custom resource with existing objects.
func (g *Gatherer) GatherLive(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*Gathered,
	problem.List) {
	return g.gather(ctx, cr, g.Live)
}

// gather reads the inputs; live reads a Deployment that is missing in the cache, unless it is nil.
func (g *Gatherer) gather(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, live client.Reader) (*Gathered,
	problem.List) {
	in := build.NewInputs(cr)
	in.HashKey, in.Build, in.OperatorNamespace, in.ClusterAssignsUserIDs = g.HashKey, g.Build, g.OperatorNamespace,
		g.ClusterAssignsUserIDs
	in.Now = time.Now()
	out := &Gathered{Inputs: in}
	var problems problem.Collector
	var f *problem.Problem
	problems.AddFound(readDeployment(ctx, g, out, live))
	if out.Settings, f = g.settings(ctx); f == nil {
		out.Settings, f = withMirrors(ctx, g.Cached, g.MirrorSets, out.Settings)
	}
	if f == nil {
		in.EdgeAPIs = g.edgeAPIs()
		in.NetworkPolicyFlag, in.Forbidden, in.Edge = out.Settings.NetworkPolicy, out.Settings.Forbidden, out.Settings.Edge
		in.Mirrors = out.Settings.Registries.Mirrors
		in.ClusterName = out.Settings.Telemetry.ClusterName
		in.CompleteWorkload(out.Settings.PodDefaults)
		in.CompleteProxy(out.Settings.Proxy)
		in.CompleteModelCache(out.Settings.ModelCacheImage)
		in.OlderWithHost, f = g.olderWithHost(ctx, in)
		problems.AddFound(f)
		in.Distribution, f = resolveDistribution(out.Settings, in, settings.Hints{})
		if f != nil && f.Reason == problem.UnknownDistribution && in.Live == nil &&
			live == nil { // the cache may lack the Deployment with the running image
			problems.AddFound(readDeployment(ctx, g, out, g.Live))
			in.Distribution, f = resolveDistribution(out.Settings, in, settings.Hints{})
		}
		in.Unresolved = f != nil
	}
	problems.AddFound(f)
	g.labels(ctx, out, &problems)
	g.external(ctx, out, &problems)
	g.references(ctx, in, &problems)
	problems.AddFound(g.databases(ctx, in))
	problems.AddFound(g.peers(ctx, in))
	if out.Settings != nil {
		problems.AddFound(g.endpoints(ctx, in, &out.Settings.EndpointFrom))
	}
	if in.Live != nil {
		in.LiveConfigMissing, f = g.IsGeneratedMissing(ctx, cr, &in.Live.Spec.Template)
		problems.AddFound(f)
	}
	return out, problems.List()
}

// resolveDistribution resolves the distribution with hints. For an unknown name it keeps the image of release 0.9.
func resolveDistribution(known *settings.Settings, in *build.Inputs, found settings.Hints) (*settings.Distribution,
	*problem.Problem) {
	hints := build.Hints(in, build.RunningRelease(in.Live, in.Legacy.ContainerName))
	hints.Labels, hints.Package, hints.Status = found.Labels, found.Package, found.Status
	d, p := known.ResolveWithHints(&in.CR.Spec.Distribution, hints)
	if p == nil || p.Reason != problem.UnknownDistribution {
		return d, p
	}
	if hints.Image = release09.Image(in.Live, in.Legacy.ContainerName); hints.Image == "" {
		return nil, p
	}
	hints.ImageSource = settings.SourceRelease09
	if d, p = known.ResolveWithHints(&in.CR.Spec.Distribution, hints); d != nil {
		d.Adopted = true
	}
	return d, p
}

// lookupFailed returns the problem of a failed read; path is the referring field or describes the object.
func lookupFailed(condition, path, description string, err error) *problem.Problem {
	if errors.Is(err, errReferencedBytes) {
		return problem.New(problem.Problem{
			Reason: problem.TooLarge, Path: path, Type: field.ErrorTypeTooMany,
			Detail: fmt.Sprintf("the Secrets and ConfigMaps that the spec refers to, or what it uses of them, have more than "+
				"%d bytes in total, counted up to %s",
				limits.ReferencedBytes, description),
			Fix: "refer to fewer or smaller ones, or put large files into a volume of another kind", Err: err,
		})
	}
	return problem.New(problem.Problem{
		Reason: problem.LookupFailed, Condition: condition, Path: path,
		Detail: fmt.Sprintf("%s could not be read: %v", description, problem.StableError(err)),
		Fix:    "retrying", Err: err,
	})
}

// secrets reads the Secrets that the configuration needs. The engine reports malformed references.
func (g *Gatherer) secrets(ctx context.Context, in *build.Inputs,
	r *referenceReader) ([]build.SecretFact, *problem.Problem) {
	uses, _ := serverconfig.SecretUses(in.Spec)
	facts := make([]build.SecretFact, 0, len(uses))
	for _, use := range uses {
		key := types.NamespacedName{Namespace: in.CR.Namespace, Name: use.Ref.Name}
		s, err := r.secret(ctx, key)
		fact := secretFact(use, s)
		if err == nil {
			err = r.countBytes(fact.Value.Len(), &fact.Lookup)
		}
		if err != nil {
			return nil, lookupFailed(v1alpha2.ConditionSecretsResolved, use.Path, "Secret "+key.String(), err)
		}
		facts = append(facts, fact)
	}
	return facts, nil
}

func secretFact(use serverconfig.SecretUse, s *corev1.Secret) build.SecretFact {
	f := build.SecretFact{Use: use}
	if s == nil {
		f.State = build.Missing
		return f
	}
	value, ok := s.Data[use.Ref.Key]
	switch {
	case !ok:
		f.Lookup = build.LookIn(s.Data, use.Ref.Key)
	case len(value) == 0:
		f.State = build.Empty
	default:
		f.Value = secret.Wrap(value)
	}
	return f
}

func readDeployment(ctx context.Context, g *Gatherer, out *Gathered, live client.Reader) (f *problem.Problem) {
	out.Inputs.Live, out.ForeignDeployment, f = g.deployment(ctx, out.Inputs.CR, live)
	out.DeploymentUnknown = f != nil
	return f
}

// deployment returns the resource's Deployment, also of release 0.9, or a rival with the same selector. If the cache
// lacks it, it reads live, unless that is nil.
func (g *Gatherer) deployment(
	ctx context.Context, cr *v1alpha2.LlamaStackDistribution, live client.Reader,
) (own, foreign *appsv1.Deployment, f *problem.Problem) {
	var d appsv1.Deployment
	key := types.NamespacedName{Namespace: cr.Namespace, Name: names.DeploymentName(cr.Name)}
	err := g.Cached.Get(ctx, key, &d)
	if apierrors.IsNotFound(err) && live != nil {
		err = live.Get(ctx, key, &d)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, lookupFailed(v1alpha2.ConditionDeploymentUpdated, "metadata.name", "Deployment "+key.String(), err)
	case metav1.IsControlledBy(&d, cr), names.Selects(&d, cr.Name) && release09.IsOrphan(&d, nil, cr.Name):
		return &d, nil, nil
	case names.Selects(&d, cr.Name):
		return nil, &d, nil
	}
	return nil, nil, nil
}

// IsNew reports whether no reconcile has written the status yet, so that the resource has no objects.
func IsNew(cr *v1alpha2.LlamaStackDistribution) bool {
	return cr.Status.Phase == "" && len(cr.Status.Conditions) == 0
}

// caBundle reads the ConfigMap in spec.networking.tls.caBundle, or the platform's.
func (g *Gatherer) caBundle(ctx context.Context, in *build.Inputs,
	r *referenceReader) (*build.CABundleFact, *problem.Problem) {
	cr, fact := in.CR, in.NamedCABundle()
	if fact == nil && len(in.NamedCABundles()) > 0 {
		return nil, nil
	}
	if fact == nil {
		data, f := g.platformBundle(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: build.PlatformBundle}, r)
		return build.PlatformCABundle(cr.Namespace, data), f
	}
	return fact, g.readBundle(ctx, cr, fact, build.PathCABundle, r)
}

// readBundle reads the ConfigMap of a CA bundle.
func (g *Gatherer) readBundle(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, fact *build.CABundleFact,
	path string, r *referenceReader) *problem.Problem {
	if fact.State = g.namespaceState(cr.Namespace, fact.Namespace); fact.State != build.Found {
		return nil
	}
	key := types.NamespacedName{Namespace: fact.Namespace, Name: fact.Name}
	cm, err := r.configMap(ctx, key)
	switch {
	case err != nil:
		return lookupFailed(v1alpha2.ConditionConfigGenerated, path, "ConfigMap "+key.String(), err)
	case !g.mayUse(cm, cr.Namespace, fact.Namespace):
		fact.State = build.NotAllowed
	case cm == nil:
		fact.State = build.Missing
	default:
		fact.Data = cm.Data
	}
	return nil
}

// caBundles reads the ConfigMaps of further CA bundles.
func (g *Gatherer) caBundles(ctx context.Context, in *build.Inputs, r *referenceReader) ([]build.CABundleFact,
	*problem.Problem) {
	list := in.AllCABundles()
	for i := range list {
		if p := g.readBundle(ctx, in.CR, &list[i], list[i].Path, r); p != nil {
			return nil, p
		}
	}
	return list, nil
}

// platformBundle reads a ConfigMap that the platform injects, or returns nil; metadata in the cache saves most
// requests.
func (g *Gatherer) platformBundle(ctx context.Context, key types.NamespacedName, r *referenceReader) (map[string]string,
	*problem.Problem) {
	err := g.Cached.Get(ctx, key, metadataOf("ConfigMap"))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	var cm *corev1.ConfigMap
	if err == nil {
		cm, err = r.configMap(ctx, key)
	}
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, build.PathCABundle, "ConfigMap "+key.String(), err)
	}
	if cm == nil {
		return nil, nil
	}
	return cm.Data, nil
}

// metadataOf returns an empty ConfigMap or Secret for reading metadata only.
func metadataOf(kind string) *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return metadata
}

// IsGeneratedMissing reports whether a generated object that a pod template needs was deleted.
func (g *Gatherer) IsGeneratedMissing(ctx context.Context, cr *v1alpha2.LlamaStackDistribution,
	template *corev1.PodTemplateSpec) (bool, *problem.Problem) {
	if !names.HasNewPods(template) {
		return false, nil
	}
	needed := objects.GeneratedFor(cr.Name, &template.Spec)
	for _, o := range []struct{ kind, name string }{
		{"ConfigMap", needed.Config}, {"ConfigMap", needed.CABundle}, {"Secret", needed.DerivedSecret},
	} {
		if o.name == "" {
			continue
		}
		err := g.Cached.Get(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: o.name}, metadataOf(o.kind))
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, lookupFailed(v1alpha2.ConditionDeploymentUpdated, "metadata.name", o.kind+" "+o.name, err)
		}
	}
	return false, nil
}
