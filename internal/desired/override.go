// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// ConfigMapState reports what was found at a reference to a ConfigMap.
type ConfigMapState int

// The states of a reference to a ConfigMap.
const (
	// ConfigMapFound: the key holds a text.
	ConfigMapFound ConfigMapState = iota
	// ConfigMapMissing: there is no such ConfigMap.
	ConfigMapMissing
	// ConfigMapKeyMissing: the ConfigMap has no such key.
	ConfigMapKeyMissing
	// ConfigMapNotWatched: the ConfigMap would be in a namespace that the operator does not watch. It was not read.
	ConfigMapNotWatched
	// ConfigMapForbidden: the ConfigMap would be in another namespace, which the operator's flags do not allow. It was not read.
	ConfigMapForbidden
	// ConfigMapNotAllowed: the ConfigMap would be in another namespace, and does not exist or has no consent of its owner. Its content
	// was not looked at.
	ConfigMapNotAllowed
)

// OverrideFact is what was found at spec.overrideConfig.
type OverrideFact struct {
	// Ref is the ConfigMap.
	Ref types.NamespacedName
	// State reports what was found.
	State ConfigMapState
	// Content is the text of the key where State is ConfigMapFound.
	Content []byte
	// Keys are the keys of the ConfigMap where State is ConfigMapKeyMissing, sorted.
	Keys []string
}

// PathOverride is the field that names the ConfigMap with the user's own configuration.
const PathOverride = "spec.overrideConfig.configMapName"

// OverrideRef returns the ConfigMap that holds the user's own configuration, and whether the resource names one. A resource of
// v1alpha1 may name one in another namespace.
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

// override takes the user's own configuration. Only the cluster knows what secret.OnCluster says.
func (d *Desired) override(in *Inputs) {
	if excluded := config.Excluded(&in.CR.Spec); len(excluded) > 0 {
		d.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: "spec.overrideConfig", Type: field.ErrorTypeForbidden,
			Detail: "excludes " + strings.Join(excluded, ", "), Fix: "keep one of them",
		})
		return
	}
	found := in.Override
	if found == nil {
		return // it could not be read, which has been reported
	}
	if p := found.absent(in.CR.Namespace); p != nil {
		d.problems.AddFound(p)
		return
	}
	d.problems.warnForeign(PathOverride, found.Ref, in.CR.Namespace)
	if string(found.Content) == secret.OnCluster {
		d.Override, d.OverrideContent = &config.Override{}, found.Content
		d.ConfigMapName = objects.ConfigMapName(in.CR.Name, found.Content)
		return
	}
	read, err := config.ReadOverride(found.Content)
	if err != nil {
		d.problems.Add(problem.Problem{
			Reason: problem.InvalidOverrideConfig, Path: PathOverride, Type: field.ErrorTypeInvalid, Value: found.Ref.Name,
			Detail: fmt.Sprintf("the key %q of ConfigMap %s is not a configuration: %v", objects.ConfigKey, found.Ref, err), Fix: "correct it there",
		})
		return
	}
	d.Override, d.OverrideContent = read, found.Content
	d.ConfigMapName = objects.ConfigMapName(in.CR.Name, found.Content)
	d.warnPlainOverride(in, read)
	if line := d.Distribution.Line; line != nil && line.NeedsInsecure && !read.TLS.Enabled() && !read.Insecure {
		d.problems.warn(problem.InvalidOverrideConfig, PathOverride,
			"the configuration has neither TLS files nor server.insecure, and release "+line.Name+" does not start so",
			"add server.insecure: true, unless the image or its arguments say --insecure")
	}
}

// warnForeign warns of a ConfigMap of another namespace, which only v1alpha1 can name.
func (r *report) warnForeign(path string, ref types.NamespacedName, own string) {
	if ref.Namespace != own {
		r.warn(problem.ForeignNamespace, path, "it is taken from ConfigMap "+ref.String()+" in another namespace, as v1alpha1 allows",
			"copy it to namespace "+own+", which is what v1alpha2 can say")
	}
}

func (r *report) warn(reason problem.Reason, path, detail, fix string) {
	r.Add(problem.Problem{Reason: reason, Severity: problem.Warning, Path: path, Detail: detail, Fix: fix})
}

// absent is the problem of a ConfigMap that cannot be used, nil where it can. The ConfigMap is watched.
func (o *OverrideFact) absent(own string) *problem.Problem {
	p := problem.Problem{Reason: problem.ConfigMapNotFound, Path: PathOverride}
	switch o.State {
	case ConfigMapFound:
		return nil
	case ConfigMapMissing:
		p.Detail = fmt.Sprintf("ConfigMap not found: %s (namespace %s)", o.Ref.Name, o.Ref.Namespace)
		p.Fix = fmt.Sprintf("create it with the key %q", objects.ConfigKey)
	case ConfigMapKeyMissing:
		p.Detail = fmt.Sprintf("ConfigMap %s (namespace %s) has no key %q", o.Ref.Name, o.Ref.Namespace, objects.ConfigKey)
		p.Fix = "add it" + existing(o.Keys)
	case ConfigMapNotWatched, ConfigMapForbidden, ConfigMapNotAllowed:
		p = foreign(o.State, PathOverride, o.Ref.Name, o.Ref.Namespace, own)
	}
	return problem.New(p)
}

// existing says which keys an object has.
func existing(keys []string) string {
	if len(keys) == 0 {
		return "; it has no keys"
	}
	return "; its keys are " + bounds.Names(keys)
}
