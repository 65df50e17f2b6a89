// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
)

// DefaultNamespace is the namespace of custom resources without one.
const DefaultNamespace = "default"

// Resource is a custom resource and the result of its dry run.
type Resource struct {
	// Document is the source of the custom resource.
	Document *manifest.Document
	// Desired is the operator's build; nil on errors.
	Desired *build.Desired
	// Problems are errors and warnings by line.
	Problems problem.List
	// Notes are assumptions about the cluster.
	Notes []Note

	// override is the ConfigMap of spec.overrideConfig, if it is given.
	override *manifest.Document
	read     []*manifest.Document // the given ConfigMaps that the dry run read
}

// Note is an assumption about the cluster.
type Note struct {
	// Path is the field and Text the assumption.
	Path, Text string
}

// Reads reports whether the dry run read this document, a ConfigMap.
func (r *Resource) Reads(d *manifest.Document) bool { return slices.Contains(r.read, d) }

// Failed reports whether Problems has an error.
func (r *Resource) Failed() bool { return r.Problems.HasErrors() }

// Policy is an admission policy.
type Policy interface {
	// Admit returns the denial message for a new object; empty if it is admitted.
	Admit(ctx context.Context, object map[string]any) string
}

// Cluster simulates a cluster.
type Cluster struct {
	// Settings are the operator's settings.
	Settings *settings.Settings
	// Namespace is used for custom resources without one; empty means DefaultNamespace.
	Namespace string
	// Replacement overrides the settings of a distribution.
	Replacement Replacement
	// Policy is the ValidatingAdmissionPolicy; nil skips it, because the operator's checks cover it and compiling is slow.
	Policy Policy

	configMaps map[types.NamespacedName]configMap
}

// NewCluster returns a Cluster with the settings.
func NewCluster(s *settings.Settings) *Cluster { return &Cluster{Settings: s} }

// schemas are the versions of the embedded CRD by apiVersion. Each is compiled at most once, because that is slow; they
// are immutable and shared by all Clusters.
var schemas = map[string]func() *admission.Schema{
	v1alpha1.GroupVersion.String(): compile(v1alpha1.GroupVersion.Version),
	v1alpha2.GroupVersion.String(): compile(v1alpha2.GroupVersion.Version),
}

func compile(apiVersion string) func() *admission.Schema {
	return sync.OnceValue(func() *admission.Schema {
		read, err := admission.NewSchema(crd.LlamaStackDistributions(), apiVersion)
		if err != nil { // covered by tests
			panic(err)
		}
		return read
	})
}

// Recognizes reports whether the document is meant as a LlamaStackDistribution: it has the API group, or the kind in
// any case.
func Recognizes(d *manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion(), "/")
	return group == v1alpha2.GroupVersion.Group || strings.EqualFold(d.Kind(), v1alpha2.Kind)
}

// DryRun validates and builds a document that Recognizes accepts.
func (c *Cluster) DryRun(ctx context.Context, d *manifest.Document) *Resource {
	r := &Resource{Document: d}
	if schema := schemaOf(r); schema != nil {
		c.check(ctx, r, schema)
	}
	r.sort()
	return r
}

func (c *Cluster) check(ctx context.Context, r *Resource, schema *admission.Schema) {
	object, conflict := c.withNamespace(r.Document.Object)
	if conflict != nil {
		r.add(*conflict)
	}
	stored, rejections := schema.Admit(ctx, object)
	for i := range rejections {
		p := rejections[i].Problem
		if p.Reason == problem.UnknownField {
			p.Fix = cmp.Or(fieldOfOtherVersion(r.Document.APIVersion(), p.Path), p.Fix)
		}
		r.add(p)
	}
	if hub := v1alpha2.GroupVersion.String(); r.Document.APIVersion() != hub {
		if r.Failed() {
			return // conversion needs a valid object
		}
		stored = schemas[hub]().Default(v1alpha1.ToV1alpha2(stored))
	}
	cr, err := typed(stored)
	if err != nil {
		if !r.Failed() {
			r.add(problem.Problem{Reason: problem.InvalidField, Path: "spec", Type: field.ErrorTypeTypeInvalid,
				Detail: err.Error(), Err: err})
		}
		return
	}
	// The API server drops the status on create, but the release line of an existing custom resource counts.
	if line, _, _ := unstructured.NestedString(r.Document.Object, "status", "resolvedDistribution",
		"serverLine"); line != "" {
		cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{ServerLine: line}
	}
	c.build(ctx, r, cr)
	// The policy matches only v1alpha2.
	if c.Policy == nil || r.Failed() || r.Document.APIVersion() != v1alpha2.GroupVersion.String() {
		return
	}
	if denied := c.Policy.Admit(ctx, stored); denied != "" {
		r.Desired = nil
		r.add(problem.Problem{Reason: problem.InvalidField, Path: "spec", Type: field.ErrorTypeInvalid, Detail: denied})
	}
}

// fieldOfOtherVersion returns the fix for an unknown field that only the other version has; empty for any other field.
func fieldOfOtherVersion(apiVersion, path string) string {
	older, newer := v1alpha1.GroupVersion.String(), v1alpha2.GroupVersion.String()
	switch {
	case apiVersion == older && schemas[newer]().Has(path):
		fix := "this is a field of v1alpha2: change apiVersion to " + newer
		if same := v1alpha1.PathOf(path); same != "" {
			fix += ", or write " + same
		}
		return fix
	case apiVersion == newer && schemas[older]().Has(path):
		fix := "this is a field of v1alpha1: "
		if same := v1alpha1.HubPathOf(path); same != "" {
			return fix + "write " + same
		}
		return fix + "if the whole file is v1alpha1, change apiVersion to " + older + ", then convert it with " +
			"kubectl llamastack convert --to v1alpha2"
	}
	return ""
}

// build builds the custom resource and adds problems and notes.
func (c *Cluster) build(ctx context.Context, r *Resource, cr *v1alpha2.LlamaStackDistribution) {
	in, unresolved := c.inputs(cr)
	if unresolved != nil && !r.Problems.Covers(unresolved.Path) {
		r.addOperatorProblem(*unresolved)
	}
	desired, problems := build.Build(ctx, in)
	rejected := slices.Clone(r.Problems)
	for _, p := range problems {
		if !rejected.Covers(p.Path) {
			r.addOperatorProblem(p)
		}
	}
	if in.Distribution != nil && in.Distribution.Note != "" && c.Replacement.Version == "" {
		r.Notes = append(r.Notes, Note{"spec.distribution.name", in.Distribution.Note})
	}
	if c.Replacement.Labels != nil && !c.Replacement.readsLabels(c.Settings, cr) {
		r.Notes = append(r.Notes, Note{"spec.distribution", "the operator does not read the labels of this image: the " +
			"given labels are not used"})
	}
	c.noteConfigMaps(r, in)
	for i := range in.Endpoints {
		if f := &in.Endpoints[i]; f.State == build.Unknown {
			r.Notes = append(r.Notes, Note{f.Ref.Path, fmt.Sprintf("only the cluster knows the address of %s %s (namespace "+
				"%s): %s is assumed",
				f.Ref.Kind, f.Ref.Name, f.Namespace, f.URL())})
		}
	}
	if !r.Failed() {
		r.Desired = desired
	}
}

// noteConfigMaps keeps which given ConfigMaps the custom resource refers to, and adds a note if that of overrideConfig
// is not given.
func (c *Cluster) noteConfigMaps(r *Resource, in *build.Inputs) {
	const path = "spec.overrideConfig.configMapName"
	var refs []types.NamespacedName
	for _, name := range []string{build.PlatformBundle, build.ServiceBundle} {
		refs = append(refs, types.NamespacedName{Namespace: in.CR.Namespace, Name: name})
	}
	if bundle := in.NamedCABundle(); bundle != nil {
		refs = append(refs, types.NamespacedName{Namespace: bundle.Namespace, Name: bundle.Name})
	}
	for _, bundle := range in.AllCABundles() {
		refs = append(refs, types.NamespacedName{Namespace: bundle.Namespace, Name: bundle.Name})
	}
	if ref, ok := in.OverrideRef(); ok {
		refs = append(refs, ref)
		r.override = c.configMaps[ref].document
		if r.override == nil {
			r.Notes = append(r.Notes, Note{r.pathOf(path), fmt.Sprintf("ConfigMap %s (namespace %s) was not given, so its "+
				"content is not checked: pass it with -f", ref.Name, ref.Namespace)})
		}
	}
	for _, ref := range refs {
		if cm, given := c.configMaps[ref]; given {
			r.read = append(r.read, cm.document)
		}
	}
}

// pathOf returns the path of a v1alpha2 field in the document's version.
func (r *Resource) pathOf(path string) string {
	if older := v1alpha1.PathOf(path); older != "" && r.Document.APIVersion() == v1alpha1.GroupVersion.String() {
		return older
	}
	return path
}

func (r *Resource) sort() {
	slices.SortStableFunc(r.Problems, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(r.Line(a), r.Line(b)), strings.Compare(string(a.Severity), string(b.Severity)))
	})
}

func (r *Resource) add(p problem.Problem) { r.Problems = append(r.Problems, *problem.New(p)) }

// settingsHint is appended to problems that the operator's settings can fix.
const settingsHint = " (if your cluster has such an entry, pass that ConfigMap with --settings)"

// addOperatorProblem adds a problem of the operator, with the path in the document's version.
func (r *Resource) addOperatorProblem(p problem.Problem) {
	if p.FixedBySettings() {
		p.Fix += settingsHint
	}
	if path := r.pathOf(p.Path); path != p.Path {
		p.Fix += " (in v1alpha2: " + p.Path + ")"
		p.Path = path
	}
	r.add(p)
}

// schemaOf returns the schema of the document's version. It returns nil and adds an error for another kind or version.
func schemaOf(r *Resource) *admission.Schema {
	kind, apiVersion := r.Document.Kind(), r.Document.APIVersion()
	compiled, known := schemas[apiVersion]
	switch {
	case kind != v1alpha2.Kind:
		r.add(unsupportedType("kind", kind, "write kind: "+v1alpha2.Kind))
		return nil
	case !known:
		r.add(unsupportedType("apiVersion", apiVersion, fmt.Sprintf("use %s or %s", v1alpha2.GroupVersion,
			v1alpha1.GroupVersion)))
		return nil
	}
	return compiled()
}

// typed decodes a v1alpha2 object and sets a placeholder UID.
func typed(object map[string]any) (*v1alpha2.LlamaStackDistribution, error) {
	cr := &v1alpha2.LlamaStackDistribution{}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, cr)
	}
	if cr.UID == "" {
		cr.UID = secret.OnCluster
	}
	return cr, err
}

// unsupportedType returns the problem of an unsupported kind or version.
func unsupportedType(path, got, fix string) problem.Problem {
	p := problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeRequired, Fix: fix}
	if got != "" {
		p.Type, p.Value = field.ErrorTypeNotSupported, got
	}
	return p
}

// withNamespace returns a copy of the object with a namespace, and a problem if it conflicts with --namespace.
func (c *Cluster) withNamespace(object map[string]any) (placed map[string]any, conflict *problem.Problem) {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	switch {
	case namespace == "":
		namespace = c.Namespace
	case c.Namespace != "" && namespace != c.Namespace:
		conflict = &problem.Problem{
			Reason: problem.ConflictingFields, Path: "metadata.namespace", Type: field.ErrorTypeInvalid, Value: namespace,
			Detail: fmt.Sprintf("does not match --namespace %s", c.Namespace),
			Fix:    "use the same value for both, or omit one of them",
		}
	}
	if namespace == "" {
		namespace = DefaultNamespace
	}
	placed = runtime.DeepCopyJSON(object)
	if placed["metadata"] == nil {
		placed["metadata"] = map[string]any{}
	}
	if metadata, ok := placed["metadata"].(map[string]any); ok {
		metadata["namespace"] = namespace
	}
	return placed, conflict
}

// inputs returns the build inputs, and the problem of an unresolved distribution.
func (c *Cluster) inputs(cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, *problem.Problem) {
	distribution, unresolved := c.Replacement.resolve(c.Settings, cr)
	in := build.NewInputs(cr)
	in.CompleteWorkload(c.Settings.PodDefaults) // first, because the defaults refer to objects
	in.CompleteProxy(c.Settings.Proxy)
	in.CompleteModelCache(c.Settings.ModelCacheImage)
	in.AssumeReferencesFound()
	in.AssumeEndpointsFound(&c.Settings.EndpointFrom)
	in.Distribution, in.CABundle, in.Override, in.Build = distribution, c.caBundle(in), c.override(in), secret.OnCluster
	for i := range in.CABundles {
		c.readBundle(in.CR.Namespace, &in.CABundles[i])
	}
	in.NetworkPolicyFlag, in.Forbidden, in.OperatorNamespace = c.Settings.NetworkPolicy, c.Settings.Forbidden,
		settings.DefaultNamespace
	in.ClusterName = c.Settings.Telemetry.ClusterName
	in.Edge, in.Mirrors, in.OperatorImage = c.Settings.Edge, c.Settings.Registries.Mirrors, version.Image()
	// Assume the APIs that the settings name, and a Gateway for what only a Gateway can do.
	if in.SharesRequests() && in.Edge.Gateway == nil && (in.Edge.Kind == "" || in.Edge.Kind == settings.EdgeAuto) {
		in.Edge.Kind, in.Edge.Gateway = settings.EdgeHTTPRoute, &settings.Gateway{Name: "gateway", Namespace: "gateways"}
	}
	in.EdgeAPIs = objects.EdgeAPIs{Route: in.Edge.Kind == settings.EdgeRoute, HTTPRoute: in.Edge.Gateway != nil}
	in.ServiceCA = build.CertificatesIn(c.configMapData(cr.Namespace, build.ServiceBundle))
	in.Unresolved = unresolved != nil
	in.Packages = packages(in.Spec)
	return in, unresolved
}

// packages returns a problem for each external provider whose entry does not describe its package.
func packages(spec *parse.Spec) map[string]serverconfig.PackageResult {
	unread := map[string]serverconfig.PackageResult{}
	for i := range spec.External {
		if e := &spec.External[i]; e.Package == nil {
			unread[e.Image] = serverconfig.PackageResult{Problem: problem.New(problem.Problem{
				Reason: problem.MissingField, Path: e.Path, Type: field.ErrorTypeRequired,
				Detail: "the registry is not read here, so the package is not known for image " + e.Image,
				Fix:    "describe it in the entry, for example package: {packageName: my_provider, providerType: 'remote::mine'}",
			})}
		}
	}
	return unread
}

// override returns the content of spec.overrideConfig from the given documents, or a placeholder.
func (c *Cluster) override(in *build.Inputs) *build.OverrideFact {
	ref, ok := in.OverrideRef()
	if !ok {
		return nil
	}
	found := &build.OverrideFact{Ref: ref, Content: []byte(secret.OnCluster)}
	cm, given := c.configMaps[ref]
	switch {
	case !given:
		return found
	case !cm.usableIn(in.CR.Namespace):
		found.State = build.NotAllowed
		return found
	}
	found.Content = nil
	found.Read(c.configMapData(ref.Namespace, ref.Name), cm.binary)
	return found
}

// caBundle returns the CA bundle from the given documents, or an unknown one. Without a name in the spec, only a given
// platform bundle counts.
func (c *Cluster) caBundle(in *build.Inputs) *build.CABundleFact {
	cr, found := in.CR, in.NamedCABundle()
	if found == nil && len(in.NamedCABundles()) > 0 {
		return nil
	}
	if found == nil {
		return build.PlatformCABundle(cr.Namespace, c.configMapData(cr.Namespace, build.PlatformBundle))
	}
	c.readBundle(cr.Namespace, found)
	return found
}

// readBundle reads the ConfigMap of a CA bundle from the given documents.
func (c *Cluster) readBundle(namespace string, found *build.CABundleFact) {
	cm, given := c.configMaps[types.NamespacedName{Namespace: found.Namespace, Name: found.Name}]
	if given && !cm.usableIn(namespace) {
		found.State = build.NotAllowed
		return
	}
	if !given {
		found.State = build.Unknown
	}
	found.Data = c.configMapData(found.Namespace, found.Name)
}

func (c *Cluster) configMapData(namespace, name string) map[string]string {
	list := map[string]string{}
	for key, value := range c.configMaps[types.NamespacedName{Namespace: namespace, Name: name}].data {
		if text, ok := value.(string); ok {
			list[key] = text
		}
	}
	return list
}

type configMap struct {
	document    *manifest.Document
	namespace   string
	annotations map[string]string
	data        map[string]any
	binary      map[string][]byte
}

// usableIn reports whether custom resources in the namespace may refer to the ConfigMap.
func (c *configMap) usableIn(namespace string) bool {
	return c.namespace == namespace || build.Allows(c.annotations, namespace)
}

// SetConfigMaps replaces the ConfigMaps of the Cluster by those among the documents.
func (c *Cluster) SetConfigMaps(documents []*manifest.Document) {
	c.configMaps = map[types.NamespacedName]configMap{}
	for _, d := range documents {
		if d.Kind() != "ConfigMap" || d.APIVersion() != "v1" {
			continue
		}
		namespace, _, _ := unstructured.NestedString(d.Object, "metadata", "namespace")
		namespace = cmp.Or(namespace, c.Namespace, DefaultNamespace)
		data, _, _ := unstructured.NestedMap(d.Object, "data")
		annotations, _, _ := unstructured.NestedStringMap(d.Object, "metadata", "annotations")
		c.configMaps[types.NamespacedName{Namespace: namespace, Name: d.Name()}] = configMap{
			d, namespace, annotations, data, binaryData(d.Object),
		}
	}
}

// binaryData returns the decoded binary data of a ConfigMap, without values that are not base64.
func binaryData(cm map[string]any) map[string][]byte {
	texts, _, _ := unstructured.NestedStringMap(cm, "binaryData")
	decoded := map[string][]byte{}
	for key, text := range texts {
		if content, err := base64.StdEncoding.DecodeString(text); err == nil {
			decoded[key] = content
		}
	}
	return decoded
}
