// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/admission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// DefaultNamespace is the namespace of a resource that names none.
const DefaultNamespace = "default"

// Finding is something that is wrong with a resource, or that its author should know.
type Finding struct {
	// Severity tells whether the resource can be used all the same.
	Severity config.Severity
	// Path is the field; empty where it is the resource as a whole, or something outside of it.
	Path string
	// Message tells the field, what is wrong and how to mend it.
	Message string
}

// Resource is a resource and what would become of it.
type Resource struct {
	// Document is where it was read from.
	Document *manifest.Document
	// Desired is what the operator would make of it; nil where there are errors.
	Desired *desired.Desired
	// Findings are errors and warnings, errors first.
	Findings []Finding
}

// Failed tells whether there is an error among the findings.
func (r *Resource) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == config.Error })
}

// Cluster stands for what a resource would meet in a cluster.
type Cluster struct {
	// Settings are the operator's settings.
	Settings *settings.Settings
	// Namespace is where resources go that name no namespace; empty means DefaultNamespace.
	Namespace string
	// StandIn replaces, where it is set, what the settings say of the distribution.
	StandIn StandIn
	// Policy judges the resource as the API server does by the ValidatingAdmissionPolicy. It may be nil: the operator's own checks
	// find the same, and compiling a policy takes longer than all the rest.
	Policy *admission.Policy

	schemas    map[string]*admission.Schema // by apiVersion
	configMaps map[types.NamespacedName]configMap
}

// NewCluster returns a cluster with the CustomResourceDefinition and the settings.
func NewCluster(s *settings.Settings) (*Cluster, error) {
	c := &Cluster{Settings: s, schemas: map[string]*admission.Schema{}}
	for _, version := range []schema.GroupVersion{v1alpha1.GroupVersion, v1alpha2.GroupVersion} {
		read, err := admission.NewSchema(crd.LlamaStackDistributions(), version.Version)
		if err != nil {
			return nil, err
		}
		c.schemas[version.String()] = read
	}
	return c, nil
}

// Wants tells whether the document is one that this package is about: all of this API's group, in whatever version, those included
// whose kind is not spelt right, and those of the kind whose apiVersion is absent or of another group, such as documents have shown it.
func Wants(d *manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion(), "/")
	return group == v1alpha2.GroupVersion.Group || strings.EqualFold(d.Kind(), v1alpha2.Kind)
}

// Try tells what would become of the document, which Wants.
func (c *Cluster) Try(ctx context.Context, d *manifest.Document) *Resource {
	r := &Resource{Document: d}
	cr, denied := c.admit(ctx, r)
	if r.Failed() {
		return r
	}
	c.build(ctx, r, cr)
	r.addDenied(denied)
	return r
}

// build tells what the operator would make of the resource.
func (c *Cluster) build(ctx context.Context, r *Resource, cr *v1alpha2.LlamaStackDistribution) {
	in, f := c.inputs(cr)
	if f != nil {
		r.addFaults(f)
		return
	}
	made, faults := desired.Build(ctx, in)
	r.addFaults(faults...)
	for _, w := range made.Warnings {
		r.addBuilt(config.Warning, w.Path, w.String())
	}
	if len(faults) == 0 {
		r.Desired = made
	}
}

// addDenied adds what the policy denies. Where the operator finds the same it tells more, such as the nearest known name.
func (r *Resource) addDenied(problems []admission.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == config.Error && strings.HasPrefix(f.Path, p.Path) }) {
			r.Desired = nil
			r.Findings = slices.Insert(r.Findings, 0, Finding{Severity: config.Error, Path: p.Path, Message: p.Message})
		}
	}
}

func (r *Resource) add(severity config.Severity, path, message string) {
	r.Findings = append(r.Findings, Finding{Severity: severity, Path: path, Message: message})
}

// settingsHint is added where the operator's settings can help.
func settingsHint(reason string) string {
	switch reason {
	case v1alpha2.ReasonUnknownDistribution, v1alpha2.ReasonMissingConfigLabels, v1alpha2.ReasonUnknownServerLine:
		return " (if your cluster has such an entry, give that ConfigMap with --settings)"
	}
	return ""
}

func (r *Resource) addFaults(faults ...*fault.Fault) {
	for _, f := range faults {
		r.addBuilt(config.Error, f.Path(), f.Message+settingsHint(f.Reason))
	}
}

// addBuilt adds what the operator says. It speaks of v1alpha2: the author of another version is told the field that they wrote.
func (r *Resource) addBuilt(severity config.Severity, path, message string) {
	if own := v1alpha1.PathOf(path); own != "" && r.Document.APIVersion() == v1alpha1.GroupVersion.String() {
		message = fmt.Sprintf("%s (in v1alpha2 %s)%s", own, path, strings.TrimPrefix(message, path))
		path = own
	}
	r.add(severity, path, message)
}

// admit brings the document through the API server's checks of its version, and converts it as the API server does. It returns what
// the policy denies besides.
func (c *Cluster) admit(ctx context.Context, r *Resource) (*v1alpha2.LlamaStackDistribution, []admission.Problem) {
	version := r.Document.APIVersion()
	own := c.schemaOf(r)
	if own == nil {
		return nil, nil
	}
	object, f := c.placed(r.Document.Object)
	if f != "" {
		r.add(config.Error, "metadata.namespace", f)
		return nil, nil
	}
	stored, problems := own.Admit(ctx, object)
	for _, p := range problems {
		severity := config.Error
		if p.Kind == admission.Unchecked {
			severity = config.Warning
		}
		r.add(severity, p.Path, p.Message)
	}
	if len(problems) > 0 {
		return nil, nil
	}
	if hub := v1alpha2.GroupVersion.String(); version != hub {
		stored = c.schemas[hub].Default(v1alpha1.ToV1alpha2(stored))
	}
	cr, err := typed(stored)
	if err != nil {
		r.add(config.Error, "", err.Error())
		return nil, nil
	}
	// The policy matches requests in v1alpha2 only: nothing is stricter on an older manifest than it was.
	if c.Policy == nil || version != v1alpha2.GroupVersion.String() {
		return cr, nil
	}
	return cr, c.Policy.Admit(ctx, stored)
}

// schemaOf is the schema of the document's version; nil where kind or version are not of this API, which is added as an error.
func (c *Cluster) schemaOf(r *Resource) *admission.Schema {
	kind, version := r.Document.Kind(), r.Document.APIVersion()
	own, known := c.schemas[version]
	switch {
	case kind != v1alpha2.Kind:
		r.add(config.Error, "kind", notThisKind(kind))
		return nil
	case !known:
		r.add(config.Error, "apiVersion", notThisVersion(version))
	}
	return own
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

func notThisKind(got string) string {
	if got == "" {
		return "kind: Required value: write kind: " + v1alpha2.Kind
	}
	return fmt.Sprintf("kind: %s has no kind %q: write kind: %s", v1alpha2.GroupVersion.Group, got, v1alpha2.Kind)
}

func notThisVersion(got string) string {
	if got == "" {
		return fmt.Sprintf("apiVersion: Required value: write apiVersion: %s", v1alpha2.GroupVersion)
	}
	return fmt.Sprintf("apiVersion: %s is not known: write the resource as %s or %s", got, v1alpha2.GroupVersion, v1alpha1.GroupVersion)
}

// placed returns the object in its namespace, and why it cannot be there.
func (c *Cluster) placed(object map[string]any) (placed map[string]any, problem string) {
	own, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	switch {
	case own == "":
		own = c.Namespace
	case c.Namespace != "" && own != c.Namespace:
		return nil, fmt.Sprintf("metadata.namespace: the resource names %q, and --namespace %q: they must be the same, or one of them absent",
			own, c.Namespace)
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
	return placed, ""
}

// inputs are what the operator would gather.
func (c *Cluster) inputs(cr *v1alpha2.LlamaStackDistribution) (*desired.Inputs, *fault.Fault) {
	distribution, f := c.StandIn.resolve(c.Settings, &cr.Spec.Distribution)
	if f != nil {
		return nil, f
	}
	uses, _ := config.SecretUses(&cr.Spec) // what is wrong there the engine reports
	facts := make([]desired.SecretFact, len(uses))
	for i, use := range uses {
		facts[i] = desired.SecretFact{Use: use, State: desired.SecretFound}
	}
	var references []desired.PodReferenceFact
	for _, ref := range objects.PodReferences(&cr.Spec) {
		references = append(references, desired.PodReferenceFact{Ref: ref})
	}
	return &desired.Inputs{
		CR: cr, CABundle: c.caBundle(cr), Distribution: distribution, Secrets: facts, PodReferences: references, Override: c.override(cr), Build: secret.OnCluster,
		NetworkPolicyFlag: c.Settings.NetworkPolicy, Forbidden: c.Settings.Forbidden, OperatorNamespace: settings.DefaultNamespace,
	}, nil
}

// override is what the cluster would hold at spec.overrideConfig: what the given documents say, else something unknown.
func (c *Cluster) override(cr *v1alpha2.LlamaStackDistribution) *desired.OverrideFact {
	ref, ok := desired.OverrideRef(cr)
	if !ok {
		return nil
	}
	found := &desired.OverrideFact{Ref: ref, Content: []byte(secret.OnCluster)}
	cm, given := c.configMaps[ref]
	switch {
	case !given:
		return found
	case !cm.usableIn(cr.Namespace):
		found.State = desired.ConfigMapNotAllowed
		return found
	}
	text, has := cm.data[objects.ConfigKey].(string)
	if found.Content = []byte(text); !has {
		found.State, found.Keys = desired.ConfigMapKeyMissing, slices.Sorted(maps.Keys(cm.data))
	}
	return found
}

// caBundle is what the cluster would hold at spec.networking.tls.caBundle: what the given documents say, else something unknown. Where the spec
// names none, only a bundle of the platform that is among the documents counts.
func (c *Cluster) caBundle(cr *v1alpha2.LlamaStackDistribution) *desired.CABundleFact {
	found := desired.CABundleOf(cr)
	if found == nil {
		return desired.PlatformCABundle(cr.Namespace, texts(c.configMaps[types.NamespacedName{Namespace: cr.Namespace, Name: desired.PlatformBundle}].data))
	}
	cm, given := c.configMaps[types.NamespacedName{Namespace: found.Namespace, Name: found.Name}]
	if given && !cm.usableIn(cr.Namespace) {
		found.Foreign = desired.ConfigMapNotAllowed
		return found
	}
	found.Unknown, found.Data = !given, texts(cm.data)
	return found
}

// texts are the texts in the data of a ConfigMap.
func texts(data map[string]any) map[string]string {
	list := map[string]string{}
	for key, value := range data {
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
	return c.namespace == namespace || desired.Allows(c.annotations, namespace)
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
