// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
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

// DefaultNamespace is the namespace of a resource that names none.
const DefaultNamespace = "default"

// Resource is a resource and what would become of it.
type Resource struct {
	// Document is where it was read from.
	Document *manifest.Document
	// Desired is what the operator would make of it; nil where there are errors.
	Desired *build.Desired
	// Problems are errors and warnings, in the order of the lines.
	Problems problem.List
	// Notes say what is assumed of the cluster, in the order of the spec.
	Notes []Note
}

// Note is something that only the cluster knows, and what is assumed instead.
type Note struct {
	// Path is the field that it is about, and Text what is assumed.
	Path, Text string
}

// Failed reports whether there is an error among the problems.
func (r *Resource) Failed() bool { return r.Problems.HasErrors() }

// Policy denies objects.
type Policy interface {
	// Admit returns the message with which the API server would deny a new object, empty where it would not.
	Admit(ctx context.Context, object map[string]any) string
}

// Cluster stands for what a resource would meet in a cluster.
type Cluster struct {
	// Settings are the operator's settings.
	Settings *settings.Settings
	// Namespace is where resources go that name no namespace; empty means DefaultNamespace.
	Namespace string
	// Replacement replaces, where it is set, what the settings say about the distribution.
	Replacement Replacement
	// Policy is the ValidatingAdmissionPolicy of the API server. It may be nil: the operator's own checks find the same
	// and more, and compiling a policy takes longer than all the rest.
	Policy Policy

	configMaps map[types.NamespacedName]configMap
}

// NewCluster returns a cluster with the CustomResourceDefinition and the settings.
func NewCluster(s *settings.Settings) *Cluster { return &Cluster{Settings: s} }

// schemas are the versions of the CustomResourceDefinition, which is a part of the program, by apiVersion. Each is
// compiled when the first document needs it, and never again: that takes longer than all that is done with a document.
// They are immutable, and the same for every Cluster: so this is the one state that packages of the plugin keep in a
// variable.
var schemas = map[string]func() *admission.Schema{
	v1alpha1.GroupVersion.String(): compiled(v1alpha1.GroupVersion.Version),
	v1alpha2.GroupVersion.String(): compiled(v1alpha2.GroupVersion.Version),
}

func compiled(of string) func() *admission.Schema {
	return sync.OnceValue(func() *admission.Schema {
		read, err := admission.NewSchema(crd.LlamaStackDistributions(), of)
		if err != nil { // its tests cover it
			panic(err)
		}
		return read
	})
}

// Recognizes reports whether the document is one that this package is about: all of this API's group, in whatever
// version, those included whose kind is not spelled right, and those of the kind whose apiVersion is absent or of
// another group, such as documents have shown it.
func Recognizes(d *manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion(), "/")
	return group == v1alpha2.GroupVersion.Group || strings.EqualFold(d.Kind(), v1alpha2.Kind)
}

// DryRun reports what would become of the document, which Recognizes accepts: by the schema, by the operator and by the
// policy, all in one run wherever the document can be decoded.
func (c *Cluster) DryRun(ctx context.Context, d *manifest.Document) *Resource {
	r := &Resource{Document: d}
	if own := schemaOf(r); own != nil {
		c.check(ctx, r, own)
	}
	r.sort()
	return r
}

func (c *Cluster) check(ctx context.Context, r *Resource, own *admission.Schema) {
	object, misplaced := c.placed(r.Document.Object)
	if misplaced != nil {
		r.add(*misplaced)
	}
	stored, refusals := own.Admit(ctx, object)
	for i := range refusals {
		r.add(refusals[i].Problem)
	}
	if hub := v1alpha2.GroupVersion.String(); r.Document.APIVersion() != hub {
		if r.Failed() {
			return // conversion takes what the schema of its version admits
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
	// The API server drops the status of a new object; of a resource of a cluster, it says which release line runs.
	if line, _, _ := unstructured.NestedString(r.Document.Object, "status", "resolvedDistribution",
		"serverLine"); line != "" {
		cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{ServerLine: line}
	}
	c.build(ctx, r, cr)
	// The policy matches requests in v1alpha2 only: nothing is stricter on an older manifest than it was.
	if c.Policy == nil || r.Failed() || r.Document.APIVersion() != v1alpha2.GroupVersion.String() {
		return
	}
	if denied := c.Policy.Admit(ctx, stored); denied != "" {
		r.Desired = nil
		r.add(problem.Problem{Reason: problem.InvalidField, Path: "spec", Type: field.ErrorTypeInvalid, Detail: denied})
	}
}

// build reports what the operator would make of the resource.
func (c *Cluster) build(ctx context.Context, r *Resource, cr *v1alpha2.LlamaStackDistribution) {
	in, unresolved := c.inputs(cr)
	if unresolved != nil && !r.Problems.Covers(unresolved.Path) {
		r.addBuilt(*unresolved)
	}
	made, problems := build.Build(ctx, in)
	refused := slices.Clone(r.Problems)
	for _, p := range problems {
		if !refused.Covers(p.Path) {
			r.addBuilt(p)
		}
	}
	if in.Distribution != nil && in.Distribution.Note != "" && c.Replacement.Version == "" {
		r.Notes = append(r.Notes, Note{"spec.distribution.name", in.Distribution.Note})
	}
	if c.Replacement.Labels != nil && !c.Replacement.labelsCount(c.Settings, cr) {
		r.Notes = append(r.Notes, Note{"spec.distribution", "the operator asks no registry for the labels of this image: " +
			"those that you gave are not used"})
	}
	for i := range in.Endpoints {
		if f := &in.Endpoints[i]; f.State == build.Unknown {
			r.Notes = append(r.Notes, Note{f.Ref.Path, fmt.Sprintf("only the cluster knows the address of %s %s (namespace "+
				"%s): %s is assumed",
				f.Ref.Kind, f.Ref.Name, f.Namespace, f.URL())})
		}
	}
	if !r.Failed() {
		r.Desired = made
	}
}

// sort orders the problems by line; those of one line stay in the order in which they were found, errors first.
func (r *Resource) sort() {
	slices.SortStableFunc(r.Problems, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(r.Line(a), r.Line(b)), strings.Compare(string(a.Severity), string(b.Severity)))
	})
}

func (r *Resource) add(p problem.Problem) { r.Problems = append(r.Problems, *problem.New(p)) }

// settingsHint is added where the operator's settings can help.
const settingsHint = " (if your cluster has such an entry, give that ConfigMap with --settings)"

// addBuilt adds what the operator says. It uses the fields of v1alpha2: the author of another version gets the field
// that they wrote.
func (r *Resource) addBuilt(p problem.Problem) {
	if p.FixedBySettings() {
		p.Fix += settingsHint
	}
	if own := v1alpha1.PathOf(p.Path); own != "" && r.Document.APIVersion() == v1alpha1.GroupVersion.String() {
		p.Fix += " (in v1alpha2: " + p.Path + ")"
		p.Path = own
	}
	r.add(p)
}

// schemaOf is the schema of the document's version; nil where kind or version are not of this API, which is added as an
// error.
func schemaOf(r *Resource) *admission.Schema {
	kind, apiVersion := r.Document.Kind(), r.Document.APIVersion()
	own, known := schemas[apiVersion]
	switch {
	case kind != v1alpha2.Kind:
		r.add(notThis("kind", kind, "write kind: "+v1alpha2.Kind))
		return nil
	case !known:
		r.add(notThis("apiVersion", apiVersion, fmt.Sprintf("write the resource as %s or %s", v1alpha2.GroupVersion,
			v1alpha1.GroupVersion)))
		return nil
	}
	return own()
}

// typed is an object of v1alpha2 with the uid that only the cluster knows.
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

// notThis is the problem of a document that is of another kind or version.
func notThis(path, got, fix string) problem.Problem {
	p := problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeRequired, Fix: fix}
	if got != "" {
		p.Type, p.Value = field.ErrorTypeNotSupported, got
	}
	return p
}

// placed returns the object in its namespace, and the problem of one that cannot be there.
func (c *Cluster) placed(object map[string]any) (placed map[string]any, misplaced *problem.Problem) {
	own, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	switch {
	case own == "":
		own = c.Namespace
	case c.Namespace != "" && own != c.Namespace:
		misplaced = &problem.Problem{
			Reason: problem.ConflictingFields, Path: "metadata.namespace", Type: field.ErrorTypeInvalid, Value: own,
			Detail: fmt.Sprintf("--namespace says %q", c.Namespace), Fix: "let both be the same, or leave one of them out",
		}
	}
	if own == "" {
		own = DefaultNamespace
	}
	placed = runtime.DeepCopyJSON(object)
	if placed["metadata"] == nil {
		placed["metadata"] = map[string]any{}
	}
	if metadata, ok := placed["metadata"].(map[string]any); ok {
		metadata["namespace"] = own
	}
	return placed, misplaced
}

// inputs are what the operator would gather, with the problem of a distribution that they leave unresolved.
func (c *Cluster) inputs(cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, *problem.Problem) {
	distribution, unresolved := c.Replacement.resolve(c.Settings, cr)
	in := build.NewInputs(cr)
	in.CompleteWorkload(c.Settings.PodDefaults) // first: it refers to objects, too
	in.LeaveUnread()
	in.LeaveEndpointsUnread(&c.Settings.EndpointFrom)
	in.Distribution, in.CABundle, in.Override, in.Build = distribution, c.caBundle(in), c.override(in), secret.OnCluster
	in.NetworkPolicyFlag, in.Forbidden, in.OperatorNamespace = c.Settings.NetworkPolicy, c.Settings.Forbidden,
		settings.DefaultNamespace
	in.Edge, in.Mirrors, in.OperatorImage = c.Settings.Edge, c.Settings.Registries.Mirrors, version.Image()
	// The cluster has what its administrator names.
	in.EdgeAPIs = objects.EdgeAPIs{Route: in.Edge.Kind == settings.EdgeRoute, HTTPRoute: in.Edge.Gateway != nil}
	in.ServiceCA = build.CertificatesIn(c.texts(cr.Namespace, build.ServiceBundle))
	in.Unresolved = unresolved != nil
	in.Packages = packages(in.Spec)
	return in, unresolved
}

// packages reports of each image with the package of an external provider that nobody has read it, unless its entry
// describes the package.
func packages(spec *parse.Spec) map[string]serverconfig.PackageFound {
	unread := map[string]serverconfig.PackageFound{}
	for i := range spec.External {
		if e := &spec.External[i]; e.Package == nil {
			unread[e.Image] = serverconfig.PackageFound{Problem: problem.New(problem.Problem{
				Reason: problem.MissingField, Path: e.Path, Type: field.ErrorTypeRequired,
				Detail: "no registry is asked here, so nobody knows the package in image " + e.Image,
				Fix:    "describe it in the entry, for example package: {packageName: my_provider, providerType: 'remote::mine'}",
			})}
		}
	}
	return unread
}

// override is what the cluster would hold at spec.overrideConfig: what the given documents say, else something unknown.
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
	text, has := cm.data[objects.ConfigKey].(string)
	if found.Content = []byte(text); !has {
		found.Lookup = build.LookIn(cm.data, objects.ConfigKey)
	}
	return found
}

// caBundle is what the cluster would hold at spec.networking.tls.caBundle: what the given documents say, else something
// unknown. Where the spec names none, only a bundle of the platform that is among the documents counts.
func (c *Cluster) caBundle(in *build.Inputs) *build.CABundleFact {
	cr, found := in.CR, in.NamedCABundle()
	if found == nil {
		return build.PlatformCABundle(cr.Namespace, c.texts(cr.Namespace, build.PlatformBundle))
	}
	cm, given := c.configMaps[types.NamespacedName{Namespace: found.Namespace, Name: found.Name}]
	if given && !cm.usableIn(cr.Namespace) {
		found.State = build.NotAllowed
		return found
	}
	if !given {
		found.State = build.Unknown
	}
	found.Data = c.texts(found.Namespace, found.Name)
	return found
}

// texts are the texts in the data of a ConfigMap.
func (c *Cluster) texts(namespace, name string) map[string]string {
	list := map[string]string{}
	for key, value := range c.configMaps[types.NamespacedName{Namespace: namespace, Name: name}].data {
		if text, ok := value.(string); ok {
			list[key] = text
		}
	}
	return list
}

// configMap is a ConfigMap among the given documents.
type configMap struct {
	namespace   string
	annotations map[string]string
	data        map[string]any
}

// usableIn reports whether LlamaStackDistributions of a namespace may refer to it.
func (c *configMap) usableIn(namespace string) bool {
	return c.namespace == namespace || build.Allows(c.annotations, namespace)
}

// Fill puts the ConfigMaps among the documents into the cluster, for resources that refer to them.
func (c *Cluster) Fill(documents []*manifest.Document) {
	c.configMaps = map[types.NamespacedName]configMap{}
	for _, d := range documents {
		if d.Kind() != "ConfigMap" || d.APIVersion() != "v1" {
			continue
		}
		namespace, _, _ := unstructured.NestedString(d.Object, "metadata", "namespace")
		namespace = cmp.Or(namespace, c.Namespace, DefaultNamespace)
		data, _, _ := unstructured.NestedMap(d.Object, "data")
		annotations, _, _ := unstructured.NestedStringMap(d.Object, "metadata", "annotations")
		c.configMaps[types.NamespacedName{Namespace: namespace, Name: d.Name()}] = configMap{namespace, annotations, data}
	}
}
