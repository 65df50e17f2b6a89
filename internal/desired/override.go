// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// ConfigMapState tells what was found at a reference to a ConfigMap.
type ConfigMapState int

// The states of a reference to a ConfigMap.
const (
	// ConfigMapFound: the key holds a text.
	ConfigMapFound ConfigMapState = iota
	// ConfigMapMissing: there is no such ConfigMap.
	ConfigMapMissing
	// ConfigMapKeyMissing: the ConfigMap has no such key.
	ConfigMapKeyMissing
	// ConfigMapNotWatched: the ConfigMap would be in a namespace that the operator does not look after. It was not read.
	ConfigMapNotWatched
	// ConfigMapForbidden: the ConfigMap would be in another namespace, which the operator was told not to allow. It was not read.
	ConfigMapForbidden
	// ConfigMapNotAllowed: the ConfigMap would be in another namespace, and does not exist or has no consent of its owner. Its content
	// was not looked at.
	ConfigMapNotAllowed
)

// OverrideFact is what was found at spec.overrideConfig.
type OverrideFact struct {
	// Ref is the ConfigMap.
	Ref types.NamespacedName
	// State tells what was found.
	State ConfigMapState
	// Content is the text of the key where State is ConfigMapFound.
	Content []byte
	// Keys are the keys of the ConfigMap where State is ConfigMapKeyMissing, sorted.
	Keys []string
}

const overridePath = "spec.overrideConfig.configMapName"

// OverrideRef returns the ConfigMap that holds the user's own configuration, and whether the resource names one. A resource of
// v1alpha1 may name one in another namespace.
func OverrideRef(cr *v1alpha2.LlamaStackDistribution) (types.NamespacedName, bool) {
	if cr.Spec.OverrideConfig == nil || cr.Spec.OverrideConfig.ConfigMapName == "" {
		return types.NamespacedName{}, false
	}
	ref := types.NamespacedName{Namespace: cr.Namespace, Name: cr.Spec.OverrideConfig.ConfigMapName}
	if namespace := v1alpha2.Legacy(cr).OverrideConfigNamespace; namespace != "" {
		ref.Namespace = namespace
	}
	return ref, true
}

// override takes over the user's own configuration.
func (d *Desired) override(in *Inputs) fault.List {
	if excluded := config.Excluded(&in.CR.Spec); len(excluded) > 0 {
		return fault.List{{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec,
			Message: fmt.Sprintf("spec.overrideConfig: excludes %s: keep one of them", strings.Join(excluded, ", ")),
		}}
	}
	found := in.Override
	if found == nil {
		return nil // it could not be asked for, which has been told
	}
	if f := found.absent(in.CR.Namespace); f != nil {
		return fault.List{f}
	}
	d.warnForeign(overridePath, found.Ref, in.CR.Namespace)
	if string(found.Content) == secret.OnCluster {
		d.Override, d.OverrideContent = &config.Override{}, found.Content // what the file says only the cluster knows
		d.ConfigMapName = objects.ConfigMapName(in.CR.Name, found.Content)
		return nil
	}
	read, err := config.ReadOverride(found.Content)
	if err != nil {
		return fault.List{{
			// Missing, not wrong: an edit of the ConfigMap mends it, and the ConfigMap is watched.
			Class: fault.Missing, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidOverride,
			Message: fmt.Sprintf("%s: the key %q of ConfigMap %s is not a configuration: %v: mend it there", overridePath, objects.ConfigKey, found.Ref, err),
		}}
	}
	d.Override, d.OverrideContent = read, found.Content
	d.ConfigMapName = objects.ConfigMapName(in.CR.Name, found.Content)
	if line := d.Distribution.Line; line != nil && line.NeedsInsecure && !read.TLS && !read.Insecure {
		d.warn(overridePath, "the configuration has neither TLS files nor server.insecure, and release "+line.Name+" does not start so",
			"add server.insecure: true, unless the image or its arguments say --insecure")
	}
	return nil
}

// warnForeign tells of a ConfigMap in another namespace.
func (d *Desired) warnForeign(field string, ref types.NamespacedName, own string) {
	if ref.Namespace != own {
		d.warn(field, "it is taken from ConfigMap "+ref.String()+" in another namespace, as v1alpha1 allows",
			"copy it to namespace "+own+", which is what v1alpha2 can say")
	}
}

func (d *Desired) warn(path, message, mending string) {
	d.Warnings = append(d.Warnings, config.Finding{
		Code: config.InvalidSpec, Severity: config.Warning, Path: path, Message: message, Mending: mending,
	})
}

// absent is the fault of a reference that leads to no configuration.
func (o *OverrideFact) absent(own string) *fault.Fault {
	f := &fault.Fault{Class: fault.Missing, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonConfigMapNotFound}
	switch o.State {
	case ConfigMapFound:
		return nil
	case ConfigMapMissing:
		f.Message = fmt.Sprintf("ConfigMap not found: %s (namespace %s, referenced by %s): create it with the key %q",
			o.Ref.Name, o.Ref.Namespace, overridePath, objects.ConfigKey)
	case ConfigMapKeyMissing:
		f.Message = fmt.Sprintf("ConfigMap %s (namespace %s, referenced by %s) has no key %q: add it; its keys are: %s",
			o.Ref.Name, o.Ref.Namespace, overridePath, objects.ConfigKey, bounds.Names(o.Keys))
	case ConfigMapNotWatched, ConfigMapForbidden, ConfigMapNotAllowed:
		return foreign(o.State, overridePath, o.Ref.Name, o.Ref.Namespace, own)
	}
	return f
}
