// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// Build returns the desired state and its problems, with Objects only if there are no errors and the context has not
// ended. For an Unresolved resource it reports only problems that do not depend on the distribution.
func Build(ctx context.Context, in *Inputs) (*Desired, problem.List) {
	if in.Unresolved {
		unknown := *in
		unknown.Distribution = &settings.Distribution{}
		in = &unknown
	}
	in = in.withEndpoints()
	d := &Desired{Distribution: in.distribution(), Expose: in.Spec.Expose, Edge: in.edge()}
	d.problems.checkName(in.CR.Name)
	d.problems.AddAll(in.Spec.ExposeProblems)
	d.problems.checkForbidden(in)
	in = in.withMountPath()
	d.problems.checkExpose(in)
	d.problems.checkExternal(in)
	d.problems.warnSharedHost(in)
	d.problems.warnSharedDatabases(in)
	d.problems.warnLegacy(in)
	d.problems.checkEndpoints(in)
	d.generate(ctx, in)
	d.checkSecrets(in)
	d.problems.checkPodReferences(in)
	derived := d.derive(in)
	d.checkCertificate(in)
	bundle := withServiceCA(d.caBundle(in), in.ServiceCA)
	if in.CABundle != nil {
		d.problems.warnForeign(PathCABundle, types.NamespacedName{Namespace: in.CABundle.Namespace, Name: in.CABundle.Name},
			in.CR.Namespace)
	}
	d.warnIneffective(in)
	d.problems.checkMonitoring(in, d.Distribution.Line, in.metricsPort(d.Override))
	d.refuseOpen(in)
	warnUnauthenticated(d, in)
	d.warnPlainEdge(in)
	warnBypassed(d, in)
	d.problems.checkWorkload(in)
	d.problems.checkItems(in)
	d.problems.warnDoubtful(in)
	params := d.params(in)
	params.CABundle = bundle
	if len(derived) > 0 {
		params.Derived, params.DerivedName = derived, derivedName(in, derived, d.Config.Env)
	}
	d.SecretsHash, d.SecretValues = params.SecretsHash, in.secretValues(derived)
	if interrupted(ctx, &d.problems.Collector) {
		return d, d.problems.List()
	}
	d.problems.AddAll(validation.Check(&in.CR.Spec, objects.OwnVolumeNames(params)))
	d.problems.AddAll(objects.CheckContainers(params))
	d.problems.checkDataDir(params)
	d.problems.checkOverrides(params, d.Distribution)
	d.problems.checkAllowedFrom(params)
	d.problems.checkEgress(in)
	d.checkShares(in)
	if interrupted(ctx, &d.problems.Collector) || d.problems.HasErrors() || in.Unresolved {
		return d, d.problems.List()
	}
	list := buildObjects(params)
	if interrupted(ctx, &d.problems.Collector) { // a late result is not applied
		return d, d.problems.List()
	}
	d.Objects = list
	d.RemoteStores = d.remoteStores()
	for i := range in.Peers {
		d.Peers = append(d.Peers, in.Peers[i].Name)
	}
	d.warnUnmountedState(list)
	d.hold(in, params)
	return d, d.problems.List()
}

// interrupted reports whether the context ended, and adds that problem. The caller must stop, so that it is added once.
func interrupted(ctx context.Context, problems *problem.Collector) bool {
	p := serverconfig.Incomplete(ctx)
	problems.AddFound(p)
	return p != nil
}

// NeedsBase reports whether a configuration is generated, which needs a base.
func (in *Inputs) NeedsBase() bool {
	_, named := in.OverrideRef()
	dist := in.distribution()
	return !named && (dist.ForeignImage || serverconfig.Needed(&in.CR.Spec, dist.Line)) && !workersIgnored(in)
}

func (d *Desired) generate(ctx context.Context, in *Inputs) {
	dist := d.Distribution
	if p := unsupportedRelease(dist); p != nil {
		d.problems.AddFound(p)
		d.problems.AddAll(serverconfig.CheckSpec(in.Spec))
		return
	}
	d.problems.AddFound(newerRelease(dist))
	d.problems.AddFound(unknownName(in))
	d.problems.AddFound(removedImage(dist))
	d.problems.AddFound(unverifiedImage(in, dist))
	d.problems.AddAll(dist.Warnings)
	if _, named := in.OverrideRef(); named {
		d.override(ctx, in)
		return
	}
	if in.Unresolved {
		d.problems.AddAll(serverconfig.CheckSpec(in.Spec))
		return
	}
	if !dist.ForeignImage && !serverconfig.Needed(&in.CR.Spec, dist.Line) {
		return
	}
	if p := baseProblem(in, dist); p != nil {
		switch {
		case in.LabelsUnread:
		case !onlyWorkersNeedConfig(in):
			d.problems.AddFound(p)
		case !workersIgnored(in):
			d.problems.AddFound(workersNeedBase(p, *in.CR.Spec.Workload.Workers))
		}
		d.problems.AddAll(serverconfig.CheckSpec(in.Spec))
		return
	}
	result, problems := serverconfig.Generate(ctx, serverconfig.Input{
		Name: in.CR.Name, Namespace: in.CR.Namespace, Spec: in.Spec, Base: dist.Base, Line: dist.Line, Release: dist.Release,
		ClusterName: in.ClusterName,
		Packages:    in.Packages, Variables: in.variables(), SecretVariables: secretVariables(in),
	})
	if ctx.Err() != nil {
		return // Build reports it, for all steps
	}
	d.problems.AddAll(in.withoutUnreadPackages(problems))
	if result == nil {
		return
	}
	if in.isMissingEndpoint() {
		return
	}
	d.Config = result
	d.ConfigMapName = names.ConfigMapName(in.CR.Name, result.YAML)
}

// withoutUnreadPackages drops problems of unknown provider packages if the caller does not read packages.
func (in *Inputs) withoutUnreadPackages(problems problem.List) problem.List {
	if !in.PackagesUnread {
		return problems
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p problem.Problem) bool {
		return p.Reason == problem.ReadingImageLabels && strings.HasPrefix(p.Path, "spec.externalProviders")
	})
}

func (d *Desired) params(in *Inputs) *objects.Params {
	p := &objects.Params{
		Legacy:                in.Legacy,
		Expose:                in.Spec.Expose,
		NetworkPolicy:         d.networkPolicy(in),
		Egress:                in.EgressRules(),
		Edge:                  d.Edge,
		Share:                 in.share(),
		Shares:                in.shares(),
		Passthrough:           d.passthrough(in),
		Proxy:                 in.proxyVariables(),
		OperatorNamespace:     in.OperatorNamespace,
		CR:                    in.CR,
		Image:                 d.Distribution.Image,
		StateDir:              objects.StateDir(in.CR, d.Distribution.Name, in.livePod()),
		Scheme:                d.Scheme(),
		PortVariables:         portVariables(d.Distribution.Line),
		HomeVariables:         homeVariables(d.Distribution.Line),
		MetricsVariables:      metricsVariables(d.Distribution.Line),
		MetricsPort:           in.metricsPort(d.Override),
		MemoryTmp:             writesConfig(d.Distribution.Line),
		ClusterAssignsUserIDs: in.ClusterAssignsUserIDs,
		SecretsHash:           secretsHash(in),
		InputHash:             inputHash(in),
		ConfigMapsHash:        configMapsHash(in),
		DatabaseHashes:        in.databaseHashes(),
		Build:                 in.Build,
	}
	d.InputHash, p.FormerInputs = p.InputHash, formerInputs(in.Live, p.InputHash)
	if in.Claim != nil {
		p.ClaimModes, p.OwnsNamedClaim = in.Claim.AccessModes(), in.Claim.OwnedBy(in.CR)
	}
	p.ModelCacheImage = in.modelCacheImage()
	if in.ModelCacheClaim != nil {
		p.ModelCacheModes = in.ModelCacheClaim.AccessModes()
	}
	p.ClusterCA = d.Config != nil && d.Config.Auth.ClusterCA
	p.ClientCertificates = d.TLS().ClientCertificates()
	if f := in.Certificate; f != nil {
		p.Certificate, p.CertificateHash = f.Name, names.CertificateHash(f.content())
	}
	if line := d.Distribution.Line; line != nil {
		p.ServerLine = line.Name
	}
	if d.Distribution.Adopted {
		p.AdoptedImage = d.Distribution.Image
	}
	if d.Config != nil {
		p.Config, p.Env, p.LocalModels = d.Config.YAML, d.Config.Env, d.Config.LocalModels
		p.External, p.OperatorImage = in.installed(d.Config.External), in.OperatorImage
		p.ProviderTLS = in.providerTLS()
	}
	if d.Override != nil {
		p.Config, p.ConfigFiles, p.Overridden = d.OverrideContent, in.Override.Files, true
		p.External, p.OperatorImage, p.Env = in.installed(d.beside), in.OperatorImage, in.externalVariables()
	}
	if d.Certificate != nil {
		p.ServerCA = string(d.Certificate.CA)
	}
	return p
}

// variables returns the names of the container's variables other than those of the generated configuration.
func (in *Inputs) variables() []string {
	dist := in.distribution()
	known := &objects.Params{
		CR:            in.CR,
		Legacy:        in.Legacy,
		StateDir:      objects.StateDir(in.CR, dist.Name, in.livePod()),
		PortVariables: portVariables(dist.Line),
		HomeVariables: homeVariables(dist.Line), MetricsVariables: metricsVariables(dist.Line),
		MetricsPort: in.metricsPort(nil),
		Config:      []byte{}, // names depend on its presence, not on its content
	}
	if in.trustsBundle() || in.ServiceCA != "" {
		known.CABundle = "ca"
	}
	return objects.VariableNames(known)
}

func (in *Inputs) livePod() *corev1.PodSpec {
	if in.Live == nil {
		return nil
	}
	return &in.Live.Spec.Template.Spec
}

// buildObjects returns the desired objects in the order of writing, which stops at a refusal: dependencies and
// protection of pods first, routing last.
func buildObjects(p *objects.Params) []objects.Object {
	var list []objects.Object
	add(&list, objects.ServiceAccount(p))
	add(&list, objects.ConfigMap(p))
	add(&list, objects.CABundle(p))
	add(&list, objects.DerivedSecret(p))
	add(&list, objects.PersistentVolumeClaim(p))
	add(&list, objects.NetworkPolicy(p))
	add(&list, objects.PodDisruptionBudget(p))
	add(&list, objects.Deployment(p))
	add(&list, objects.HorizontalPodAutoscaler(p))
	add(&list, objects.Service(p))
	add(&list, objects.Ingress(p))
	add(&list, objects.Route(p))
	add(&list, objects.HTTPRoute(p))
	return list
}

func add[T any, O interface {
	*T
	objects.Object
}](list *[]objects.Object, o O) {
	if o != nil {
		*list = append(*list, o)
	}
}

// hold keeps the live Deployment and its configuration if another build or release 0.9 made them from the same inputs,
// so that an upgrade causes no rollout, or if the template of these inputs was rolled back.
func (d *Desired) hold(in *Inputs, p *objects.Params) {
	if in.Live == nil || in.Live.DeletionTimestamp != nil || in.LiveConfigMissing || release09.IsHeld(in.Live) {
		return // nothing to keep, the pods could not restart, or they are being replaced
	}
	annotations := in.Live.Annotations
	switch adopted := release09.IsUnadopted(in.Live) && release09.KeepsTemplate(in.Live); {
	case adopted:
		d.HeldBuild = release09.Build
	case annotations[names.AnnotationRolledBack] == p.InputHash:
		d.RolledBack = cmp.Or(annotations[names.AnnotationRollbackCause], "the cause is not known")
	case release09.IsUnadopted(in.Live), annotations[names.AnnotationInputHash] != p.InputHash,
		annotations[names.AnnotationBuild] == p.Build:
		return
	default:
		d.HeldBuild = annotations[names.AnnotationBuild]
	}
	var live objects.Generated // release 0.9 generates none of these objects
	if names.HasNewPods(&in.Live.Spec.Template) {
		live = objects.GeneratedFor(in.CR.Name, &in.Live.Spec.Template.Spec)
	}
	desired := objects.GeneratedFor(in.CR.Name, podSpecOf(d.Objects))
	var applied []objects.Object
	for _, o := range d.Objects {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		liveName, generated := live.Counterpart(desired, kind, o.GetName())
		switch {
		case kind == "Deployment":
			kept := o.DeepCopyObject().(objects.Object)
			kept.GetAnnotations()[names.AnnotationBuild] = cmp.Or(d.HeldBuild, annotations[names.AnnotationBuild])
			d.Held = append(d.Held, kept)
		case generated && liveName == "":
		case generated && liveName != o.GetName():
			// Keep the content of the object that the live Deployment uses.
			renamed := o.DeepCopyObject().(objects.Object)
			renamed.SetName(liveName)
			d.Held = append(d.Held, renamed)
		default:
			applied = append(applied, o)
		}
	}
	d.Objects, d.ConfigMapName = applied, live.Config
}

func podSpecOf(list []objects.Object) *corev1.PodSpec {
	if d := deploymentIn(list); d != nil {
		return &d.Spec.Template.Spec
	}
	return &corev1.PodSpec{}
}

// deploymentIn returns the Deployment among the objects, or nil.
func deploymentIn(list []objects.Object) *appsv1.Deployment {
	for _, o := range list {
		if d, ok := o.(*appsv1.Deployment); ok {
			return d
		}
	}
	return nil
}
