// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// OverrideFact is the result of reading spec.overrideConfig.
type OverrideFact struct {
	Ref types.NamespacedName
	Lookup
	// Content is the text of the configuration if State is Found.
	Content []byte
	// Key is its key in the ConfigMap; empty means names.ConfigKey.
	Key string
	// Files are the contents of the ConfigMap's other keys, which are mounted beside the configuration.
	Files map[string][]byte
}

// runKey is the name of the configuration up to llama-stack 0.3, which commands of users name.
const runKey = "run.yaml"

// Read takes the configuration and the other files from the content of a ConfigMap. If the only key is run.yaml, that
// is the configuration.
func (o *OverrideFact) Read(text map[string]string, binary map[string][]byte) {
	if _, alone := text[runKey]; alone && len(text)+len(binary) == 1 {
		o.Key = runKey
	}
	content, exists := text[o.key()]
	if !exists {
		o.Lookup = LookIn(text, o.key())
		return
	}
	o.Content = []byte(content)
	for key, value := range text {
		if key != names.ConfigKey {
			o.addFile(key, []byte(value))
		}
	}
	for key, value := range binary {
		o.addFile(key, value)
	}
}

func (o *OverrideFact) key() string { return cmp.Or(o.Key, names.ConfigKey) }

func (o *OverrideFact) addFile(key string, value []byte) {
	if o.Files == nil {
		o.Files = map[string][]byte{}
	}
	o.Files[key] = value
}

// PathOverride is the field that names the ConfigMap with the user's own configuration.
const PathOverride = "spec.overrideConfig.configMapName"

// OverrideRef returns the ConfigMap of the user's own configuration, if any; v1alpha1 may name another namespace.
func (in *Inputs) OverrideRef() (types.NamespacedName, bool) {
	cr := in.CR
	if cr.Spec.OverrideConfig == nil || cr.Spec.OverrideConfig.ConfigMapName == "" {
		return types.NamespacedName{}, false
	}
	ref := types.NamespacedName{Namespace: cr.Namespace, Name: cr.Spec.OverrideConfig.ConfigMapName}
	if namespace := in.Legacy.OverrideConfigNamespace; namespace != "" {
		ref.Namespace = namespace
	}
	return ref, true
}

// override uses the user's own configuration. It does not parse the placeholder secret.OnCluster.
func (d *Desired) override(ctx context.Context, in *Inputs) {
	if excluded := serverconfig.Excluded(&in.CR.Spec); len(excluded) > 0 {
		d.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: "spec.overrideConfig", Type: field.ErrorTypeForbidden,
			Detail: "excludes " + strings.Join(excluded, ", "), Fix: "keep one of them",
		})
		return
	}
	found := in.Override
	if found == nil {
		return // gather reported the failed read
	}
	ref := found.reference()
	if p := found.absent(&ref, in.CR.Namespace, ""); p != nil {
		d.problems.AddFound(p)
		return
	}
	d.problems.warnForeign(PathOverride, found.Ref, in.CR.Namespace)
	if string(found.Content) == secret.OnCluster {
		d.Override, d.OverrideContent = &serverconfig.Override{}, found.Content
		d.ConfigMapName = names.ConfigMapName(in.CR.Name, found.Content)
		d.besideOverride(in, nil)
		return
	}
	read, err := serverconfig.ReadOverride(found.Content)
	if err != nil {
		d.problems.Add(problem.Problem{
			Reason: problem.InvalidConfigMap, Path: PathOverride, Type: field.ErrorTypeInvalid, Value: found.Ref.Name,
			Detail: fmt.Sprintf("the key %q of ConfigMap %s is not a configuration: %v", found.key(), found.Ref, err),
			Fix:    "correct it there",
		})
		return
	}
	d.Override, d.OverrideContent = read, found.Content
	d.setOverrideWorkers(ctx, in)
	d.ConfigMapName = objects.ConfigMapName(in.CR.Name, d.OverrideContent, found.Files)
	d.warnPlainOverride(in, read)
	d.lintOverride(ctx, in, d.besideOverride(in, d.OverrideContent).Module)
	d.problems.warnStorage(d.Distribution.Line, read)
}

// warnStorage warns of a configuration without section storage if the server needs one to keep its state.
func (r *report) warnStorage(line *catalog.Line, read *serverconfig.Override) {
	if line == nil || line.DefaultStorage || read.Storage {
		return
	}
	if line.Sections["storage"].Required {
		return // lintOverride reports it
	}
	of := line.Without(func(line *catalog.Line) bool { return line.DefaultStorage })
	detail := "the configuration has no section storage, and a server of " + of + " then keeps its state in a directory " +
		"that is lost with the pod"
	r.warn(problem.InvalidConfigMap, PathOverride, detail, "add it, with backends in a directory of the volume")
}

// setOverrideWorkers writes a v1alpha1 resource's number of workers into a copy of the configuration, as release 0.9
// does. It skips resources with their own command and files that it cannot edit.
func (d *Desired) setOverrideWorkers(ctx context.Context, in *Inputs) {
	w := in.CR.Spec.Workload
	if !in.Legacy.FromV1alpha1 || w == nil || ptr.Deref(w.Workers, 1) < 2 ||
		d.Override.Workers == strconv.Itoa(int(*w.Workers)) ||
		w.Overrides != nil && len(w.Overrides.Command) > 0 {
		return
	}
	// Without the namespace, so that the same configuration has the same text everywhere.
	header := fmt.Sprintf("# The key %s of ConfigMap %s, with server.workers of the custom resource.\n",
		in.Override.key(), in.Override.Ref.Name)
	if text, err := serverconfig.WithWorkers(ctx, in.Override.Content, d.Distribution.Line, *w.Workers,
		header); err == nil {
		d.OverrideContent, d.Override.Workers, d.OverrideEdited = text, strconv.Itoa(int(*w.Workers)), true
	}
}

// warnForeign warns of a ConfigMap of another namespace, which only v1alpha1 can name.
func (r *report) warnForeign(path string, ref types.NamespacedName, own string) {
	if ref.Namespace != own {
		r.warn(problem.ReviewConversion, path, "it is read from ConfigMap "+ref.String()+" in another namespace, as "+
			"v1alpha1 allows",
			"copy it to namespace "+own+", because v1alpha2 cannot refer to other namespaces")
	}
}

func (r *report) warn(reason problem.Reason, path, detail, fix string) {
	r.Add(problem.Problem{Reason: reason, Severity: problem.Warning, Path: path, Detail: detail, Fix: fix})
}

func (o *OverrideFact) reference() objects.Reference {
	return objects.Reference{Kind: objects.KindConfigMap, Namespace: o.Ref.Namespace, Name: o.Ref.Name,
		Keys: []string{names.ConfigKey}, Path: PathOverride}
}
